"""One line of source as segments: painted with marks, shortened round them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from pallas_magic.render.characters import shown_characters, width
from pallas_magic.render.model import Segment, Token

ELLIPSIS = "…"


@dataclasses.dataclass(frozen=True)
class Stretch:
    """Columns ``start`` to ``end`` (code points, exclusive) of a line under a mark."""

    start: int
    end: int
    mark: int


@dataclasses.dataclass(frozen=True)
class Painted:
    """A line ready to show, and the display column at which each stretch begins."""

    segments: tuple[Segment, ...]
    indents: tuple[int, ...]


def paint(tokens: Sequence[Token], stretches: Sequence[Stretch], columns: int) -> Painted:
    """The line of ``tokens`` in at most ``columns`` display columns, its stretches marked."""
    line = "".join(text for _, text in tokens)
    texts = list(shown_characters(line))
    names = [name for name, text in tokens for _ in text]
    marks = _marks(len(texts), stretches)
    widths = [width(text) for text in texts]
    segments: list[Segment] = []
    starts: dict[int, int] = {}
    column = done = 0
    for start, end in kept(widths, [(s.start, s.end) for s in stretches], columns):
        if start > done:
            segments.append(("", ELLIPSIS, None))
            column += 1
        for index in range(start, end):
            starts[index] = column
            column += widths[index]
            _append(segments, (names[index], texts[index], marks[index]))
        done = end
    starts[len(texts)] = column
    if done < len(texts):
        segments.append(("", ELLIPSIS, None))
    return Painted(tuple(segments), tuple(starts.get(s.start, 0) for s in stretches))


def shown_tokens(tokens: Sequence[Token]) -> tuple[Token, ...]:
    """``tokens`` of one line with their characters as they are shown."""
    texts = shown_characters("".join(text for _, text in tokens))
    return tuple((name, "".join(next(texts) for _ in text)) for name, text in tokens)


def _marks(length: int, stretches: Sequence[Stretch]) -> list[int | None]:
    # Small over large, so that a mark within a mark is seen; the first over its equals.
    marks: list[int | None] = [None] * length
    for stretch in sorted(stretches, key=lambda s: (s.start - s.end, -s.mark)):
        for index in range(stretch.start, min(stretch.end, length)):
            marks[index] = stretch.mark
    return marks


def kept(
    widths: Sequence[int], ranges: Sequence[tuple[int, int]], columns: int
) -> list[tuple[int, int]]:
    """The ranges of a line that are shown: all of it where it fits in ``columns``.

    Otherwise its head where that has all of ``ranges``. Otherwise each of them gets
    an equal share, with what stands round it, or its two ends where it is too wide.
    """
    if sum(widths) <= columns:
        return [(0, len(widths))]
    wanted = sorted(set(ranges)) or [(0, 0)]
    head = _grown(widths, 0, 0, columns - 1, before=False)
    if wanted[-1][1] <= head[1]:
        return [head]
    # An ellipsis may stand before and within each share and once at the end.
    share = max(4, (columns - 1) // len(wanted) - 2)
    found: list[tuple[int, int]] = []
    for start, end in wanted:
        if sum(widths[start:end]) <= share:
            found.append(_grown(widths, start, end, share))
            continue
        head = _grown(widths, start, start, share * 2 // 3, before=False)
        tail = _grown(widths, end, end, share // 3, after=False)
        found += [head, tail]
    return list(_merged(found))


def _grown(
    widths: Sequence[int],
    start: int,
    end: int,
    budget: int,
    before: bool = True,
    after: bool = True,
) -> tuple[int, int]:
    budget -= sum(widths[start:end])
    growing = True
    while growing:
        growing = False
        if before and start > 0 and widths[start - 1] <= budget:
            start, growing = start - 1, True
            budget -= widths[start]
        if after and end < len(widths) and widths[end] <= budget:
            budget -= widths[end]
            end, growing = end + 1, True
    return start, end


def _merged(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            continue
        merged.append((start, end))
    return merged


def _append(segments: list[Segment], piece: Segment) -> None:
    if segments and segments[-1][::2] == piece[::2] and segments[-1][1] != ELLIPSIS:
        segments[-1] = (piece[0], segments[-1][1] + piece[1], piece[2])
        return
    segments.append(piece)
