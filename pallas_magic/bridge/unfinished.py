"""The call that was being made when a kernel could not be traced.

No primitive was bound, so there is no original program. What JAX held when the
kernel raised is in the frames that the error passed, and is enough to try the
call again with an edited kernel.
"""

from __future__ import annotations

import dataclasses
from types import FrameType
from typing import Any

import jax
from jax._src.pallas import mpmd, pallas_call

from pallas_magic.bridge.capture import Built, Call, Recorder
from pallas_magic.bridge.frames import exception_frames, exception_steps, is_user_frame
from pallas_magic.bridge.objects import BuiltObject, built_in

_PALLAS_CALL = ("jax._src.pallas.pallas_call", "wrapped")
_KERNEL = ("jax._src.pallas.mpmd", "wrapper")
_GPU_KERNEL = ("jax._src.pallas.mosaic_gpu.core", "wrapper")


def unfinished_call(error: BaseException, recorder: Recorder) -> Call | None:
    """The outermost Pallas call that ``error`` ended, ``None`` if there is none.

    ``recorder`` was open when it was made. Its ``params`` are empty: there was
    no bind.
    """
    frames = list(exception_frames(error))
    position = next((i for i, frame in enumerate(frames) if _is_inner(frame)), None)
    if position is None:
        return None
    inner = dict(frames[position].f_locals)
    avals = _avals(inner)
    if avals is None:
        return None
    before = frames[:position]
    gpu = _gpu_locals(before)
    built = Built(inner, gpu, recorder.build_site(inner, gpu))
    is_pallas_call = _name(frames[position]) == _PALLAS_CALL
    primitive = pallas_call.pallas_call_p if is_pallas_call else mpmd.mpmd_map_p
    mesh = jax.sharding.get_abstract_mesh()
    user = next((frame for frame in reversed(before) if is_user_frame(frame)), None)
    caller = _state(error, user) if user is not None else None
    return Call(primitive, {}, avals, mesh, None, built, caller=caller)


def _state(error: BaseException, frame: FrameType) -> BuiltObject | None:
    """The state of ``frame`` where ``error`` passed it, which it has left since."""
    steps = exception_steps(error)
    last = next((step.tb_lasti for step in steps if step.tb_frame is frame), None)
    return dataclasses.replace(built_in(frame), last_instruction=last) if last is not None else None


def _is_inner(frame: FrameType) -> bool:
    return _name(frame) in (_PALLAS_CALL, _KERNEL)


def _name(frame: FrameType) -> tuple[str, str]:
    return frame.f_globals.get("__name__", ""), frame.f_code.co_name


def _avals(inner: dict[str, Any]) -> tuple[Any, ...] | None:
    if "in_tree" not in inner:
        return None
    bounds = tuple(jax.typeof(bound) for bound in inner.get("dynamic_grid_bounds", ()))
    flat = inner.get("flat_in_avals", inner.get("flat_avals"))
    return (*bounds, *flat) if flat is not None else None


def _gpu_locals(before: list[FrameType]) -> dict[str, Any] | None:
    for frame in reversed(before):
        if is_user_frame(frame):
            return None
        if _name(frame) == _GPU_KERNEL and "body" in frame.f_locals:
            return dict(frame.f_locals)
    return None
