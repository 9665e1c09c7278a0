"""A line in a terminal that says what is going on, and goes when it is done."""

from __future__ import annotations

import sys
import threading

_SECONDS = 0.5
_ERASED = "\r\x1b[K"


class WaitingLine:
    """Shown on a terminal only, and only once something takes a while."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._text = ""
        self._shown = False

    def say(self, text: str) -> None:
        """Say ``text`` from now on, or as soon as half a second has passed."""
        if not sys.stdout.isatty():
            return
        with self._lock:
            self._text = text
            if self._shown:
                self._write(f"{_ERASED}{text}…")
                return
            if self._timer is None:
                self._timer = threading.Timer(_SECONDS, self._show)
                self._timer.daemon = True
                self._timer.start()

    def end(self) -> None:
        """Leave nothing of it."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            self._timer, self._text = None, ""
            if self._shown:
                self._write(_ERASED)
            self._shown = False

    def _show(self) -> None:
        with self._lock:
            if self._text:
                self._write(f"{self._text}…")
                self._shown = True

    def _write(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()
