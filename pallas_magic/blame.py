"""Which kernel an exception came from."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from pallas_magic.failure import CallSite, Failure
from pallas_magic.findings import Checked
from pallas_magic.report import KernelReport, StageResult
from pallas_magic.rules import fallback, rule_for
from pallas_magic.source.absent import Absent, absent_from
from pallas_magic.source.document import Library
from pallas_magic.targets import Family, Target, default_target

if TYPE_CHECKING:
    from pallas_magic.bridge.capture import Call, Recorder
    from pallas_magic.bridge.objects import ObjectRecorder

_OF_THIS_MACHINE = (
    "Only interpret mode is supported on CPU backend",
    "Unsupported TPU device kind",
)


@dataclasses.dataclass(frozen=True, eq=False)
class Blamed:
    """A kernel that an exception came from.

    ``told`` is what the exception itself tells; ``calls`` are to be lowered
    once more, ``objects`` knowing where their specs were built.
    """

    told: tuple[Checked, ...] = ()
    calls: tuple[Call, ...] = ()
    objects: ObjectRecorder | None = None


def blamed_for(
    error: BaseException,
    recorder: Recorder | None,
    wanted: tuple[Target, ...] | None,
    running: bool,
    library: Library,
) -> Blamed | None:
    """The kernel that ``error`` came from, ``None`` if it came from none.

    What the user's own line raised in ``running`` code is theirs to see as it is,
    but for what it asked of Pallas that JAX does not have: that is told, in a kernel
    or not.
    """
    from pallas_magic.bridge.objects import ObjectRecorder
    from pallas_magic.bridge.trace_errors import is_users_own, trace_failure, trace_family

    if compiling := _blamed_compiling(error, recorder):
        return compiling
    unknown = _asked_in_vain(error, wanted, library)
    # What has no specs of its own can be mended without knowing where they were built.
    objects = ObjectRecorder() if unknown is not None and recorder is None else None
    # JAX puts frames of the user's kernel behind its own where it knows an operation's place.
    own = is_users_own(error) and not type(error).__module__.startswith("jax.")
    if running and own and unknown is None:
        return None
    target = _target_of(trace_family(error), wanted)
    untraced = trace_failure(error, target, recorder)
    if untraced is not None:
        absent = unknown.absent if unknown is not None else None
        failure = dataclasses.replace(untraced.failure, absent=absent)
        return Blamed((Checked((), ((untraced.call, failure),)),), objects=objects)
    if unknown is not None:
        return Blamed((Checked((), ((None, unknown),)),), objects=objects)
    return _blamed_lowering(error, recorder, wanted)


def _asked_in_vain(
    error: BaseException, wanted: tuple[Target, ...] | None, library: Library
) -> Failure | None:
    """The failure of a line that asked Pallas for what JAX does not have, if a rule knows that."""

    def text_of(filename: str) -> str:
        document = library.find(filename)
        return document.executed if document is not None else ""

    absent = absent_from(error, text_of)
    if absent is None:
        return None
    failure = Failure(
        target=wanted[0] if wanted else default_target(_family_of(absent)),
        stage="trace",
        kernel="",
        call=CallSite(None, None),
        raised_in="",
        error_type=type(error).__name__,
        text=str(error),
        place=absent.place,
        absent=absent,
    )
    return failure if rule_for(failure) is not fallback() else None


def _family_of(absent: Absent) -> Family:
    of_gpus = ".mosaic_gpu" in absent.dotted or ".triton" in absent.dotted
    return "gpu" if of_gpus else "tpu"


def _blamed_lowering(
    error: BaseException, recorder: Recorder | None, wanted: tuple[Target, ...] | None
) -> Blamed | None:
    from pallas_magic.bridge.failures import error_as_it_is
    from pallas_magic.bridge.lowering import call_family
    from pallas_magic.bridge.reconstruct import reconstruct_call

    found = reconstruct_call(error)
    if found is None:
        return None
    call, objects = found.call, found.objects
    if recorder is not None:
        # The recorder saw the call when it was bound, and tells it better.
        return Blamed()
    if not _is_about_this_machine(error):
        return Blamed(calls=(call,), objects=objects)
    failure = error_as_it_is(error, call, _target_of(call_family(call) or "tpu", wanted), objects)
    return Blamed((Checked((), ((call, failure),)),), objects=objects)


def _blamed_compiling(error: BaseException, recorder: Recorder | None) -> Blamed | None:
    from pallas_magic.bridge.device_errors import compiler_said

    said = compiler_said(error, recorder)
    if said is None:
        return None
    kernel = KernelReport(
        said.kernel,
        said.target.name,
        {
            "trace": StageResult("ok"),
            "lower": StageResult("ok"),
            "compile": StageResult("failed"),
        },
    )
    # A call that was recorded has a report of its own.
    kernels = (kernel,) if recorder is None else ()
    told = Checked(kernels, ((said.call, said.failure),))
    return Blamed((told,), objects=said.objects)


def _is_about_this_machine(error: BaseException) -> bool:
    """Whether ``error`` says nothing of the kernel: lowered for a chip, it may be right."""
    return str(error).startswith(_OF_THIS_MACHINE)


def _target_of(family: Family | None, wanted: tuple[Target, ...] | None) -> Target:
    if family is None:
        return wanted[0] if wanted else default_target("tpu")
    matching = [target for target in wanted or () if target.family == family]
    return matching[0] if matching else default_target(family)
