"""Trace a user's kernel function once more without the user noticing."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any


class _Muted:
    """A stream that drops what this thread writes and passes on what others write."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._thread = threading.get_ident()

    def write(self, text: str) -> int:
        if threading.get_ident() == self._thread:
            return len(text)
        return int(self._stream.write(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def quietly() -> Iterator[None]:
    """Drop what this thread prints and warns while the context is open."""
    with (
        warnings.catch_warnings(),
        redirect_stdout(_Muted(sys.stdout)),
        redirect_stderr(_Muted(sys.stderr)),
    ):
        warnings.simplefilter("ignore")
        yield
