"""From Python frames and JAX tracebacks to places in the user's code."""

from __future__ import annotations

import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jax._src import source_info_util

from pallas_magic.source.document import Place

# JAX's own too: what it makes of text (a dataclass's `__init__`) has no file of its own.
_OWN_PACKAGES = (__name__.split(".", maxsplit=1)[0] + ".", "jax.")
_OWN_FOLDER = f"{Path(__file__).parent.parent}/"


def place_of(code: types.CodeType, last_instruction: int) -> Place | None:
    """The expression that ``code`` was evaluating, ``None`` without column data."""
    positions = list(code.co_positions())
    index = last_instruction // 2
    if not 0 <= index < len(positions):
        return None
    line, end_line, col, end_col = positions[index]
    if line is None or end_line is None or col is None or end_col is None:
        return None
    return Place(code.co_filename, line, col, end_line, end_col, code.co_qualname)


def definition_of(code: types.CodeType) -> Place:
    """The first line of a function, as far as its code object tells it."""
    line = code.co_firstlineno
    return Place(code.co_filename, line, 0, line, 0, code.co_qualname)


def is_user_frame(frame: types.FrameType) -> bool:
    """Whether ``frame`` runs neither JAX's, the standard library's nor our own code."""
    own = str(frame.f_globals.get("__name__", "")).startswith(_OWN_PACKAGES)
    return not own and source_info_util.is_user_filename(frame.f_code.co_filename)


def user_frames(frame: types.FrameType | None) -> Iterator[types.FrameType]:
    """The user's frames from ``frame`` outwards, innermost first."""
    while frame is not None:
        if is_user_frame(frame):
            yield frame
        frame = frame.f_back


def places_around(frame: types.FrameType | None) -> tuple[Place, ...]:
    """Where ``frame`` and the user's frames right around it are, innermost first."""
    places = []
    while frame is not None and is_user_frame(frame):
        place = place_of(frame.f_code, frame.f_lasti)
        if place is None:
            break
        places.append(place)
        frame = frame.f_back
    return tuple(places)


def traceback_places(traceback: Any) -> tuple[Place, ...]:
    """The user's places in an equation's traceback, outermost first."""
    places = [
        Place(
            frame.file_name,
            frame.start_line,
            frame.start_column,
            frame.end_line,
            frame.end_column,
            frame.function_name,
        )
        for frame in source_info_util.user_frames(traceback)
        # What is bound inside a kernel was bound through our recorder.
        if frame.start_line > 0 and not frame.file_name.startswith(_OWN_FOLDER)
    ]
    return tuple(reversed(places))


def public_name(module: str, function: str) -> str:
    """The dotted name of a function that raised, without what JAX calls private.

    Rules tell errors apart by it; where JAX keeps the module is not theirs to know.
    """
    return f"{module.replace('jax._src.', 'jax.', 1)}.{function}"


def exception_frames(error: BaseException) -> Iterator[types.FrameType]:
    """The frames an exception passed through, outermost first, causes not included."""
    for step in exception_steps(error):
        yield step.tb_frame


def exception_steps(error: BaseException) -> Iterator[types.TracebackType]:
    """The steps of an exception's traceback, outermost first, causes not included."""
    step = error.__traceback__
    while step is not None:
        yield step
        step = step.tb_next


def error_place(error: BaseException) -> Place | None:
    """The innermost expression of the user's that ``error`` passed."""
    steps = [step for step in exception_steps(error) if is_user_frame(step.tb_frame)]
    return place_of(steps[-1].tb_frame.f_code, steps[-1].tb_lasti) if steps else None
