"""From what JAX raised to failures that rules can read."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from typing import Any

from pallas_magic.bridge.block_checks import blocks_unchecked, refused_blocks
from pallas_magic.bridge.capture import Call
from pallas_magic.bridge.float_indices import float_index_paths
from pallas_magic.bridge.frames import definition_of, exception_frames, public_name
from pallas_magic.bridge.kernels import Kernel, equation_places, in_warp_region
from pallas_magic.bridge.layouts import (
    far_operand_path,
    is_layout_error,
    largest_allocation,
    suspect_path,
    tensor_memory_path,
)
from pallas_magic.bridge.locations import failing_path
from pallas_magic.bridge.lowering import Lowered, is_triton, lower
from pallas_magic.bridge.memory import memory_use
from pallas_magic.bridge.narrow_products import narrow_product_paths
from pallas_magic.bridge.objects import ObjectRecorder
from pallas_magic.bridge.operands import kernel_of, scoped_site, scratch_site
from pallas_magic.bridge.operations import operation_of
from pallas_magic.bridge.recovery import Backend, MissingRule, Raised, Recovered
from pallas_magic.bridge.refusals import refusals
from pallas_magic.bridge.shortage import Shortage, shortages
from pallas_magic.bridge.specs import static_grid
from pallas_magic.bridge.verified import is_independent, recover_verified
from pallas_magic.bridge.warps import warp_region
from pallas_magic.failure import CallSite, Failure, Ref
from pallas_magic.report import Stage
from pallas_magic.source.document import Place
from pallas_magic.targets import Target

_CALL_PRIMITIVES = ("pallas_call", "mpmd_map", "core_map")


@dataclasses.dataclass(frozen=True, eq=False)
class Found:
    """The failures of one call; ``more`` says that some were left unsaid."""

    failures: tuple[Failure, ...]
    more: bool = False


def find_failures(call: Call, lowered: Lowered, target: Target, objects: ObjectRecorder) -> Found:
    """Every independent failure of a call whose lowering raised ``lowered.error``."""
    first = lowered.error
    kernel = kernel_of(call, objects)
    recovered = _recovered(first, call, target, kernel) if first is not None else Recovered()
    failures = tuple(
        make_failure(one, first or one.error, call, kernel, target, objects)
        for one in recovered.raised
    )
    failed = {one.place for one in failures}
    refused = (
        refused_failure(one, call, kernel, target, objects)
        for one in (*refusals(call, kernel, target), *shortages(call, kernel, target))
    )
    return Found((*failures, *(one for one in refused if one.place not in failed)), recovered.more)


def refused_failure(
    raised: Raised, call: Call, kernel: Kernel, target: Target, objects: ObjectRecorder
) -> Failure:
    """What a compiler refuses for certain, as if it had been asked."""
    failure = make_failure(raised, raised.error, call, kernel, target, objects, "compile")
    if isinstance(raised.error, Shortage):
        lacking = raised.error.memory
        return dataclasses.replace(failure, raised_in="", error_type="OutOfMemory", memory=lacking)
    return dataclasses.replace(failure, raised_in="", error_type="libtpu")


def _recovered(first: BaseException, call: Call, target: Target, kernel: Kernel) -> Recovered:
    """What JAX raised first with all that is independent of it."""
    if blocks := refused_blocks(first, target, kernel):
        with blocks_unchecked(first):
            error = lower(call, target).error
            rest = _recovered(error, call, target, kernel) if error else Recovered()
        return dataclasses.replace(rest, raised=(*blocks, *rest.raised))
    if paths := float_index_paths(first, kernel) or narrow_product_paths(first, kernel):
        return Recovered(tuple(Raised(first, path) for path in paths))
    backend = backend_of(first)
    if backend is None or backend.is_late(first):
        return Recovered((_placed(first, kernel),))
    recovered = recover_verified(call, target, backend, kernel)
    ending = recovered.ending
    if ending is None:
        return recovered if recovered.raised else Recovered((_placed(first, kernel),))
    last = _placed(ending, kernel)
    if not recovered.raised:
        return dataclasses.replace(recovered, raised=(last,))
    if backend.trusts_ending and is_independent(last, recovered.raised, call):
        return dataclasses.replace(recovered, raised=(*recovered.raised, last))
    return recovered


def _placed(error: BaseException, kernel: Kernel) -> Raised:
    """An error that belongs to no rule, with the equation it is about."""
    path = tensor_memory_path(error, kernel) or far_operand_path(error, kernel)
    path = path or failing_path(error, kernel)
    if not path and is_layout_error(error):
        path = suspect_path(kernel)
    return Raised(error, path, ref=largest_allocation(error, kernel))


def error_as_it_is(
    error: BaseException, call: Call, target: Target, objects: ObjectRecorder
) -> Failure:
    """The failure of ``call`` that ``error`` tells by itself, nothing lowered again."""
    kernel = kernel_of(call, objects)
    return make_failure(Raised(error), error, call, kernel, target, objects)


def backend_of(error: BaseException) -> Backend | None:
    """The back end whose lowering raised ``error``, ``None`` where it has no recovery."""
    modules = {frame.f_globals.get("__name__", "") for frame in exception_frames(error)}
    if "jax._src.pallas.mosaic.lowering" in modules:
        from pallas_magic.bridge.recovery_tpu import TpuBackend

        return TpuBackend()
    if "jax._src.pallas.mosaic_gpu.lowering" in modules:
        from pallas_magic.bridge.recovery_gpu import GpuBackend

        return GpuBackend()
    if "jax._src.pallas.triton.lowering" in modules:
        from pallas_magic.bridge.recovery_triton import TritonBackend

        return TritonBackend()
    return None


def make_failure(
    raised: Raised,
    first: BaseException,
    call: Call,
    kernel: Kernel,
    target: Target,
    objects: ObjectRecorder,
    stage: Stage = "lower",
) -> Failure:
    """One failure, with its place, its ref and all accesses of that ref."""
    path = kernel_path(raised.equations)
    failing = path[-1] if path else None
    places = equation_places(path)
    ref = raised.ref or kernel.ref_of.get(id(failing))
    known = _with_site(ref, kernel, call, objects) if ref is not None else None
    if not places and known is not None and known.spec is not None:
        places = (known.spec.place,)
    return Failure(
        target=target,
        stage=stage,
        kernel=call.name,
        call=call_site(call),
        raised_in=_raised_in(raised.error),
        error_type=_error_type(raised.error),
        text=_text(raised.error, first),
        primitive=failing.primitive.name if failing is not None else "",
        place=places[-1] if places else None,
        stack=places[:-1],
        ref=known,
        access=kernel.access_of.get(id(failing)),
        accesses=kernel.accesses_of(ref) if ref is not None else (),
        refs=kernel.refs,
        warp=warp_region(path, kernel),
        semantics=_semantics(raised.context),
        memory=memory_use(str(raised.error), call, kernel, target),
        operation=operation_of(path, call.jaxprs[0], _program_sizes(call)),
    )


def kernel_path(equations: tuple[Any, ...]) -> tuple[Any, ...]:
    """The equations inside the kernel: what follows the call's own equation."""
    for position, equation in enumerate(equations):
        is_call = equation.primitive.name in _CALL_PRIMITIVES
        if is_call and not in_warp_region(equation):
            return equations[position + 1 :]
    return equations


