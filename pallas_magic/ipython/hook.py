"""Exceptions on their way to the screen: Pallas's are explained, all others pass untouched."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from pallas_magic.ipython.errors import PallasCheckError, stops_cell
from pallas_magic.ipython.session import Deferred, Frame, Session
from pallas_magic.ipython.tracebacks import cut_traceback, hidden_frames_shown, pallas_error

if TYPE_CHECKING:
    from pallas_magic.ipython.fault import Faults
    from pallas_magic.ipython.settings import PallasMagic


class TracebackHook:
    """A wrapper around one shell's ``showtraceback``, on the instance.

    ``set_custom_exc`` has one slot, loses parts of exception groups and breaks
    ``%pdb``; so the method is wrapped. A wrapper that others wrapped in turn
    cannot be taken out: it then only passes on.
    """

    def __init__(self, shell: Any, session: Session, faults: Faults, settings: PallasMagic) -> None:
        self._shell = shell
        self._session = session
        self._faults = faults
        self._settings = settings
        self._original = shell.showtraceback
        self._was_own = "showtraceback" in vars(shell)
        self._installed = self._showtraceback
        self._active = False
        self._explained: BaseException | None = None
        self._seen: BaseException | None = None

    def install(self) -> None:
        """Begin to look at exceptions."""
        self._active = True
        self._shell.showtraceback = self._installed

    def remove(self) -> None:
        """Leave the shell as it was, or pass everything on where others wrap us."""
        self._active = False
        self.forget()
        if vars(self._shell).get("showtraceback") is not self._installed:
            return
        if self._was_own:
            self._shell.showtraceback = self._original
        else:
            del self._shell.showtraceback

    def forget(self) -> None:
        """Let go of the last error, which keeps the frames it passed alive."""
        self._explained = self._seen = None

    def show_original(self, *args: Any, **options: Any) -> None:
        """Show an exception past this hook, through everyone else's."""
        active, self._active = self._active, False
        try:
            self._shell.showtraceback(*args, **options)
        finally:
            self._active = active

    def explain_unshown(self, frame: Frame, error: BaseException | None) -> None:
        """Explain what ended the cell of ``frame`` and was shown by someone else's handler."""
        if not self._active or error is self._seen or isinstance(error, PallasCheckError):
            return
        found = pallas_error(error)
        if found is not None and found is not self._explained:
            self._explain(frame, found)

    def _pass_on(self, *args: Any, **options: Any) -> None:
        self._original(*args, **options)

    def _showtraceback(self, *args: Any, **options: Any) -> None:
        if not self._active:
            return self._pass_on(*args, **options)
        exc_tuple = args[0] if args else options.get("exc_tuple")
        current = exc_tuple[1] if exc_tuple else sys.exc_info()[1]
        if current is None:
            return self._show_last(*args, **options)
        if isinstance(current, PallasCheckError):
            return self._pass_on(*args, **options)
        checked = self._session.checked_frame()
        if checked is not None:
            return self._under_check(checked, current, args, options)
        return self._plain(current, args, options)

    def _show_last(self, *args: Any, **options: Any) -> None:
        """``%tb``: an exception of Pallas's is shown whole, hidden frames too."""
        if pallas_error(getattr(sys, "last_value", None)) is None:
            return self._pass_on(*args, **options)
        with hidden_frames_shown(self._shell.InteractiveTB):
            return self._pass_on(*args, **options)

    def _under_check(
        self, frame: Frame, error: BaseException, args: tuple[Any, ...], options: dict[str, Any]
    ) -> None:
        if not stops_cell(error) and pallas_error(error) is None:
            frame.error = error
            return self._pass_on(*args, **options)
        if frame.deferred is not None:
            earlier = frame.deferred
            self._original(*earlier.arguments, **earlier.options)
        exc_tuple = (type(error), error, error.__traceback__)
        rest = {name: value for name, value in options.items() if name != "exc_tuple"}
        frame.deferred = Deferred(error, (exc_tuple, *args[1:]), rest)
        return None

    def _plain(self, error: BaseException, args: tuple[Any, ...], options: dict[str, Any]) -> None:
        frame = self._session.frame
        self._seen = error
        found = pallas_error(error) if frame is not None else None
        if frame is None or found is None or not self._explain(frame, found):
            return self._pass_on(*args, **options)
        lines: list[str] = []
        if found is error:
            with self._faults.kept("cutting a traceback"):
                lines = cut_traceback(self._shell, error)
        if not lines:
            return self._pass_on(*args, **options)
        error._render_traceback_ = lambda: lines  # type: ignore[attr-defined]
        try:
            return self._pass_on(*args, **options)
        finally:
            del error._render_traceback_  # type: ignore[attr-defined]

    def _explain(self, frame: Frame, error: BaseException) -> bool:
        """Whether the engine knows ``error``; once known, its card follows at the cell's end."""
        if error is self._explained:
            return True
        with self._faults.kept("explaining this error"):
            from pallas_magic.ipython.check import explained_by

            frame.explained = explained_by(error, self._session.library, self._settings.options())
            self._explained = error if frame.explained is not None else self._explained
            return frame.explained is not None
        return False
