"""Errors raised while a kernel was traced, told from the frames they passed."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from types import FrameType, TracebackType
from typing import Any

from pallas_magic.bridge.capture import Call, Recorder
from pallas_magic.bridge.captured import trace_failure_place
from pallas_magic.bridge.captured_values import captured_arrays
from pallas_magic.bridge.frames import (
    definition_of,
    exception_frames,
    exception_steps,
    is_user_frame,
    place_of,
    public_name,
)
from pallas_magic.bridge.gpu_traced import gpu_traced_refs, user_body
from pallas_magic.bridge.specs import static_grid
from pallas_magic.bridge.trace_builds import build_failure
from pallas_magic.bridge.trace_specs import failing_ref, traced_refs
from pallas_magic.bridge.unfinished import unfinished_call
from pallas_magic.failure import CallSite, Failure
from pallas_magic.source.document import Place
from pallas_magic.targets import Family, Target

_INNER = {
    ("jax._src.pallas.pallas_call", "wrapped"): "pallas_call",
    ("jax._src.pallas.mpmd", "wrapper"): "kernel",
}


@dataclasses.dataclass(frozen=True, eq=False)
class Untraced:
    """A kernel that could not be traced.

    ``call`` has no parameters, as it never came to its primitive; it is
    ``None`` where it had not even its operands.
    """

    call: Call | None
    failure: Failure


def trace_failure(
    error: BaseException, target: Target, recorder: Recorder | None = None
) -> Untraced | None:
    """The kernel that ``error`` was raised in while it was traced, ``None`` if in none.

    ``recorder`` knows where the specs were built, if it was open.
    """
    steps = list(exception_steps(error))
    position = next((i for i, step in enumerate(steps) if _kind(step) is not None), None)
    if position is None:
        unbuilt = build_failure(error, target)
        return Untraced(None, unbuilt) if unbuilt is not None else None
    inner = steps[position].tb_frame
    before = [step for step in steps[:position] if is_user_frame(step.tb_frame)]
    applied = _place(before[-1]) if before else None
    user = [step for step in steps if is_user_frame(step.tb_frame)]
    inside = [step for step in steps[position:] if is_user_frame(step.tb_frame)]
    places = [p for step in inside or user[-1:] if (p := _place(step)) is not None]
    last = steps[-1].tb_frame
    inwards = steps[steps.index(user[-1]) + 1 :] if user else []
    function = _kernel_function(inner.f_locals)
    failure = Failure(
        target=target,
        stage="trace",
        kernel=str(inner.f_locals.get("name") or getattr(function, "__name__", "kernel")),
        call=_site(applied, function, inner),
        raised_in=_name(last),
        error_type=type(error).__name__,
        text=str(error),
        place=places[-1] if places else applied,
        stack=tuple(places[:-1]),
        passed=tuple(_name(step.tb_frame) for step in inwards),
    )
    frames = [step.tb_frame for step in steps[position:]]
    try:
        return _with_operands(failure, error, frames, function, recorder or Recorder())
    except Exception:  # what cannot be read must not cost the user JAX's own error
        return Untraced(None, failure)


def _with_operands(
    failure: Failure,
    error: BaseException,
    frames: list[FrameType],
    function: Any,
    recorder: Recorder,
) -> Untraced:
    """The failure with all that JAX held of the call when it failed."""
    call = unfinished_call(error, recorder)
    whole = list(exception_frames(error))
    refs = gpu_traced_refs(whole, recorder.objects) or traced_refs(
        frames[0].f_locals, function, recorder.objects
    )
    site = call.built.site if call is not None and call.built is not None else None
    if site is not None:
        failure = dataclasses.replace(
            failure, call=dataclasses.replace(failure.call, build=site.place)
        )
    failure = dataclasses.replace(
        failure,
        ref=failing_ref(frames, refs),
        refs=refs,
        captured=captured_arrays(frames, function),
    )
    use = trace_failure_place(error)
    if use is not None:
        told = {field.name: getattr(use, field.name) for field in dataclasses.fields(use)}
        failure = dataclasses.replace(failure, **told)
    if call is not None:
        call = dataclasses.replace(call, applied=failure.call.applied)
    return Untraced(call, failure)


def is_users_own(error: BaseException) -> bool:
    """Whether a line of the user's raised ``error`` itself, no library in between."""
    steps = list(exception_steps(error))
    return bool(steps) and is_user_frame(steps[-1].tb_frame)


def trace_family(error: BaseException) -> Family | None:
    """The back end of the kernel that could not be traced, ``None`` where any will do."""
    told: Family | None = None
    for step in exception_steps(error):
        if _kind(step) == "kernel" and "mosaic_gpu" in str(step.tb_frame.f_locals.get("meshes")):
            return "gpu"
        if ".mosaic_gpu." in step.tb_frame.f_globals.get("__name__", ""):
            return "gpu"
        told = told or _called_for(step)
    return told


def _called_for(step: TracebackType) -> Family | None:
    """The back end of a Pallas call by its compiler's parameters and its memory spaces."""
    names = step.tb_frame.f_locals if _kind(step) is not None else {}
    things = [names.get("compiler_params")]
    things += [getattr(aval, "memory_space", None) for aval in names.get("flat_kernel_avals", ())]
    modules = [type(thing).__module__ for thing in things]
    if any(".mosaic_gpu" in module or ".triton" in module for module in modules):
        return "gpu"
    return "tpu" if any(".mosaic." in module for module in modules) else None


def _site(applied: Place | None, function: Any, inner: FrameType) -> CallSite:
    code = getattr(function, "__code__", None)
    grid = getattr(inner.f_locals.get("grid_spec"), "grid", ())
    return CallSite(
        build=applied,
        kernel=definition_of(code) if code is not None else None,
        has_grid=bool(grid),
        applied=applied,
        grid=static_grid(grid),
    )


def _kind(step: TracebackType) -> str | None:
    frame = step.tb_frame
    return _INNER.get((frame.f_globals.get("__name__", ""), frame.f_code.co_name))


def _name(frame: FrameType) -> str:
    return public_name(frame.f_globals.get("__name__", ""), frame.f_code.co_name)


def _place(step: TracebackType) -> Place | None:
    return place_of(step.tb_frame.f_code, step.tb_lasti)


def _kernel_function(names: dict[str, Any]) -> Any:
    function = names.get("kernel")
    if function is None and names.get("meshes_and_fns"):
        function = names["meshes_and_fns"][0][1]
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.unwrap(user_body(function)) if callable(function) else None
