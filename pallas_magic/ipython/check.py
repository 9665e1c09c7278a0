"""A check that is open while user code runs, and what came out of it."""

from __future__ import annotations

import dataclasses
import sys
from typing import TYPE_CHECKING

from pallas_magic.ipython.late import PALLAS, AfterImport
from pallas_magic.ipython.stages import unproved
from pallas_magic.ipython.tracebacks import pallas_error
from pallas_magic.report import Report

if TYPE_CHECKING:
    from pallas_magic.compile_stage import Progress
    from pallas_magic.engine import Watch
    from pallas_magic.ipython.fault import Faults
    from pallas_magic.ipython.options import CheckOptions
    from pallas_magic.source.document import Library

_NOT_PROVED = "not proved: `--no-verify`"


class Check:
    """One use of ``%%pallas_check``: its options and the watch over JAX while it is open.

    ``working`` is false where it could not be opened: then the cell is a plain
    one. ``explained`` says, once there is a report, that it tells the error which
    ended the user's code.
    """

    def __init__(self, options: CheckOptions, library: Library, faults: Faults) -> None:
        from pallas_magic.engine import Watch

        self.options = options
        self.watch: Watch = Watch(
            target=options.target,
            compile=options.compile,
            library=library,
            run=options.run,
            ignored=options.ignored,
        )
        self.explained = False
        self._faults = faults
        self._open = False
        self.working = True
        self._waiting = AfterImport(PALLAS, self._enter)
        if PALLAS in sys.modules:
            self._enter()
        else:
            self._waiting.install()

    def _enter(self) -> None:
        self.working = False
        with self._faults.kept("starting the check"):
            self.watch.__enter__()
            self._open = self.working = True

    def close(self, error: BaseException | None = None) -> None:
        """Take the watch off JAX; ``error`` is what ended the user's code. May be called again."""
        self._waiting.remove()
        if self._open:
            self._open = False
            traceback = error.__traceback__ if error is not None else None
            self.watch.__exit__(type(error) if error is not None else None, error, traceback)

    def report(self, error: BaseException | None) -> Report:
        """What the check found, its fixes not yet proved.

        ``error`` ended the user's code; it is in the report if it is Pallas's.
        """
        own = isinstance(error, Exception) and pallas_error(error) is error
        blamed = error is not None and own and self.watch.blame(error)
        report = self._with_reason(self.watch.report())
        # An error whose diagnostic is ignored is shown as it is.
        self.explained = blamed and not report.ok
        return self._as_wanted(report)

    @property
    def compiling(self) -> bool:
        """Whether the last report has kernels that are still to be compiled."""
        return self.watch.compiling

    def compile(self, progress: Progress) -> Report:
        """The report with its kernels compiled; can take a minute."""
        return self._as_wanted(self._with_reason(self.watch.compile(progress)))

    def prove(self) -> Report:
        """The report with its fixes proved; can take seconds."""
        return self._with_reason(self.watch.prove())

    def _as_wanted(self, report: Report) -> Report:
        if self.options.verify:
            return report
        return dataclasses.replace(unproved(report, _NOT_PROVED), proving=self.compiling)

    def _with_reason(self, report: Report) -> Report:
        """``report`` that says why the cell was stopped, if it was."""
        reason = self.watch.stop_reason
        if not reason or reason in report.notes:
            return report
        return dataclasses.replace(report, notes=(*report.notes, reason))


def start_check(options: CheckOptions, library: Library, faults: Faults) -> Check | None:
    """An open check, ``None`` where it could not be opened.

    Raises ``UsageError`` where the compilers that were asked for are missing.
    """
    if options.compile is True:
        _need_compilers(options.target)
    with faults.kept("starting the check"):
        _prepare()
        check = Check(options, library, faults)
        return check if check.working else None
    return None


def explained_by(error: BaseException, library: Library, options: CheckOptions) -> Watch | None:
    """What tells the kernel that ``error`` came from, ``None`` if it came from none."""
    from pallas_magic.engine import explain

    _prepare()
    return explain(
        error, library, target=options.target, compile=options.compile, ignored=options.ignored
    )


def _prepare() -> None:
    """What comes before the first check: the magic's name, and a word on a JAX that is too new."""
    from pallas_magic.ipython.compilers import name_the_magic
    from pallas_magic.releases import say_once

    name_the_magic()
    if untested := say_once():
        print(f"pallas_magic: {untested}.", file=sys.stderr)


def _need_compilers(target: str) -> None:
    from IPython.core.error import UsageError

    from pallas_magic.engine import CompilerMissing, require_compilers
    from pallas_magic.ipython.compilers import name_the_magic

    name_the_magic()
    try:
        require_compilers(target)
    except CompilerMissing as missing:
        raise UsageError(
            f"pallas_check: {missing}. `PallasMagic.compile` is True. Nothing was run."
        ) from None
