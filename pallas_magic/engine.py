"""``check()`` and the way through the house: capture, lower, rules, prove, Report.

The public entry is :func:`check`. Hosts that run the user's code themselves
open a :class:`Watch` around it; a host that only has an exception asks
:func:`explain`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from pallas_magic.compile_stage import Progress, install_note, why_not_compiled
from pallas_magic.findings import (
    Checked,
    Finding,
    check_call_or_say,
    compiled,
    findings,
    skipped,
    targets_for,
    wrong_family,
)
from pallas_magic.proofs import proved_report, unproved_report
from pallas_magic.report import Report
from pallas_magic.source.document import Library
from pallas_magic.stopping import StopCell
from pallas_magic.targets import FAMILIES, Family, Target, default_target, parse_targets

if TYPE_CHECKING:
    from pallas_magic.bridge.capture import Call, Recorder

NO_CALL = "no Pallas call was made"
INTERPRETED = "the values shown were made in interpret mode"


class CompilerMissing(RuntimeError):
    """The compile stage was asked for and there is no compiler to run."""


def check(
    fn: Callable[..., Any],
    *args: Any,
    target: str = "auto",
    compile: str | bool = "auto",  # noqa: A002 (the name is the contract's)
    verify: bool = True,
) -> Report:
    """Check every Pallas call that ``fn(*args)`` makes, without executing any.

    ``args`` are arrays or ``jax.ShapeDtypeStruct``s. ``target`` names one chip
    or several with commas; ``auto`` is this machine's accelerator, else v5e or
    h100 by the kernel's own back end. ``verify`` proves the fixes; without it
    they are ideas to read. Raises :class:`~pallas_magic.targets.UnknownTarget`
    for a target that is not known and :class:`CompilerMissing` for
    ``compile=True``; an error of ``fn``'s that no kernel is to blame for is
    raised as it is.
    """
    import jax

    from pallas_magic.bridge.lowering import whole_tracebacks

    watches = []
    wanted = None if target == "auto" else parse_targets(target)
    for one in wanted or (None,):
        watch = Watch("auto" if one is None else one.name, compile=compile, execute=False)
        watches.append(watch)
        error: Exception | None = None
        with watch, whole_tracebacks():
            try:
                jax.eval_shape(fn, *args)
            except Exception as raised:
                error = raised
        if error is not None and not watch.blame(error):
            raise error
    return _joined(watches, verify)


def _joined(watches: list[Watch], verify: bool) -> Report:
    first = watches[0]
    for other in watches[1:]:
        first.adopt(other)
    first.report()
    return first.prove() if verify else dataclasses.replace(first.compile(), proving=False)


def explain(error: BaseException, library: Library) -> Watch | None:
    """A closed watch on the kernel that ``error`` came from, ``None`` if it came from none."""
    watch = Watch(library=library)
    return watch if watch.blame(error) else None


def _require_compilers(wanted: tuple[Target, ...] | None) -> None:
    """Raise where a compiler of ``wanted`` is missing; any one will do where none is wanted."""
    families: list[Family] = list(dict.fromkeys(one.family for one in wanted or ()))
    missing = [family for family in families or FAMILIES if why_not_compiled(family)]
    if missing and (families or len(missing) == len(FAMILIES)):
        raise CompilerMissing("; ".join(install_note(family) for family in missing))


class Watch:
    """One check in progress: open it around the user's code, then ask for the report.

    ``run=False`` stops the user's code after its first Pallas call;
    ``execute=False`` is for code that is only traced, so that no value is ever
    asked for. Raises :class:`~pallas_magic.targets.UnknownTarget`.
    """

    def __init__(
        self,
        target: str = "auto",
        *,
        compile: str | bool = "auto",  # noqa: A002 (the name is the contract's)
        library: Library | None = None,
        run: bool = True,
        execute: bool = True,
    ) -> None:
        self._wanted = None if target == "auto" else parse_targets(target)
        self._compile = compile is not False
        if compile is True:
            _require_compilers(self._wanted)
        self.library = library if library is not None else Library()
        self.interpreted = False
        self.stop_reason = ""
        self._run = run
        self._execute = execute
        self._stack = ExitStack()
        self._recorder: Recorder | None = None
        self._blamed: list[Checked] = []
        self._adopted: list[Watch] = []
        self._parts: list[Checked] = []
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
        from pallas_magic.bridge.trace_errors import is_users_own, trace_failure, trace_family

        if self._execute and is_users_own(error):
            return False
        target = self._target_of_family(trace_family(error))
        untraced = trace_failure(error, target, self._recorder)
        if untraced is None:
            return False
        self._blamed.append(Checked((), ((untraced.call, untraced.failure),)))
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
        return self._report(self._parts)

    def compile(self, progress: Progress | None = None) -> Report:
        """The last report, its kernels compiled; ``progress`` is told how many of how many are."""
        if self._unproved is None:
            self.report()
        self._parts = compiled(self._parts, progress)
        return self._report(self._parts)

    def _report(self, checked: list[Checked]) -> Report:
        failures = [failure for part in checked for failure in part.failures]
        self._findings = findings(failures, self.library)
        notes = tuple(dict.fromkeys(note for part in checked for note in part.notes))
        kernels = tuple(kernel for part in checked for kernel in part.kernels)
        if not kernels and not self._findings:
            notes = (*notes, NO_CALL)
        if self.interpreted and self._findings:
            notes = (*notes, INTERPRETED)
        report = unproved_report(kernels, self._findings, self.library, notes)
        pending = any(part.pending is not None for part in checked)
        self._unproved = dataclasses.replace(report, proving=report.proving or pending)
        return self._unproved

    def prove(self) -> Report:
        """The last report, its kernels compiled and each fix proved or dropped."""
        unproved = self.compile()
        if not unproved.proving or self._recorder is None:
            return dataclasses.replace(unproved, proving=False)
        objects = self._recorder.objects
        return proved_report(unproved, self._findings, objects, self.library, self._compile)

    def _checked(self) -> list[Checked]:
        recorder = self._recorder
        calls = recorder.calls if recorder is not None else ()
        parts = [*self._blamed, *(part for call in calls for part in self._check(call))]
        return [*parts, *self._faults()]

    def _faults(self) -> list[Checked]:
        recorder = self._recorder
        faults = [*recorder.faults, *recorder.objects.faults] if recorder is not None else []
        return [
            Checked((), (), (f"pallas_magic could not read all of it: {type(f).__name__}: {f}",))
            for f in faults[:1]
        ]

    def _check(self, call: Call) -> list[Checked]:
        from pallas_magic.bridge.devices import machine_target

        assert self._recorder is not None
        parts = []
        for target in targets_for(call, self._wanted, machine_target()):
            if why := wrong_family(call, target):
                parts.append(Checked((skipped(call.name, target, why),), ()))
            else:
                objects = self._recorder.objects
                parts.append(check_call_or_say(call, target, objects, self._compile))
        return parts

    def _seen_target(self) -> Target:
        """The chip that traced code sees: the one asked for, a TPU if several kinds are."""
        wanted = self._wanted or (default_target("tpu"),)
        return next((target for target in wanted if target.family == "tpu"), wanted[0])

    def _target_of_family(self, family: Any) -> Target:
        wanted = [target for target in self._wanted or () if target.family == family]
        return wanted[0] if wanted else default_target(family)

    def _note_interpreted(self) -> None:
        self.interpreted = True

    def _after_call(self, call: Call) -> None:
        if not self._run:
            raise StopCell("stopped after the first Pallas call: checked, not executed")
