"""What a compiler said against a kernel while the user's own program was compiled.

No check compiled it: JAX did, for the accelerator of this machine or for one
the user named. JAX's frames hold the program where it was traced and compiled
in one go; after ``lower()`` there is only the compiler's text.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator
from typing import Any

import jax
from jax._src.pallas import mpmd, pallas_call

from pallas_magic.bridge.capture import Call, Recorder
from pallas_magic.bridge.compile_errors import compile_failure, first_place, plain_text
from pallas_magic.bridge.frames import exception_frames, exception_steps, is_user_frame, place_of
from pallas_magic.bridge.kernels import inner_jaxprs
from pallas_magic.bridge.lowered_programs import kernel_meant
from pallas_magic.bridge.memory import memory_told
from pallas_magic.bridge.objects import ObjectRecorder
from pallas_magic.bridge.reconstruct import reconstruct_equation
from pallas_magic.failure import CallSite, Failure
from pallas_magic.source.document import Place
from pallas_magic.targets import Family, Target, default_target, target_for_device

_OF_A_KERNEL = re.compile(
    r"Mosaic|space=[vs]mem\b.*tag = '|memory space [vs]mem\b|smem_bytes=\d+ > max_smem_bytes",
    re.DOTALL,
)
_NAME = re.compile(r"MLIR module name `([^`]*)`")
_GPU = re.compile(r"Mosaic GPU|max_smem_bytes")
_PRIMITIVES = (pallas_call.pallas_call_p, mpmd.mpmd_map_p)
_MOST_EQUATIONS = 100_000
# As the compile stage has it, so that both tell the same of one kernel.
_ERROR_TYPE = "JaxRuntimeError"


@dataclasses.dataclass(frozen=True, eq=False)
class CompilerSaid:
    """A kernel that a compiler refused; ``call`` is ``None`` where only its text is known."""

    kernel: str
    target: Target
    failure: Failure
    call: Call | None = None
    objects: ObjectRecorder | None = None


def compiler_said(error: BaseException, recorder: Recorder | None = None) -> CompilerSaid | None:
    """What ``error`` says of a kernel that did not compile, ``None`` if it says nothing of one."""
    text = _compilers_text(error)
    if text is None:
        return None
    target = _target(error, text)
    named = _NAME.search(text)
    found = _call(error, named[1] if named is not None else "", recorder)
    if found is None:
        return _said_of_lowered(error, text, named[1] if named is not None else "", target)
    call, objects = found
    failure = compile_failure(call, text, target, objects, _ERROR_TYPE)
    if failure.place is None:
        failure = dataclasses.replace(failure, place=call.applied or _user_place(error))
    return CompilerSaid(call.name, target, failure, call, objects)


def _said_of_lowered(error: BaseException, text: str, name: str, target: Target) -> CompilerSaid:
    """What was said of a kernel that was lowered earlier."""
    kernel = kernel_meant(error, name, text)
    name = name or (kernel.name if kernel is not None else "") or "kernel"
    called = kernel.place if kernel is not None else None
    failure = Failure(
        target,
        "compile",
        name,
        CallSite(None, None, applied=called),
        "",
        _ERROR_TYPE,
        plain_text(text),
        place=first_place(text) or called or _user_place(error),
        memory=memory_told(text, target),
    )
    return CompilerSaid(name, target, failure)


def _compilers_text(error: BaseException) -> str | None:
    """The compiler's own text: JAX takes the location out of what it raises instead."""
    cause = error.__cause__
    if type(error).__name__ == "MosaicError":
        return str(cause) if isinstance(cause, jax.errors.JaxRuntimeError) else str(error)
    if not isinstance(error, jax.errors.JaxRuntimeError):
        return None
    text = str(error)
    return text if _OF_A_KERNEL.search(text) else None


def _target(error: BaseException, text: str) -> Target:
    family: Family = "gpu" if _GPU.search(text) else "tpu"
    for frame in exception_frames(error):
        for device in _devices(frame.f_locals):
            if _family(device) == family:
                return target_for_device(family, str(device.device_kind))
    return default_target(family)


def _devices(names: dict[str, Any]) -> Iterator[Any]:
    listed = names.get("executable_devices")
    if listed is None:
        return
    yield from (device for device in tuple(listed)[:1] if hasattr(device, "device_kind"))


def _family(device: Any) -> Family:
    return "tpu" if device.platform == "tpu" else "gpu"


def _call(
    error: BaseException, name: str, recorder: Recorder | None
) -> tuple[Call, ObjectRecorder] | None:
    """The one call that can be meant: that of ``name``, or the only one there is."""
    if recorder is not None:
        calls = [call for call in recorder.calls if name in ("", call.name)]
        return (calls[-1], recorder.objects) if calls and (name or len(calls) == 1) else None
    equations = list({id(one): one for one in _pallas_equations(error)}.values())
    named = [one for one in equations if name in ("", _name(one))]
    if not named or (not name and len(named) > 1):
        return None
    found = reconstruct_equation(named[-1], error)
    return found.call, found.objects


def _name(equation: Any) -> str:
    return Call(equation.primitive, equation.params, (), None, None, None).name


def _pallas_equations(error: BaseException) -> Iterator[Any]:
    for frame in exception_frames(error):
        if is_user_frame(frame):
            continue
        programs = [value for value in frame.f_locals.values() if hasattr(value, "eqns")]
        yield from _within(programs)


def _within(programs: Iterable[Any]) -> Iterator[Any]:
    waiting = list(programs)
    for _ in range(_MOST_EQUATIONS):
        if not waiting:
            return
        program = waiting.pop()
        for equation in getattr(program, "jaxpr", program).eqns:
            if equation.primitive in _PRIMITIVES:
                yield equation
            else:
                waiting.extend(inner_jaxprs(equation))


def _user_place(error: BaseException) -> Place | None:
    user = [step for step in exception_steps(error) if is_user_frame(step.tb_frame)]
    places = (place_of(step.tb_frame.f_code, step.tb_lasti) for step in reversed(user))
    return next((place for place in places if place is not None), None)
