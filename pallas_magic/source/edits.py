"""Text edits: applied, checked and moved; nothing here knows Python or hosts."""

from __future__ import annotations

from collections.abc import Iterable

from pallas_magic.report import Span, TextEdit


def offset(text: str, line: int, col: int) -> int:
    """The index in ``text`` of a 1-based line and a 0-based code point column.

    Raises ``ValueError`` when the text has no such position.
    """
    lines = text.split("\n")
    if not 1 <= line <= len(lines) or not 0 <= col <= len(lines[line - 1]):
        raise ValueError(f"no line {line}, column {col} in this text")
    return sum(len(earlier) + 1 for earlier in lines[: line - 1]) + col


def span_text(text: str, span: Span) -> str:
    """The part of ``text`` under ``span``."""
    start = offset(text, span.start_line, span.start_col)
    return text[start : offset(text, span.end_line, span.end_col)]


def apply_edits(text: str, edits: Iterable[TextEdit]) -> str:
    """``text`` with all edits made at once; raises ``ValueError`` where two overlap."""
    placed = sorted(
        (
            offset(text, edit.span.start_line, edit.span.start_col),
            offset(text, edit.span.end_line, edit.span.end_col),
            edit.new_text,
        )
        for edit in dict.fromkeys(edits)
    )
    pieces: list[str] = []
    done = 0
    for start, end, new_text in placed:
        if start < done:
            raise ValueError("two edits change the same text")
        pieces += [text[done:start], new_text]
        done = end
    return "".join([*pieces, text[done:]])
