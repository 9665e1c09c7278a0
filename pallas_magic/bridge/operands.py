"""From a kernel's parameters to the specs that placed them."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Iterator, Mapping
from typing import Any

from pallas_magic.bridge.capture import Call
from pallas_magic.bridge.kernels import Kernel, make_ref, read_kernel
from pallas_magic.bridge.objects import ObjectRecorder
from pallas_magic.bridge.specs import flat_specs, operands_of, specs_of, window
from pallas_magic.failure import Ref, Role, Site, Window

_read: weakref.WeakKeyDictionary[Call, tuple[ObjectRecorder, Kernel]] = weakref.WeakKeyDictionary()


def kernel_of(call: Call, objects: ObjectRecorder) -> Kernel:
    """The kernel of ``call``, read once: a check asks for it several times."""
    known = _read.get(call)
    if known is None or known[0] is not objects:
        kernel = read_kernel(call.jaxprs[0], kernel_refs(call, objects))
        known = _read[call] = objects, kernel
    return known[1]


def kernel_refs(call: Call, objects: ObjectRecorder) -> tuple[Ref, ...]:
    """The refs that the kernel of ``call`` takes, each with the spec that placed it."""
    jaxpr = call.jaxprs[0]
    names = _parameter_names(call)
    roles = list(_roles(call, len(jaxpr.invars)))
    specs = _specs(call)
    windows = _windows(call, specs)
    found = []
    for position, variable in enumerate(jaxpr.invars):
        role, operand, origin = roles[position]
        name = names[position] if position < len(names) else ""
        spec = specs.get((role, operand))
        site = objects.site(spec) if spec is not None else None
        found.append(
            make_ref(
                name or "",
                position,
                role,
                operand,
                variable.aval,
                origin=origin,
                has_spec=spec is not None,
                spec=site,
                shared_spec=sum(other is spec for other in specs.values()) > 1,
                window=windows.get((role, operand)),
            )
        )
    return tuple(found)


def _parameter_names(call: Call) -> tuple[str, ...]:
    """The kernel's names of its refs; ``plgpu.kernel`` wraps the function that has them."""
    names = call.jaxprs[0].debug_info.arg_names or ()
    built = call.recorded().built
    if built is None or built.gpu is None:
        return tuple(name or "" for name in names)
    try:
        parameters = inspect.signature(built.gpu["body"]).parameters.values()
    except (TypeError, ValueError):
        return tuple(name or "" for name in names)
    positional = [
        p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    return (*positional, *[""] * len(names))


def _roles(call: Call, count: int) -> Iterator[tuple[Role, int, str]]:
    """Role, number within the role and JAX's word for it, of each kernel parameter."""
    if call.is_pallas_call:
        mapping = call.params["grid_mapping"]
        prefetched, inputs, outputs = (
            mapping.num_index_operands,
            mapping.num_inputs,
            mapping.num_outputs,
        )
        origins = [str(block.origin) for block in mapping.block_mappings]
    else:
        prefetched, inputs = 0, len(call.avals)
        outputs = len(call.params["out_avals"])
        origins = []
    for position in range(count):
        operand = position - prefetched
        origin = origins[operand] if 0 <= operand < len(origins) else ""
        if operand < 0:
            yield "prefetch", position, origin
        elif operand < inputs:
            yield "input", operand, origin
        elif operand < inputs + outputs:
            yield "output", operand - inputs, origin
        else:
            yield "scratch", operand - inputs - outputs, origin


def _specs(call: Call) -> dict[tuple[Role, int], Any]:
    """The spec objects of a call by role and number, where its inner frame was seen."""
    built = call.recorded().built
    if built is None:
        return {}
    found = specs_of(built.locals)
    if built.gpu is not None:
        found |= flat_specs("local", built.gpu.get("scratch_types", ()))
    return found


def _windows(call: Call, specs: Mapping[tuple[Role, int], Any]) -> dict[tuple[Role, int], Window]:
    """How the specs of ``call`` cut its operands, as it was written."""
    built = call.recorded().built
    operands = operands_of(built.locals) if built is not None and call.is_pallas_call else ()
    return {
        (one.role, one.number): window(specs.get((one.role, one.number)), one.aval)
        for one in operands
        if one.role in ("input", "output")
    }


def scratch_site(call: Call, number: int, objects: ObjectRecorder) -> Site | None:
    """Where the ``number``-th scratch of a ``plgpu.kernel`` was built."""
    spec = _specs(call).get(("local", number))
    return objects.site(spec) if spec is not None else None


def scoped_site(places: tuple[Any, ...], number: int, objects: ObjectRecorder) -> Site | None:
    """Where the ``number``-th allocation of a ``run_scoped`` at ``places`` was written.

    Only one that is written inside the call expression itself can be told.
    """
    if not places:
        return None
    whole = places[-1]
    inside = [
        site
        for token, built in enumerate(objects.built)
        if (site := built.site(token)) is not None
        and site.place.filename == whole.filename
        and (whole.line, whole.col) <= (site.place.line, site.place.col)
        and (site.place.end_line, site.place.end_col) <= (whole.end_line, whole.end_col)
    ]
    inside.sort(key=lambda site: site.place)
    return inside[number] if number < len(inside) else None
