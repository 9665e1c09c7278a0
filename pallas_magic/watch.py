"""A check in progress: what it saw, and the report that is made of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Self

from pallas_magic.blame import Blamed, blamed_for
from pallas_magic.compile_stage import Progress, warm_compiler
from pallas_magic.doubts import with_doubts
from pallas_magic.findings import (
    Checked,
    Finding,
    check_call_or_say,
    compiled,
    findings,
    skipped,
    targets_for,
    unpartitioned,
    wrong_family,
)
from pallas_magic.ignores import Ignored, ignored_by, ignored_notes
from pallas_magic.proofs import proved_report, unproved_report
from pallas_magic.report import Report
from pallas_magic.source.document import Library
from pallas_magic.stopping import StopCell
from pallas_magic.targets import Target, default_target, parse_targets

if TYPE_CHECKING:
    from pallas_magic.bridge.capture import Call, Recorder
    from pallas_magic.bridge.objects import ObjectRecorder

NO_CALL = "no Pallas call was made"
INTERPRETED = "the values shown were made in interpret mode"


class Watch:
    """One check in progress: open it around the user's code, then ask for the report.

    ``run=False`` stops the user's code after its first Pallas call;
    ``execute=False`` is for code that is only traced, so that no value is ever
    asked for. ``ignored`` are codes or names of rules whose diagnostics are left
    out. ``devices`` is how many the program's arrays are spread over. Raises
    :class:`~pallas_magic.targets.UnknownTarget`.
    """

    def __init__(
        self,
        target: str = "auto",
        *,
        compile: str | bool = "auto",  # noqa: A002 (the name is the contract's)
        library: Library | None = None,
        run: bool = True,
        execute: bool = True,
        ignored: Collection[str] = (),
        devices: int = 1,
    ) -> None:
        self._wanted = None if target == "auto" else parse_targets(target)
        self._compile = compile is not False
        self.library = library if library is not None else Library()
        self.interpreted = False
        self.stop_reason = ""
        self._run = run
        self._execute = execute
        self._ignored = frozenset(ignored)
        self._devices = devices
        self._stack = ExitStack()
        self._recorder: Recorder | None = None
        self._blamed: list[Blamed] = []
        self._adopted: list[Watch] = []
        self._parts: list[Checked] = []
        self._objects_by_call: dict[int, ObjectRecorder] = {}
        self._lowered_calls: list[tuple[Call, Target]] = []
        self._warmed = False
        self._findings: tuple[Finding, ...] = ()
        self._unproved: Report | None = None

    def __enter__(self) -> Self:
        from pallas_magic.bridge.capture import Recorder
        from pallas_magic.bridge.devices import as_if_on
        from pallas_magic.bridge.gpu_values import interpretable_params
        from pallas_magic.bridge.values import interpreted_where_needed

        rewrite = interpretable_params if self._execute else None
        self._recorder = Recorder(on_call=self._after_call, rewrite=rewrite)
        always = self._wanted is not None and not self._execute
        with ExitStack() as stack:
            stack.enter_context(self._recorder.installed())
            stack.enter_context(as_if_on(self._seen_target(), always))
            if self._execute:
                stack.enter_context(interpreted_where_needed(self._note_interpreted))
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        from pallas_magic.bridge.gpu_values import why_stopped

        if isinstance(error, StopCell):
            self.stop_reason = str(error)
        elif error is not None and self._execute:
            self.stop_reason = why_stopped(error)
        self._stack.close()

    @property
    def calls(self) -> int:
        """How many different Pallas calls were seen so far."""
        return len(self._recorder.calls) if self._recorder is not None else 0

    def blame(self, error: BaseException) -> bool:
        """Whether ``error`` came from a kernel; if so the report tells it.

        What the user's own line raised while code runs is theirs to see as it is.
        """
        found = blamed_for(error, self._recorder, self._wanted, self._execute, self.library)
        if found is None:
            return False
        self._blamed.append(found)
        return True

    def adopt(self, other: Watch) -> None:
        """Report what ``other`` saw as well: the same code, traced for another target."""
        self._adopted.append(other)

    def report(self, error: BaseException | None = None) -> Report:
        """Lower every call, ask the rules, and report.

        What is left, to compile and to prove, takes longer; ``proving`` says that there is some.
        """
        if error is not None:
            self.blame(error)
        self._parts = [part for watch in (self, *self._adopted) for part in watch._checked()]
        for watch in self._adopted:
            self._objects_by_call |= watch._objects_by_call
            self._lowered_calls += watch._lowered_calls
        return self._report(self._parts)

    @property
    def compiling(self) -> bool:
        """Whether the last report has kernels that are still to be compiled."""
        return any(part.pending is not None for part in self._parts)

    def compile(self, progress: Progress | None = None) -> Report:
        """The last report, its kernels compiled; ``progress`` is told how many of how many are."""
        unproved = self._unproved if self._unproved is not None else self.report()
        if not self.compiling:
            return unproved
        self._parts = compiled(self._parts, progress)
        return self._report(self._parts)

    def _report(self, checked: list[Checked]) -> Report:
        failures = [failure for part in checked for failure in part.failures]
        self._findings, ignored = self._without_ignored(findings(failures, self.library))
        notes = tuple(dict.fromkeys(note for part in checked for note in part.notes))
        notes = (*notes, *ignored_notes(ignored))
        kernels = tuple(kernel for part in checked for kernel in part.kernels)
        if not kernels and not self._findings and not ignored:
            notes = (*notes, NO_CALL)
        if self.interpreted and self._findings:
            notes = (*notes, INTERPRETED)
        report = unproved_report(kernels, self._findings, self.library, notes)
        proving = report.proving or any(part.pending is not None for part in checked)
        self._unproved = dataclasses.replace(report, proving=proving)
        return self._unproved

    def _without_ignored(
        self, found: Iterable[Finding]
    ) -> tuple[tuple[Finding, ...], list[Ignored]]:
        kept, ignored = [], []
        sources = {key: document.source for key, document in self.library.items()}
        for finding in found:
            if by := ignored_by(finding.diagnostic, sources, self._ignored):
                ignored.append(Ignored(finding.diagnostic, by))
            else:
                kept.append(finding)
        return tuple(kept), ignored

    def prove(self) -> Report:
        """The last report, its kernels compiled and each fix proved or dropped."""
        unproved = self.compile()
        objects = self._objects()
        if not unproved.proving or objects is None:
            return dataclasses.replace(unproved, proving=False)

        def objects_of(call: Call) -> ObjectRecorder:
            return self._objects_by_call.get(id(call), objects)

        return proved_report(
            unproved,
            self._findings,
            objects_of,
            self.library,
            self._compile,
            self._lowered_calls,
        )

    def _objects(self) -> ObjectRecorder | None:
        """What knows where specs were built: the recorder's, else what was reconstructed."""
        if self._recorder is not None:
            return self._recorder.objects
        return next((blamed.objects for blamed in self._blamed if blamed.objects), None)

    def _checked(self) -> list[Checked]:
        recorder = self._recorder
        calls = recorder.calls if recorder is not None else ()
        told = [part for blamed in self._blamed for part in blamed.told]
        again = [call for blamed in self._blamed for call in blamed.calls]
        # What ended the code was traced last.
        return [
            *(part for call in (*calls, *again) for part in self._check(call)),
            *told,
            *self._faults(),
        ]

    def _faults(self) -> list[Checked]:
        recorder = self._recorder
        faults = [*recorder.faults, *recorder.objects.faults] if recorder is not None else []
        return [
            Checked((), (), (f"pallas_magic could not read all of it: {type(f).__name__}: {f}",))
            for f in faults[:1]
        ]

    def _check(self, call: Call) -> list[Checked]:
        from pallas_magic.bridge.devices import machine_target

        objects = self._objects()
        assert objects is not None
        self._objects_by_call[id(call)] = objects
        parts = []
        for target in targets_for(call, self._wanted_of(call), machine_target()):
            if why := wrong_family(call, target):
                parts.append(Checked((skipped(call.name, target, why),), ()))
            else:
                self._lowered_calls.append((call, target))
                checked = check_call_or_say(call, target, objects, self._compile)
                parts.append(with_doubts(checked, call, target, objects))
                if self._devices > 1:
                    parts += unpartitioned(call, target, objects)
        return parts

    def _wanted_of(self, call: Call) -> tuple[Target, ...] | None:
        """The targets asked for; a call that did fail is told for its own kind of chip."""
        from pallas_magic.bridge.lowering import call_family

        if self._recorder is not None or self._wanted is None:
            return self._wanted
        fitting = tuple(one for one in self._wanted if one.family == call_family(call))
        return fitting or None

    def _seen_target(self) -> Target:
        """The chip that traced code sees: the one asked for, a TPU if several kinds are."""
        wanted = self._wanted or (default_target("tpu"),)
        return next((target for target in wanted if target.family == "tpu"), wanted[0])

    def _note_interpreted(self) -> None:
        self.interpreted = True

    def _after_call(self, call: Call) -> None:
        if self._compile and not self._warmed:
            self._warmed = True
            warm_compiler(call, self._wanted)
        if not self._run:
            raise StopCell("stopped after the first Pallas call: checked, not executed")
