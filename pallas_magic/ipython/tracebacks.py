"""Which exceptions are Pallas's, and their tracebacks cut to the user's frames."""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from pallas_magic.source.absent import absent_from

_PALLAS = re.compile(
    r"[\\/]jax[\\/](_src[\\/](pallas|mosaic|tpu_custom_call)|experimental[\\/]mosaic)"
)
# Where an error of JAX's own is raised last; anything else is the user's own mistake.
_RAISERS = re.compile(r"[\\/](jax|jaxlib|numpy|ml_dtypes|absl)[\\/]")
# A compiler raises them after Pallas's frames are gone; what they say tells whose they are.
_OF_COMPILERS = ("JaxRuntimeError", "XlaRuntimeError")
_OF_A_KERNEL = re.compile(r"Mosaic|memory space [vs]mem\b|space=[vs]mem\b|smem_bytes=\d")
_DEEPEST_CHAIN = 20
_INTERNAL = ("jax", "jaxlib", "IPython", "ipykernel", "pallas_magic")
WHOLE = "`%tb` prints the whole traceback."


def pallas_error(error: BaseException | None) -> BaseException | None:
    """``error``, or the exception in its chain or group, that Pallas or Mosaic raised.

    One that asks Pallas for what JAX does not have is Pallas's only as the last:
    code that tries one name and then another goes on from it.
    """
    found = next((one for one in _chain(error) if _raised_by_pallas(one)), None)
    if found is None and error is not None and absent_from(error) is not None:
        return error
    return found


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    waiting = [error]
    seen: set[int] = set()
    while waiting and len(seen) < _DEEPEST_CHAIN:
        current = waiting.pop(0)
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        waiting.append(current.__cause__)
        if not current.__suppress_context__:
            waiting.append(current.__context__)
        parts = getattr(current, "exceptions", ())
        waiting.extend(part for part in parts if isinstance(part, BaseException))


def _raised_by_pallas(error: BaseException) -> bool:
    if not isinstance(error, Exception):
        return False
    module = type(error).__module__.split(".")
    if module[0] == "jax" and "pallas" in module:
        return True
    if type(error).__name__ in _OF_COMPILERS:
        return _OF_A_KERNEL.search(str(error)) is not None
    seen = False
    last = ""
    traceback = error.__traceback__
    while traceback is not None:
        last = traceback.tb_frame.f_code.co_filename
        seen = seen or _is_pallas(last)
        traceback = traceback.tb_next
    return seen and _RAISERS.search(last) is not None


@functools.lru_cache(maxsize=1024)
def _is_pallas(filename: str) -> bool:
    return _PALLAS.search(filename) is not None


def cut_traceback(shell: Any, error: BaseException) -> list[str]:
    """``error``'s traceback as IPython would show it, with only the user's frames.

    Empty where there is nothing to cut.
    """
    kept = _user_frames(error.__traceback__)
    formatter = shell.InteractiveTB
    if kept is None or formatter.mode == "Minimal":
        return []
    with _without_jax_cause(error), _kept_traceback(formatter):
        lines = formatter.structured_traceback(type(error), error, kept, tb_offset=0)
    return [*lines, f"\nCut to your own lines; {WHOLE}"]


def _user_frames(traceback: TracebackType | None) -> TracebackType | None:
    frames = []
    internal = _internal_folders()
    while traceback is not None:
        code = traceback.tb_frame.f_code
        # JAX makes frames of what a compiler says; one is named for the operation itself.
        made = '"' in code.co_name or _is_generated(traceback.tb_frame)
        if not made and not code.co_filename.startswith(internal):
            frames.append(traceback)
        traceback = traceback.tb_next
    kept: TracebackType | None = None
    for frame in reversed(frames):
        kept = TracebackType(kept, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return kept


def _is_generated(frame: FrameType) -> bool:
    """Whether a dataclass of JAX wrote the function, which is in no file."""
    module = str(frame.f_globals.get("__name__", ""))
    return frame.f_code.co_filename == "<string>" and module.partition(".")[0] in _INTERNAL


def _internal_folders() -> tuple[str, ...]:
    files = (_file(name) for name in _INTERNAL)
    folders = (f"{Path(file).parent}{os.sep}" for file in files if file)
    standard = [file for file in (_file("contextlib"), _file("functools")) if file]
    return (*folders, *standard)


def _file(name: str) -> str | None:
    return getattr(sys.modules.get(name), "__file__", None)


@contextmanager
def _without_jax_cause(error: BaseException) -> Iterator[None]:
    """JAX chains a second traceback to its errors; the card has what it tells."""
    cause, context, suppressed = error.__cause__, error.__context__, error.__suppress_context__
    if cause is not None and type(cause).__module__.startswith("jax"):
        error.__cause__ = None
        error.__suppress_context__ = True
    try:
        yield
    finally:
        error.__cause__, error.__context__ = cause, context
        error.__suppress_context__ = suppressed


@contextmanager
def _kept_traceback(formatter: Any) -> Iterator[None]:
    """IPython's formatter remembers what it formatted last, for the debugger."""
    before = getattr(formatter, "tb", None)
    try:
        yield
    finally:
        formatter.tb = before


@contextmanager
def hidden_frames_shown(formatter: Any) -> Iterator[None]:
    """Let IPython print the frames that JAX marked as hidden too."""
    before = getattr(formatter, "skip_hidden", None)
    if before is not None:
        formatter.skip_hidden = False
    try:
        yield
    finally:
        if before is not None:
            formatter.skip_hidden = before
