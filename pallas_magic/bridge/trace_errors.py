"""Errors raised while a kernel was traced, told from the frames they passed."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Iterator
from types import TracebackType
from typing import Any

from pallas_magic.bridge.captured import trace_failure_place
from pallas_magic.bridge.frames import definition_of, is_user_frame, place_of
from pallas_magic.failure import CallSite, Failure
from pallas_magic.source.document import Place
from pallas_magic.targets import Family, Target

_INNER = {
    ("jax._src.pallas.pallas_call", "wrapped"): "pallas_call",
    ("jax._src.pallas.mpmd", "wrapper"): "kernel",
}


def trace_failure(error: BaseException, target: Target) -> Failure | None:
    """The failure of a kernel that could not be traced, ``None`` for any other error."""
    steps = list(_steps(error))
    position = next((i for i, step in enumerate(steps) if _kind(step) is not None), None)
    if position is None:
        return None
    inner = steps[position].tb_frame
    user = [step for step in steps if is_user_frame(step.tb_frame)]
    inside = [step for step in steps[position:] if is_user_frame(step.tb_frame)]
    before = [step for step in steps[:position] if is_user_frame(step.tb_frame)]
    applied = place_of(before[-1].tb_frame.f_code, before[-1].tb_lasti) if before else None
    places = [p for step in inside or user[-1:] if (p := _place(step)) is not None]
    function = _kernel_function(inner.f_locals)
    code = getattr(function, "__code__", None)
    last = steps[-1].tb_frame
    failure = Failure(
        target=target,
        stage="trace",
        kernel=str(inner.f_locals.get("name") or getattr(function, "__name__", "kernel")),
        call=CallSite(
            build=applied,
            kernel=definition_of(code) if code is not None else None,
            kind=_kind(steps[position]) or "",
            applied=applied,
        ),
        raised_in=f"{last.f_globals.get('__name__', '')}.{last.f_code.co_name}",
        error_type=type(error).__name__,
        text=str(error),
        place=places[-1] if places else applied,
        stack=tuple(places[:-1]),
    )
    use = trace_failure_place(error)
    if use is None:
        return failure
    told = {field.name: getattr(use, field.name) for field in dataclasses.fields(use)}
    return dataclasses.replace(failure, **told)


def is_users_own(error: BaseException) -> bool:
    """Whether a line of the user's raised ``error`` itself, no library in between."""
    steps = list(_steps(error))
    return bool(steps) and is_user_frame(steps[-1].tb_frame)


def trace_family(error: BaseException) -> Family:
    """The back end of the kernel that could not be traced, as far as its modules tell."""
    for step in _steps(error):
        if _kind(step) == "kernel" and "mosaic_gpu" in str(step.tb_frame.f_locals.get("meshes")):
            return "gpu"
        if ".mosaic_gpu." in step.tb_frame.f_globals.get("__name__", ""):
            return "gpu"
    return "tpu"


def _steps(error: BaseException) -> Iterator[TracebackType]:
    step = error.__traceback__
    while step is not None:
        yield step
        step = step.tb_next


def _kind(step: TracebackType) -> str | None:
    frame = step.tb_frame
    return _INNER.get((frame.f_globals.get("__name__", ""), frame.f_code.co_name))


def _place(step: TracebackType) -> Place | None:
    return place_of(step.tb_frame.f_code, step.tb_lasti)


def _kernel_function(names: dict[str, Any]) -> Any:
    function = names.get("kernel")
    if function is None and names.get("meshes_and_fns"):
        function = names["meshes_and_fns"][0][1]
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.unwrap(function) if callable(function) else None
