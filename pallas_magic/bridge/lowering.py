"""Lower one recorded call for one target, by JAX's own unmodified rules."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import jax
from jax._src import config
from jax._src.state.types import AbstractRef
from jax.sharding import AxisType

from pallas_magic.bridge.capture import Call, as_bound, has_ref_operands
from pallas_magic.bridge.devices import (
    architecture_answered,
    automatic,
    chip_queries_answered,
    mesh_for,
    target_mesh,
)
from pallas_magic.bridge.frames import exception_frames
from pallas_magic.bridge.limits import TimeLimitReached, time_limit
from pallas_magic.targets import Family, Target

_WALKERS = {
    ("jax._src.pallas.mosaic.lowering", "jaxpr_subcomp"),
    ("jax._src.pallas.mosaic_gpu.lowering", "lower_jaxpr_to_mosaic_gpu"),
    ("jax._src.pallas.triton.lowering", "lower_jaxpr_to_triton_ir"),
}
_MESH_CONFLICT = "should match the aval mesh"


@dataclasses.dataclass(frozen=True, eq=False)
class Lowered:
    """How a lowering ended: an ``error``, or none; ``skipped`` says why it was not tried."""

    seconds: float = 0.0
    error: BaseException | None = None
    skipped: str = ""
    lowered: Any = None


def is_triton(call: Call) -> bool:
    """Whether ``call`` asks for Triton, the other back end of GPUs."""
    return ".triton" in type(call.params.get("compiler_params")).__module__


def call_family(call: Call) -> Family | None:
    """The back end that ``call`` was written for, ``None`` where any will do."""
    parameters = call.params.get("compiler_params")
    meshes = call.params.get("meshes") or (call.params.get("mesh"),)
    for thing in (parameters, *meshes):
        module = type(thing).__module__
        if ".mosaic_gpu" in module or ".triton" in module:
            return "gpu"
        if ".mosaic." in module:
            return "tpu"
    spaces = {_space_module(var.aval) for jaxpr in call.jaxprs for var in jaxpr.invars}
    if any(".mosaic_gpu" in space for space in spaces):
        return "gpu"
    if any(".mosaic." in space for space in spaces):
        return "tpu"
    return None


def _space_module(aval: Any) -> str:
    return type(getattr(aval, "memory_space", None)).__module__


def lower(call: Call, target: Target, limit_seconds: float = 60.0) -> Lowered:
    """Lower ``call`` for ``target``; whatever JAX raises is returned, not raised."""
    started = time.perf_counter()
    try:
        with time_limit(limit_seconds):
            lowered = lower_or_raise(call, target)
    except TimeLimitReached:
        return Lowered(skipped=f"lowering it takes more than {limit_seconds:g} s")
    except Exception as error:
        if has_ref_operands(call) and not _is_raised_in_kernel(error):
            # The refs we made may not be like those of the user's.
            return Lowered(skipped="it works on refs of the function around it")
        return Lowered(time.perf_counter() - started, error)
    return Lowered(time.perf_counter() - started, lowered=lowered)


def _is_raised_in_kernel(error: BaseException) -> bool:
    """Whether ``error`` came while the equations of a kernel were lowered."""
    frames = exception_frames(error)
    return any((f.f_globals.get("__name__"), f.f_code.co_name) in _WALKERS for f in frames)


def scratch_function(call: Call, **changes: Any) -> Callable[..., Any]:
    """A new function that makes just this call, compiled rather than interpreted.

    It is new each time: JAX caches what it lowers by function, and a lowering
    of ours must never be found by the user.
    """
    params = {**as_bound(call), "interpret": False, **changes}
    params.pop("kernel_arg_transforms", None)

    is_ref = [isinstance(aval, AbstractRef) for aval in call.avals]

    def kernel(*operands: Any) -> Any:
        return call.primitive.bind(*operands, **params)

    def kernel_on_refs(*arrays: Any) -> Any:
        """The call on refs made for it; what it leaves in them comes out."""
        held = [jax.new_ref(a) if ref else a for a, ref in zip(arrays, is_ref, strict=True)]
        results = kernel(*held)
        return [*results, *(one[...] for one, ref in zip(held, is_ref, strict=True) if ref)]

    return kernel_on_refs if any(is_ref) else kernel


def lowers_interpreted(call: Call) -> bool:
    """Whether ``call`` lowers for this machine with ``interpret=True``."""
    structs = _structs(call.avals)
    try:
        jax.jit(scratch_function(call, interpret=True)).trace(*structs).lower()
    except Exception:
        return False
    return True


def lower_or_raise(call: Call, target: Target) -> Any:
    """Lower ``call`` for ``target`` in a scratch function, with whole tracebacks."""
    if not is_manual(call.mesh):
        return _lower(scratch_function(call), call, target)
    try:
        return _lower(_sharded(scratch_function(call), mesh_for(call.mesh, target)), call, target)
    except ValueError as error:
        if not is_mesh_conflict(error):
            raise
    # Where lowering traces more, on values of the user's mesh, no other mesh will do.
    with architecture_answered(target):
        return _lower(_sharded(scratch_function(call), automatic(call.mesh)), call, target)


def is_mesh_conflict(error: BaseException) -> bool:
    """Whether JAX refused to put a value of one mesh under another."""
    return isinstance(error, ValueError) and _MESH_CONFLICT in str(error)


def _lower(function: Callable[..., Any], call: Call, target: Target) -> Any:
    with target_mesh(target), chip_queries_answered(target), whole_tracebacks():
        traced = jax.jit(function).trace(*_structs(call.avals))
        return traced.lower(lowering_platforms=(target.platform,))


def is_manual(mesh: Any) -> bool:
    """Whether code under ``mesh`` runs inside a ``shard_map``."""
    return any(kind == AxisType.Manual for kind in mesh.axis_types)


def _sharded(function: Callable[..., Any], mesh: Any) -> Callable[..., Any]:
    """``function`` inside a ``shard_map``, each device with all of each operand."""
    whole = jax.sharding.PartitionSpec()  # type: ignore[no-untyped-call]
    return jax.shard_map(function, mesh=mesh, in_specs=whole, out_specs=whole, check_vma=False)


def _structs(avals: tuple[Any, ...]) -> list[Any]:
    return [
        jax.ShapeDtypeStruct(aval.shape, aval.dtype)  # type: ignore[no-untyped-call]
        for aval in avals
    ]


def whole_tracebacks() -> AbstractContextManager[Any]:
    """Keep JAX's frames in what it raises: places are read from them."""
    return config.traceback_filtering("off")  # type: ignore[no-any-return]
