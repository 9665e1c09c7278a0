"""Stop work that takes too long, in the thread that does it."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class TimeLimitReached(BaseException):
    """Raised inside the limited block; not an ``Exception``, so that nothing swallows it."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise :class:`TimeLimitReached` in the block after ``seconds``.

    It arrives between two Python instructions, so that a single long call into
    compiled code delays it.
    """
    thread = threading.get_ident()
    lock = threading.Lock()
    open_ = True

    def stop() -> None:
        with lock:
            if open_:
                _raise_in(thread, TimeLimitReached)

    timer = threading.Timer(seconds, stop)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        with lock:
            open_ = False
        timer.cancel()
        _raise_in(thread, None)


def _raise_in(thread: int, error: type[BaseException] | None) -> None:
    """Set or clear the exception that ``thread`` raises next."""
    argument = ctypes.py_object(error) if error is not None else None
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), argument)
