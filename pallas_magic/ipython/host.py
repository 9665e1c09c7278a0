"""What the parts of the extension share: the shell and the ways to show things in it."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pallas_magic.ipython.card_pages import CardPages
from pallas_magic.ipython.display import Card, Display
from pallas_magic.ipython.fault import Faults
from pallas_magic.ipython.hook import TracebackHook
from pallas_magic.ipython.session import Frame, Session
from pallas_magic.ipython.settings import settings_of

if TYPE_CHECKING:
    from pallas_magic.ipython.file_fixes import FileFixes
    from pallas_magic.ipython.stages import Later
    from pallas_magic.report import Report

_LAST = ("last_type", "last_value", "last_traceback", "last_exc")


@dataclasses.dataclass(frozen=True)
class Shown:
    """The report that was shown last, and the key of the cell that it stands under."""

    report: Report
    here: str | None


class Host:
    """One IPython shell with the extension loaded."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.faults = Faults()
        self.session = Session(shell)
        self.pages = CardPages(shell)
        self.display = Display(shell, self.faults, self.pages)
        self.settings = settings_of(shell)
        self.hook = TracebackHook(shell, self.session, self.faults, self.settings)
        self.shown: Shown | None = None
        self._files: FileFixes | None = None

    @property
    def files(self) -> FileFixes:
        """What may be written to files; not imported before a report names one."""
        if self._files is None:
            from pallas_magic.ipython.file_fixes import FileFixes

            self._files = FileFixes()
        return self._files

    def show_in_stages(self, report: Report, later: Later, card: Card) -> Report:
        """Show ``report``, and again what becomes of it in ``later`` stages; the last of it."""
        from pallas_magic.ipython.stages import show_in_stages

        def show(found: Report, progress: str) -> None:
            self.shown = Shown(found, card.here)
            self.files.learn(found)
            card.show(found, progress)

        return show_in_stages(report, later, show, self.faults)

    def show_deferred(self, frame: Frame) -> None:
        """Show the exception that a check held back, as IPython would have."""
        deferred, frame.deferred = frame.deferred, None
        if deferred is not None and isinstance(deferred.error, Exception):
            self.hook.show_original(*deferred.arguments, **deferred.options)

    def end_quietly(self, result: Any) -> None:
        """Let the cell end as one that succeeded."""
        result.error_in_exec = None
        self.shell.last_execution_succeeded = True

    def end_failed(
        self, result: Any, error: BaseException, original: BaseException | None = None
    ) -> None:
        """Let the cell end with ``error``; ``original`` is what ``%tb`` and ``%debug`` see."""
        result.error_in_exec = error
        self.shell.last_execution_succeeded = False
        with _last_exception_kept(original), self._no_debugger():
            self.hook.show_original((type(error), error, None))
        if original is not None and self.shell.call_pdb:
            self.shell.debugger(force=True)

    @contextmanager
    def _no_debugger(self) -> Iterator[None]:
        before = self.shell.call_pdb
        self.shell.call_pdb = False
        try:
            yield
        finally:
            self.shell.call_pdb = before


@contextmanager
def _last_exception_kept(original: BaseException | None) -> Iterator[None]:
    """Leave ``sys.last_value`` and its like at ``original``, or at what they were."""
    before = {name: getattr(sys, name) for name in _LAST if hasattr(sys, name)}
    try:
        yield
    finally:
        if original is not None:
            traceback = original.__traceback__
            before = dict(zip(_LAST, (type(original), original, traceback, original), strict=True))
        for name in _LAST:
            if name in before:
                setattr(sys, name, before[name])
            elif hasattr(sys, name):
                delattr(sys, name)
