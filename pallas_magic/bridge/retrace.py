"""Make a recorded Pallas call once more, with some of its parts changed.

The user's function is not called again: the parts that the call's inner frame
held are handed to JAX's own ``pallas_call`` or ``kernel``, up to the bind.
"""

from __future__ import annotations

import copy
import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
from jax._src import core
from jax._src.pallas import mpmd, pallas_call

from pallas_magic.bridge.capture import Built, Call, has_ref_operands
from pallas_magic.bridge.transforms import Unexplained, same_transformations

_SHARED_OPTIONS = ("compiler_params", "debug", "cost_estimate", "metadata", "name")


class NotRetraceable(Exception):
    """The call cannot be made again from what was recorded; says why."""


@dataclasses.dataclass(frozen=True, eq=False)
class Parts:
    """What may differ when a call is made again, in the user's own objects.

    ``kernels`` has one function for each mesh of a ``pl.kernel``, else one.
    ``grid_spec`` is ``None`` for kernels without a grid spec; ``scratch`` and
    ``out_shape`` are pytrees as the user gave them. ``scratch`` is that of the
    call's own keyword; a grid spec holds its own. ``more_operands`` are types of
    arrays that the call is given behind those it was given.
    """

    kernels: tuple[Callable[..., Any], ...]
    out_shape: Any
    scratch: Any = ()
    grid_spec: Any = None
    compiler_params: Any = None
    more_operands: tuple[Any, ...] = ()


def parts_of(call: Call) -> Parts:
    """The parts of ``call`` as they were recorded; raises :class:`NotRetraceable`."""
    built = call.recorded().built
    if built is None:
        raise NotRetraceable("the call that made this kernel was not seen")
    if has_ref_operands(call):
        raise NotRetraceable("it works on refs of the function around it")
    inner = built.locals
    if built.gpu is not None:
        return _gpu_parts(built.gpu)
    if "meshes_and_fns" in inner:
        kernels = tuple(function for _, function in inner["meshes_and_fns"])
        out = inner["out_tree"].unflatten(inner["flat_out_avals"])
        return Parts(kernels, out, inner["scratch_types"], None, inner["compiler_params"])
    spec = inner["grid_spec"]
    tree = inner["scratch_tree"]
    scratch = tree.unflatten(spec.scratch_shapes) if tree.num_leaves else ()
    out = inner["out_tree"].unflatten(inner["flat_out_shapes"])
    return Parts((inner["kernel"],), out, scratch, spec, inner["compiler_params"])


def _gpu_parts(outer: Mapping[str, Any]) -> Parts:
    out = outer["out_type"][0] if outer["unwrap_out"] else outer["out_type"]
    return Parts((outer["body"],), out, outer["scratch_types"], None, outer["compiler_params"])


def retrace(call: Call, parts: Parts) -> Call:
    """``call`` made again from ``parts``, with what transformed it done again too."""
    recorded = call.recorded()
    built = recorded.built
    if built is None:
        raise NotRetraceable("the call that made this kernel was not seen")
    if parts.more_operands and (recorded is not call or recorded.parent is not None):
        raise NotRetraceable("what transformed the call has no word on its new operands")
    avals = (*(recorded.avals or _flat_avals(built)), *parts.more_operands)
    built = _with_parts(built, parts)
    again = trace_call(recorded, _maker(built, parts), avals, {"built": built})
    try:
        return same_transformations(call, again, trace_call)
    except Unexplained as reason:
        raise NotRetraceable(str(reason)) from reason


def trace_call(
    like: Call, function: Callable[..., Any], avals: Sequence[Any], changes: Mapping[str, Any]
) -> Call:
    """The one call of ``like``'s primitive that ``function`` binds on ``avals``."""
    structs = [
        jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=getattr(aval, "weak_type", False))  # type: ignore[no-untyped-call]
        for aval in avals
    ]
    mesh = like.mesh
    sizes = [(name, mesh.shape[name]) for name in getattr(mesh, "manual_axes", ())]
    with jax.sharding.use_abstract_mesh(mesh), core.extend_axis_env_nd(sizes):
        jaxpr = jax.make_jaxpr(function)(*structs).jaxpr
    equation = _find(jaxpr, like.primitive)
    if equation is None:
        raise NotRetraceable("the call was not found where it was made again")
    avals = tuple(variable.aval for variable in equation.invars)
    return dataclasses.replace(like, params=equation.params, avals=avals, **changes)


def _find(jaxpr: Any, primitive: Any) -> Any:
    for equation in jaxpr.eqns:
        if equation.primitive is primitive:
            return equation
        for value in equation.params.values():
            inner = getattr(value, "jaxpr", value)
            found = _find(inner, primitive) if hasattr(inner, "eqns") else None
            if found is not None:
                return found
    return None


def _flat_avals(built: Built) -> tuple[Any, ...]:
    inner = built.locals
    bounds = tuple(jax.typeof(bound) for bound in inner.get("dynamic_grid_bounds", ()))
    return (*bounds, *(inner["flat_in_avals"] if "flat_in_avals" in inner else inner["flat_avals"]))


