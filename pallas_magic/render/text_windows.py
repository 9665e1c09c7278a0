"""Windows as text: code with its marks underlined and labelled beneath."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence

from pallas_magic.render.ansi import Paint
from pallas_magic.render.characters import width, wrap
from pallas_magic.render.model import Line, Mark, MarkRole

_NARROWEST = 16
_STROKES: dict[MarkRole, str] = {"primary": "^", "effect": "^", "cause": "-"}


@dataclasses.dataclass(frozen=True)
class Row:
    """Pieces of one row: where each begins, its text and its colour."""

    pieces: tuple[tuple[int, str, str], ...]

    def drawn(self, paint: Paint) -> str:
        drawn, column = "", 0
        for start, text, colour in sorted(self.pieces):
            drawn += " " * (start - column) + (paint(text, colour) if colour else text)
            column = start + width(text)
        return drawn


@dataclasses.dataclass(frozen=True)
class Label:
    """A label that is to be written: its column, text and colour."""

    column: int
    text: str
    colour: str


def window_rows(
    lines: Sequence[Line], marks: Sequence[Mark], severity: str, columns: int
) -> Iterator[tuple[str, Row]]:
    """The rows of a window, each with what stands in the gutter: a number, "⋮" or ""."""
    colours = {number: _colour(mark, severity) for number, mark in enumerate(marks)}
    for index, line in enumerate(lines):
        if line.kind == "gap":
            yield "⋮", Row(())
        if line.kind != "code":
            continue
        code = "".join(text for _, text, _ in line.segments)
        yield str(line.number), Row(((0, code.rstrip(), ""),))
        labels = [
            Label(label.indent, marks[label.mark].text, colours[label.mark])
            for label in _labels_after(lines, index)
            if label.mark is not None
        ]
        strokes = list(_strokes(line, marks, colours))
        known = {start for start, _, _ in strokes}
        strokes += [(at.column, "^", at.colour) for at in labels if at.column not in known]
        if strokes:
            for row in _label_rows(sorted(set(strokes)), labels, columns):
                yield "", row


def _colour(mark: Mark, severity: str) -> str:
    return "cause" if mark.role == "cause" else severity


def _labels_after(lines: Sequence[Line], index: int) -> Iterator[Line]:
    for line in lines[index + 1 :]:
        if line.kind != "label":
            return
        yield line


def _strokes(
    line: Line, marks: Sequence[Mark], colours: dict[int, str]
) -> Iterator[tuple[int, str, str]]:
    column = 0
    for mark, group in itertools.groupby(line.segments, key=lambda segment: segment[2]):
        columns = sum(width(text) for _, text, _ in group)
        if mark is not None:
            yield column, _STROKES[marks[mark].role] * columns, colours[mark]
        column += columns


def _label_rows(
    strokes: Sequence[tuple[int, str, str]], labels: Sequence[Label], columns: int
) -> Iterator[Row]:
    """The underlines and their labels, ``labels`` being sorted from right to left.

    The rightmost label stands behind its underline where there is room, the
    others hang beneath theirs.
    """
    end = max(start + width(text) for start, text, _ in strokes)
    last = strokes[-1][0]
    pending = list(labels)
    row = list(strokes)
    if pending and pending[0].column >= last and end + 1 + width(pending[0].text) <= columns:
        first = pending.pop(0)
        row.append((end + 1, first.text, first.colour))
    yield Row(tuple(row))
    if pending and not (len(labels) == 1 or (len(pending) == 1 and pending[0].column == last)):
        yield Row(_bars(pending))
    while pending:
        label = pending.pop(0)
        yield from _hanging(label, _bars(pending), columns)


def _bars(labels: Sequence[Label]) -> tuple[tuple[int, str, str], ...]:
    return tuple({label.column: (label.column, "|", label.colour) for label in labels}.values())


def _hanging(label: Label, bars: tuple[tuple[int, str, str], ...], columns: int) -> Iterator[Row]:
    bars = tuple(bar for bar in bars if bar[0] < label.column)
    leftmost = max((column + 2 for column, _, _ in bars), default=0)
    if columns - leftmost < _NARROWEST:
        leftmost, bars = 0, ()
    start = max(leftmost, min(label.column, columns - width(label.text)))
    room = max(1, columns - start)
    for text in wrap(label.text, room, room):
        yield Row((*bars, (start, text, label.colour)))
