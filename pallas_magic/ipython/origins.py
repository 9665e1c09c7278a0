"""Where each executed line stands in the user's text, followed stage by stage through IPython.

IPython turns a cell into Python in stages: each cleans lines (drops leading
blank ones, strips common indentation and prompts) or replaces one magic by one
line. Running its own stages with the lines' origins carried along is exact
where guessing from the two texts is not.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pallas_magic.source.document import LineOrigin

LineTransform = Callable[[list[str]], list[str]]
# IPython itself gives up after this many replacements in one cell.
_MOST_MAGICS = 500


@dataclasses.dataclass(frozen=True)
class TracedLine:
    """A line, its newline included, and where it stands in the user's text."""

    text: str
    origin: LineOrigin | None


def trace_lines(text: str) -> list[TracedLine]:
    """The lines of the user's text as IPython splits them, before any stage."""
    whole = text if text.endswith("\n") else text + "\n"
    lines = whole.splitlines(keepends=True)
    if len(lines) != whole.count("\n"):
        # A form feed or the like splits a line for IPython but not for Python.
        return [TracedLine(line, None) for line in lines]
    return [TracedLine(line, LineOrigin(number)) for number, line in enumerate(lines, 1)]


def clean(lines: Sequence[TracedLine], transforms: Iterable[LineTransform]) -> list[TracedLine]:
    """``lines`` after stages that take and give whole lines."""
    traced = list(lines)
    for transform in transforms:
        traced = follow(traced, transform([line.text for line in traced]))
    return traced


def replace_magics(lines: Sequence[TracedLine], manager: Any) -> list[TracedLine]:
    """``lines`` after ``manager`` replaced each magic, one at a time."""
    traced = list(lines)
    for _ in range(_MOST_MAGICS):
        changed, after = manager.do_one_token_transform([line.text for line in traced])
        if not changed:
            break
        traced = follow(traced, after)
    return traced


def follow(before: Sequence[TracedLine], after: Sequence[str]) -> list[TracedLine]:
    """Carry the origins of ``before`` over to ``after``, ``None`` for a rewritten line.

    Of equally many lines each follows the one in its place. Otherwise the end
    is matched first: what follows a replaced magic is unchanged, while a line
    of the magic itself may look like one after it.
    """
    if len(before) == len(after):
        return [_trimmed(old, new) for old, new in zip(before, after, strict=True)]
    shorter = min(len(before), len(after))
    tail = _equal(reversed(before), reversed(after), shorter)
    head = _equal(before, after, shorter - tail)
    end = len(after) - tail
    return [
        *before[:head],
        *(TracedLine(text, None) for text in after[head:end]),
        *before[len(before) - tail :],
    ]


def _equal(before: Iterable[TracedLine], after: Iterable[str], most: int) -> int:
    count = 0
    for old, new in zip(before, after, strict=False):
        if count == most or old.text != new:
            break
        count += 1
    return count


def _trimmed(old: TracedLine, new: str) -> TracedLine:
    if old.origin is None or not old.text.endswith(new):
        return TracedLine(new, None)
    shift = old.origin.shift + len(old.text) - len(new)
    return TracedLine(new, LineOrigin(old.origin.line, shift))


def executed_origins(lines: Sequence[TracedLine], executed: str) -> tuple[LineOrigin | None, ...]:
    """One origin for each line of ``executed``, as documents want them."""
    wanted = executed.split("\n")
    traced = follow(lines, executed.splitlines(keepends=True))
    if len(traced) not in (len(wanted), len(wanted) - 1):
        return (None,) * len(wanted)
    origins = [line.origin for line in traced]
    return (*origins, *[None] * (len(wanted) - len(origins)))