def _maker(built: Built, parts: Parts) -> Callable[..., Any]:
    inner = built.locals
    in_tree = inner["in_tree"]
    if built.gpu is not None:
        return _flat(_gpu_kernel(built.gpu, parts), in_tree)
    options = {name: inner[name] for name in _SHARED_OPTIONS if name in inner}
    options |= {"compiler_params": parts.compiler_params, "interpret": False}
    options["metadata"] = dict(inner["metadata"]) if inner.get("metadata") else None
    options["input_output_aliases"] = dict(inner["input_output_aliases"])
    if "meshes_and_fns" in inner:
        meshes = (mesh for mesh, _ in inner["meshes_and_fns"])
        pairs = list(zip(meshes, parts.kernels, strict=True))
        make = mpmd._mpmd_map(pairs, parts.out_shape, scratch_types=parts.scratch, **options)
        return _flat(make, in_tree)
    return _pallas_call(parts, in_tree, {**options, "mesh": inner.get("mesh")})


def _flat(function: Callable[..., Any], in_tree: Any) -> Callable[..., Any]:
    return lambda *operands: function(*in_tree.unflatten(operands))


def _pallas_call(parts: Parts, in_tree: Any, options: dict[str, Any]) -> Callable[..., Any]:
    static_grid = parts.grid_spec.grid
    dynamic = sum(size is None for size in static_grid)

    def make(*operands: Any) -> Any:
        bounds = iter(operands[:dynamic])
        spec = copy.copy(parts.grid_spec)
        spec.grid = tuple(next(bounds) if size is None else size for size in static_grid)
        scratch, scratch_tree = jax.tree_util.tree_flatten(parts.scratch)
        if scratch:
            spec.scratch_shapes = tuple(scratch)
        kernel = parts.kernels[0]
        inner = pallas_call._pallas_call(
            kernel, parts.out_shape, grid_spec=spec, scratch_tree=scratch_tree, **options
        )
        return inner(*in_tree.unflatten(operands[dynamic:]))

    return make


def _gpu_kernel(outer: Mapping[str, Any], parts: Parts) -> Callable[..., Any]:
    from jax.experimental.pallas import mosaic_gpu

    mesh = outer["mesh"]
    options = {field.name: getattr(mesh, field.name) for field in dataclasses.fields(mesh)}
    options |= {name: outer[name] for name in ("cost_estimate", "debug") if name in outer}
    kernel: Callable[..., Any] = mosaic_gpu.kernel(
        parts.kernels[0],
        out_type=parts.out_shape,
        scratch_types=parts.scratch,
        compiler_params=parts.compiler_params,
        interpret=False,
        **options,
    )
    return kernel


def _with_parts(built: Built, parts: Parts) -> Built:
    """What the inner frame would have held, for those who look for specs in it."""
    if parts.more_operands:
        built = dataclasses.replace(built, locals=_with_operands(built.locals, parts.more_operands))
    if built.gpu is not None:
        gpu = {**built.gpu, "body": parts.kernels[0], "scratch_types": parts.scratch}
        return dataclasses.replace(built, gpu=gpu)
    changes: dict[str, Any] = {"grid_spec": parts.grid_spec, "kernel": parts.kernels[0]}
    if "meshes_and_fns" in built.locals:
        meshes = (mesh for mesh, _ in built.locals["meshes_and_fns"])
        pairs = list(zip(meshes, parts.kernels, strict=True))
        changes = {"meshes_and_fns": pairs, "scratch_types": parts.scratch}
    return dataclasses.replace(built, locals={**built.locals, **changes})


def _with_operands(inner: Mapping[str, Any], more: tuple[Any, ...]) -> dict[str, Any]:
    known = inner["in_tree"].unflatten(range(inner["in_tree"].num_leaves))
    if not isinstance(known, tuple):
        raise NotRetraceable("the call was not given its operands one by one")
    changes = {"in_tree": jax.tree_util.tree_structure((*known, *more))}
    for name in ("flat_in_avals", "flat_avals"):
        if name in inner:
            changes[name] = (*inner[name], *more)
    if "in_origins" in inner:
        origins = (f"args[{len(known) + number}]" for number in range(len(more)))
        changes["in_origins"] = (*inner["in_origins"], *origins)
    return {**inner, **changes}


def call_text(call: Call) -> str:
    """Everything of a call that a compiler gets to see, as text to compare."""
    parts = [str(jaxpr) for jaxpr in call.jaxprs]
    parts += [str(aval) for aval in call.avals]
    parts += [str(aval) for aval in call.params["out_avals"]]
    parts.append(str(call.params.get("input_output_aliases")))
    mapping = call.params.get("grid_mapping")
    if mapping is not None:
        parts.append(f"{mapping.grid} {mapping.num_index_operands} {mapping.scratch_avals}")
        for block in mapping.block_mappings:
            shape, mode = block.block_shape, block.pipeline_mode
            aval, index_map = block.transformed_block_aval, block.index_map_jaxpr
            parts.append(f"{block.origin} {shape} {mode} {aval} {index_map} {block.transforms}")
    return re.sub(r"0x[0-9a-f]+", "", "\n".join(parts))


def output_types(call: Call) -> tuple[tuple[tuple[int, ...], str], ...]:
    """Shape and dtype of each output, which is what the caller gets."""
    return tuple((tuple(aval.shape), str(aval.dtype)) for aval in call.params["out_avals"])
