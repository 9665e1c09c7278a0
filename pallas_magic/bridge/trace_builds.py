"""Errors raised where a Pallas call is put together, before it has operands."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Sequence
from types import FrameType
from typing import Any

from pallas_magic.bridge.frames import (
    definition_of,
    exception_frames,
    is_user_frame,
    place_of,
    public_name,
)
from pallas_magic.bridge.specs import static_grid
from pallas_magic.failure import CallSite, Failure
from pallas_magic.targets import Target

_BUILDERS = {
    ("jax._src.pallas.pallas_call", "pallas_call"),
    ("jax._src.pallas.helpers", "kernel"),
    ("jax._src.pallas.mosaic_gpu.core", "kernel"),
    ("jax._src.pallas.core", "GridSpec.__init__"),
    ("jax._src.pallas.mosaic.core", "PrefetchScalarGridSpec.__init__"),
}
# Specs, scratch types and barriers look at what they are given when they are made.
_PARTS = "jax._src.pallas."
_MAKING = ("__init__", "__post_init__", "__new__", "__call__")


def build_failure(error: BaseException, target: Target) -> Failure | None:
    """The failure of a call that could not be put together, ``None`` for any other error."""
    frames = list(exception_frames(error))
    names = [(one.f_globals.get("__name__", ""), one.f_code.co_qualname) for one in frames]
    first = next((at for at, name in enumerate(names) if name in _BUILDERS), None)
    if first is None:
        return _part_failure(error, frames, names, target)
    if any(is_user_frame(frame) for frame in frames[first:]):
        return None
    user = [at for at, frame in enumerate(frames[:first]) if is_user_frame(frame)]
    place = _place(error, user[-1]) if user else None
    builder = frames[first].f_locals
    kernel = _function(builder.get("kernel") or builder.get("body"))
    code = getattr(kernel, "__code__", None)
    return Failure(
        target=target,
        stage="trace",
        kernel=str(builder.get("name") or getattr(kernel, "__name__", "kernel")),
        call=CallSite(
            build=place,
            kernel=definition_of(code) if code is not None else None,
            grid=_grid(builder.get("grid")),
        ),
        raised_in=public_name(*names[-1]),
        error_type=type(error).__name__,
        text=str(error),
        place=place,
    )


def _part_failure(
    error: BaseException,
    frames: Sequence[FrameType],
    names: Sequence[tuple[str, str]],
    target: Target,
) -> Failure | None:
    """The failure of a part that could not be made, whatever call it was meant for."""
    last = max((at for at, frame in enumerate(frames) if is_user_frame(frame)), default=None)
    if last is None or last + 1 == len(frames):
        return None
    maker = frames[last + 1]
    if not names[last + 1][0].startswith(_PARTS) or maker.f_code.co_name not in _MAKING:
        return None
    return Failure(
        target=target,
        stage="trace",
        kernel="",
        call=CallSite(None, None),
        raised_in=public_name(*names[-1]),
        error_type=type(error).__name__,
        text=str(error),
        place=_place(error, last),
    )


def _place(error: BaseException, number: int) -> Any:
    step = error.__traceback__
    for _ in range(number):
        step = step.tb_next if step is not None else None
    return place_of(step.tb_frame.f_code, step.tb_lasti) if step is not None else None


def _grid(grid: Any) -> tuple[int | None, ...]:
    return static_grid(grid if isinstance(grid, (tuple, list)) else (grid,))


def _function(kernel: Any) -> Any:
    while isinstance(kernel, functools.partial):
        kernel = kernel.func
    return inspect.unwrap(kernel) if callable(kernel) else None
