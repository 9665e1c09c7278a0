"""The compile stage: what lowered is compiled by the vendors' compilers, where they are there."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pallas_magic.chip_memory import resources
from pallas_magic.failure import Failure
from pallas_magic.report import KernelReport, StageResult
from pallas_magic.targets import Family, Target, default_target

if TYPE_CHECKING:
    from pallas_magic.aot.outcome import Job, Outcome
    from pallas_magic.bridge.capture import Call
    from pallas_magic.bridge.lowering import Lowered
    from pallas_magic.bridge.objects import ObjectRecorder

COMPILING = "it is being compiled"
NOT_ASKED = "no compiler was asked for"
LOST = "CompilerLost"
SPILLS = "RegisterSpills"
# What is spilled beside a loop costs nothing: JAX's own attention for GPUs spills 16 bytes.
SPILLED_BYTES = 64

Progress = Callable[[int, int], None]


@dataclasses.dataclass(frozen=True, eq=False)
class Pending:
    """A kernel that lowers and is still to be compiled."""

    call: Call
    target: Target
    lowered: Lowered
    objects: ObjectRecorder

    def job(self) -> Job:
        from pallas_magic.aot.outcome import Job
        from pallas_magic.aot.stage import compile_limit
        from pallas_magic.bridge.export import module_bytes

        return Job(self.call.name, self.target, module_bytes(self.lowered), compile_limit())


@dataclasses.dataclass(frozen=True, eq=False)
class Compiled:
    """What the compile stage said of one kernel."""

    kernel: KernelReport
    failure: Failure | None = None
    note: str = ""


def warm_compiler(call: Call, wanted: Sequence[Target] | None) -> None:
    """Start the compiler that ``call`` is likely to need, in the background.

    This runs amid the user's code: it takes a few milliseconds and never raises.
    """
    try:
        from pallas_magic.aot.pool import pool
        from pallas_magic.bridge.lowering import call_family

        family = call_family(call)
        fitting = [one for one in wanted or () if family in (None, one.family)]
        pool().warm(fitting[0] if fitting else default_target(family or "tpu"))
    except Exception:
        return  # the compile stage itself says what is wrong


def why_not_compiled(family: Family) -> str:
    """Why a kernel of ``family`` cannot be compiled here, empty where it can."""
    from pallas_magic.aot.compilers import find_compiler

    compiler = find_compiler(family)
    if compiler is None:
        return f"no compiler for {family.upper()}s is installed"
    return compiler.unfit


def install_note(family: Family) -> str:
    """How the user gets what :func:`why_not_compiled` misses."""
    from pallas_magic.aot.compilers import install_line

    return f"not compiled: {why_not_compiled(family)}; `{install_line(family)}` gets it"


def compile_pending(
    pending: Sequence[tuple[KernelReport, Pending]], progress: Progress | None = None
) -> list[Compiled]:
    """Compile every kernel, several at a time; a fault of ours leaves it not compiled."""
    from pallas_magic.aot.stage import compile_jobs

    try:
        outcomes = compile_jobs([one.job() for _, one in pending], progress)
        return [
            _compiled(kernel, one, outcome)
            for (kernel, one), outcome in zip(pending, outcomes, strict=True)
        ]
    except Exception as fault:
        why = f"pallas_magic failed to compile it: {type(fault).__name__}: {fault}"
        return [Compiled(_with_stage(kernel, "skipped", why=why)) for kernel, _ in pending]


def compiles(call: Call, target: Target) -> bool | None:
    """Whether ``call`` lowers and compiles, ``None`` where that could not be tried."""
    from pallas_magic.bridge.lowering import lower
    from pallas_magic.bridge.objects import ObjectRecorder

    lowered = lower(call, target)
    if lowered.lowered is None:
        return None
    outcome = _outcome(Pending(call, target, lowered, ObjectRecorder()))
    return None if outcome.status in ("unavailable", "stopped") else outcome.status == "ok"


def compile_failures(
    call: Call, target: Target, lowered: Lowered, objects: ObjectRecorder
) -> tuple[Failure, ...] | None:
    """The failures of a lowered call in its compilation, ``None`` where it came to no end."""
    one = Pending(call, target, lowered, objects)
    outcome = _outcome(one)
    if outcome.status == "ok":
        return ()
    return (_failure(one, outcome),) if outcome.status == "failed" else None


def _outcome(one: Pending) -> Outcome:
    from pallas_magic.aot.stage import compile_jobs

    return compile_jobs([one.job()])[0]


def _compiled(kernel: KernelReport, one: Pending, outcome: Outcome) -> Compiled:
    if outcome.status == "ok":
        taken = resources(one.call, one.target, one.objects, outcome.details)
        done = dataclasses.replace(_with_stage(kernel, "ok", outcome.seconds), resources=taken)
        return Compiled(done, _spills(one, outcome))
    if outcome.status == "failed":
        failed = _with_stage(kernel, "failed", outcome.seconds)
        return Compiled(failed, _failure(one, outcome))
    if outcome.status == "unavailable":
        note = f"not compiled for {one.target.title}: {outcome.text}"
        return Compiled(_with_stage(kernel, "skipped", why=outcome.text), note=note)
    crashed = outcome.status == "crashed"
    text = f"the compiler crashes on it: {outcome.text}" if crashed else outcome.text
    lost = _failure(one, dataclasses.replace(outcome, text=text))
    lost = dataclasses.replace(lost, error_type=LOST, text=text)
    return Compiled(_with_stage(kernel, "skipped", outcome.seconds, text), lost)


def _spills(one: Pending, outcome: Outcome) -> Failure | None:
    """Registers spilled to memory: nothing is wrong, and much may be slow."""
    stores = outcome.details.get("spill_stores", 0)
    if stores < SPILLED_BYTES:
        return None
    loads, registers = outcome.details.get("spill_loads", 0), outcome.details.get("registers")
    counted = f" ({registers} registers used)" if registers else ""
    text = f"{stores:,} bytes of stores and {loads:,} bytes of loads a thread{counted}"
    spilled = _failure(one, dataclasses.replace(outcome, text=text))
    return dataclasses.replace(spilled, error_type=SPILLS, text=text)


def _with_stage(
    kernel: KernelReport, status: str, seconds: float = 0.0, why: str = ""
) -> KernelReport:
    result = StageResult(status, seconds, why)  # type: ignore[arg-type]
    return dataclasses.replace(kernel, stages={**kernel.stages, "compile": result})


def _failure(one: Pending, outcome: Outcome) -> Failure:
    from pallas_magic.bridge.compile_errors import compile_failure

    return compile_failure(one.call, outcome.text, one.target, one.objects, "JaxRuntimeError")
