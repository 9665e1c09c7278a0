"""Stop work that takes too long, in the thread that does it."""

from __future__ import annotations

import ctypes
import sys
import threading
from contextlib import AbstractContextManager
from types import FrameType, TracebackType

AGAIN_SECONDS = 1.0


class TimeLimitReached(BaseException):
    """Raised inside the limited block; not an ``Exception``, so that nothing swallows it."""


def time_limit(seconds: float) -> AbstractContextManager[None]:
    """Raise :class:`TimeLimitReached` in the block after ``seconds``.

    It arrives between two Python instructions, so that a single long call into
    compiled code delays it. Where it arrives in a callback of the interpreter's
    own (a weak reference's, a finalizer) it is lost, and so it is raised again
    every :data:`AGAIN_SECONDS` until the block is left.
    """
    return _Limit(seconds)


class _Limit(AbstractContextManager[None]):
    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._thread = threading.get_ident()
        self._lock = threading.Lock()
        self._left = threading.Event()

    def __enter__(self) -> None:
        # It may also arrive while the block is being left. The function around
        # the block ends then, which tells as well that there is nothing to stop.
        limited = sys._getframe(1)
        watch = threading.Thread(target=self._watch, args=(limited,), daemon=True)
        watch.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with self._lock:
            self._left.set()
        _raise_in(self._thread, None)

    def _watch(self, limited: FrameType) -> None:
        wait = self._seconds
        while not self._left.wait(wait):
            with self._lock:
                if self._left.is_set() or not _runs(limited, self._thread):
                    return
                _raise_in(self._thread, TimeLimitReached)
            wait = AGAIN_SECONDS


def _runs(frame: FrameType, thread: int) -> bool:
    """Whether ``thread`` is still in ``frame`` or in something that it called."""
    current = sys._current_frames().get(thread)
    while current is not None:
        if current is frame:
            return True
        current = current.f_back
    return False


def _raise_in(thread: int, error: type[BaseException] | None) -> None:
    """Set or clear the exception that ``thread`` raises next."""
    argument = ctypes.py_object(error) if error is not None else None
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), argument)