def call_site(call: Call) -> CallSite:
    """Where the call was built and where its kernel is defined."""
    recorded = call.recorded()
    site = recorded.built.site if recorded.built is not None else None
    mapping = call.params.get("grid_mapping")
    return CallSite(
        build=site.place if site is not None else call.applied,
        kernel=_definition(recorded),
        has_grid=bool(mapping is not None and mapping.grid),
        applied=call.applied,
        grid=static_grid(mapping.grid) if mapping is not None else (),
        is_triton=is_triton(call),
    )


def _program_sizes(call: Call) -> tuple[int | None, ...]:
    """The sizes that ``program_id`` counts to, none where ``vmap`` has added to the grid."""
    mapping = call.params.get("grid_mapping")
    if mapping is None or mapping.vmapped_dims:
        return ()
    return static_grid(mapping.grid)


def kernel_function(call: Call) -> Any:
    """The function that was traced, partials unwrapped; ``None`` if it was not seen."""
    built = call.recorded().built
    if built is None:
        return None
    function = built.locals.get("kernel")
    if built.gpu is not None:
        function = built.gpu.get("body")
    elif function is None and built.locals.get("meshes_and_fns"):
        function = built.locals["meshes_and_fns"][0][1]
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.unwrap(function) if callable(function) else None


def _definition(call: Call) -> Place | None:
    code = getattr(kernel_function(call), "__code__", None)
    return definition_of(code) if code is not None else None


def _with_site(ref: Ref, kernel: Kernel, call: Call, objects: ObjectRecorder) -> Ref:
    if ref.role != "local" or ref.spec is not None:
        return ref
    path = kernel.scope_of.get(id(ref), ())
    scopes = [equation for equation in path if equation.primitive.name == "run_scoped"]
    if not scopes:
        return ref
    outermost = call.recorded().built is not None and len(scopes) == 1
    site = scratch_site(call, ref.operand, objects) if outermost else None
    site = site or scoped_site(equation_places((scopes[-1],)), ref.operand, objects)
    return dataclasses.replace(ref, spec=site, has_spec=site is not None)


def _semantics(context: Any) -> str:
    module = getattr(context, "module_ctx", None)
    if module is None:
        return ""
    parts = (module.lowering_semantics, module.primitive_semantics)
    return ":".join(getattr(part, "name", str(part)) for part in parts)


def _raised_in(error: BaseException) -> str:
    if isinstance(error, MissingRule):
        return error.raised_in
    frames = [frame for frame in exception_frames(error) if "__name__" in frame.f_globals]
    if not frames:
        return ""
    innermost = frames[-1]
    return public_name(innermost.f_globals["__name__"], innermost.f_code.co_name)


def _error_type(error: BaseException) -> str:
    kind = NotImplementedError if isinstance(error, MissingRule) else type(error)
    return kind.__name__


def _text(error: BaseException, first: BaseException) -> str:
    """JAX's text; that of a missing rule is made after the first one's pattern."""
    if not isinstance(error, MissingRule):
        return str(error)
    if str(first).startswith("Unimplemented primitive") and f": {error.primitive}" in str(first):
        return str(first)
    return f"Unimplemented primitive in Pallas lowering: {error.primitive}."
