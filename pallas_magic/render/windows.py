"""The windows of a diagnostic: a few lines of each source round its marks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from pallas_magic.render.highlight import highlighted
from pallas_magic.render.lines import Stretch, paint
from pallas_magic.render.model import Line, Mark, MarkRole, Window
from pallas_magic.report import Source, Span

CONTEXT = 1
_WHOLE = 6
"""Lines of a mark that are all shown; of a longer one its first and last two."""
_DEFINITION = re.compile(r"^([ \t]*)(?:async[ \t]+)?def\b")


def windows(
    spans: Sequence[Span], marks: Sequence[Mark], sources: Mapping[str, Source], columns: int
) -> tuple[Window, ...]:
    """One window a source in the order of the marks; ``spans[i]`` is that of ``marks[i]``."""
    found = []
    for key in dict.fromkeys(span.source for span in spans):
        if key not in sources:
            continue
        here = {number: span for number, span in enumerate(spans) if span.source == key}
        lines = _window_lines(sources[key].text, here, marks, columns)
        found.append(Window(key, sources[key].label, tuple(lines)))
    return tuple(found)


def _window_lines(
    text: str, spans: Mapping[int, Span], marks: Sequence[Mark], columns: int
) -> Iterable[Line]:
    lines = text.split("\n")
    spans = {number: span for number, span in spans.items() if 1 <= span.start_line <= len(lines)}
    roles: dict[int, MarkRole] = {number: marks[number].role for number in spans}
    last = 0
    for number in sorted(_numbers(lines, spans, roles)):
        if last and number > last + 1:
            yield Line("gap")
        last = number
        stretches = [
            stretch
            for mark, span in spans.items()
            if (stretch := _stretch(lines[number - 1], number, mark, span))
        ]
        painted = paint(highlighted(text)[number - 1], stretches, columns)
        yield Line("code", number, painted.segments)
        labels = [
            (indent, stretch.mark)
            for stretch, indent in zip(stretches, painted.indents, strict=True)
            if number == min(spans[stretch.mark].end_line, len(lines)) and marks[stretch.mark].text
        ]
        # From right to left: nothing then stands between a label and its mark.
        for indent, mark in sorted(labels, key=lambda label: (-label[0], label[1])):
            yield Line("label", None, (("", marks[mark].text, mark),), mark, indent)


def _numbers(
    lines: Sequence[str], spans: Mapping[int, Span], roles: Mapping[int, MarkRole]
) -> set[int]:
    wanted: set[int] = set()
    for mark, span in spans.items():
        first, last = span.start_line, min(span.end_line, len(lines))
        covered = list(range(first, last + 1))
        if len(covered) > _WHOLE:
            covered = covered[:2] + covered[-2:]
        wanted.update(covered)
        for near in (*range(first - CONTEXT, first), *range(last + 1, last + 1 + CONTEXT)):
            if 1 <= near <= len(lines) and lines[near - 1].strip():
                wanted.add(near)
        if roles[mark] != "cause" and (definition := enclosing_definition(lines, first)):
            wanted.add(definition)
    # A gap of one line takes as much room as the line.
    return wanted | {number + 1 for number in wanted if number + 2 in wanted}


def enclosing_definition(lines: Sequence[str], number: int) -> int | None:
    """The line of the nearest ``def`` above line ``number`` and further left, if any."""
    depth = _depth(lines[number - 1])
    for above in range(number - 1, 0, -1):
        match = _DEFINITION.match(lines[above - 1])
        if match and _depth(lines[above - 1]) < depth:
            return above
    return None


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def _stretch(line: str, number: int, mark: int, span: Span) -> Stretch | None:
    if not span.start_line <= number <= span.end_line:
        return None
    start = span.start_col if number == span.start_line else _depth(line)
    end = span.end_col if number == span.end_line else len(line.rstrip())
    start = max(0, min(start, len(line)))
    return Stretch(start, max(start, min(end, len(line))), mark)
