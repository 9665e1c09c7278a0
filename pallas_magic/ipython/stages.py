"""A report that is shown while it grows: lowered, then compiled, then proved."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from pallas_magic.compile_stage import COMPILING
from pallas_magic.report import Fix, KernelReport, Proof, Report, StageResult

if TYPE_CHECKING:
    from pallas_magic.compile_stage import Progress
    from pallas_magic.ipython.fault import Faults

Show = Callable[[Report, str], None]

_PROGRESS_SECONDS = 0.5
_INTERRUPTED = "interrupted"


class Later(Protocol):
    """What is left of a check once it has lowered everything."""

    @property
    def compiling(self) -> bool:
        """Whether there are kernels to compile."""

    def compile(self, progress: Progress) -> Report:
        """The report with its kernels compiled."""

    def prove(self) -> Report:
        """The report with its fixes proved."""


def show_in_stages(report: Report, later: Later, show: Show, faults: Faults) -> Report:
    """Show ``report`` after each stage; what is shown last never says that more is to come."""
    try:
        if later.compiling:
            show(report, "compiling")
            counting = _Counting(report, show)
            report = _next(report, lambda: later.compile(counting), "compiling the kernels", faults)
        show(report, "")
        if report.proving:
            report = _next(report, later.prove, "proving the fixes", faults)
            show(report, "")
    except KeyboardInterrupt:
        show(settled(report, _INTERRUPTED), "")
        raise
    return report


def _next(report: Report, stage: Callable[[], Report], doing: str, faults: Faults) -> Report:
    """What ``stage`` makes of ``report``; where we fail, what there was, and one line."""
    try:
        return stage()
    except Exception as error:
        faults.tell(doing, error)
        return settled(report, f"pallas_magic failed, {type(error).__name__}")


class _Counting:
    """Shows how many kernels are compiled, now and then once it takes a while."""

    def __init__(self, report: Report, show: Show) -> None:
        self._report = report
        self._show = show
        self._said: tuple[int, int] | None = None
        self._after = time.monotonic() + _PROGRESS_SECONDS

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now < self._after or (done, total) == self._said or total == 1:
            return
        self._said = done, total
        self._after = now + _PROGRESS_SECONDS
        self._show(self._report, f"compiling {min(done + 1, total)} of {total}")


def settled(report: Report, why: str) -> Report:
    """``report`` with nothing left to do: ``why`` it was neither compiled nor proved."""
    kernels = tuple(_uncompiled(kernel, f"not compiled: {why}") for kernel in report.kernels)
    notes = report.notes
    if kernels != report.kernels:
        notes = (*notes, f"not compiled: {why}")
    report = dataclasses.replace(report, kernels=kernels, notes=notes)
    return unproved(report, f"not proved: {why}")


def unproved(report: Report, why: str) -> Report:
    """``report`` with nothing left to prove: what was not shown safe is not called so."""
    diagnostics = tuple(
        dataclasses.replace(diagnostic, fixes=tuple(_settled(fix, why) for fix in diagnostic.fixes))
        for diagnostic in report.diagnostics
    )
    return dataclasses.replace(report, diagnostics=diagnostics, proving=False)


def _settled(fix: Fix, why: str) -> Fix:
    if fix.proof is not None:
        return fix
    return dataclasses.replace(fix, applicability="display", proof=Proof(why=why))


def _uncompiled(kernel: KernelReport, why: str) -> KernelReport:
    stage = kernel.stages.get("compile")
    if stage is None or stage.why != COMPILING:
        return kernel
    stages = {**kernel.stages, "compile": StageResult("skipped", 0.0, why)}
    return dataclasses.replace(kernel, stages=stages)
