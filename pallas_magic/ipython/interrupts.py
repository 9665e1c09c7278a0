"""Ctrl-C while a check is reported or proved."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C raise ``KeyboardInterrupt`` here.

    While an ``async`` cell runs, ipykernel's handler only cancels the cell's
    task, which has ended by the time its check is reported.
    """
    before = signal.getsignal(signal.SIGINT)
    fixed = (signal.SIG_IGN, signal.default_int_handler, None)
    if threading.current_thread() is not threading.main_thread() or before in fixed:
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
