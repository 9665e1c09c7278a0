"""Stop work that takes too long, in the thread that does it."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class TimeLimitReached(BaseException):
    """Raised inside the limited block; not an ``Exception``, so that nothing swallows it."""


AGAIN_SECONDS = 1.0


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise :class:`TimeLimitReached` in the block after ``seconds``.

    It arrives between two Python instructions, so that a single long call into
    compiled code delays it. Where it arrives in a callback of the interpreter's
    own (a weak reference's, a finalizer) it is lost, and so it is raised again
    every :data:`AGAIN_SECONDS` until the block is left.
    """
    thread = threading.get_ident()
    lock = threading.Lock()
    left = threading.Event()

    def watch() -> None:
        wait = seconds
        while not left.wait(wait):
            with lock:
                if not left.is_set():
                    _raise_in(thread, TimeLimitReached)
            wait = AGAIN_SECONDS

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        with lock:
            left.set()
        _raise_in(thread, None)


def _raise_in(thread: int, error: type[BaseException] | None) -> None:
    """Set or clear the exception that ``thread`` raises next."""
    argument = ctypes.py_object(error) if error is not None else None
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), argument)
