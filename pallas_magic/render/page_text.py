"""A rule's page as text for a terminal: wrapped, headings underlined, code as it stands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pallas_magic.render.ansi import Paint
from pallas_magic.render.characters import shown_text, wrap
from pallas_magic.render.characters import width as text_width

NARROWEST = 40
_FENCE = re.compile(r"^(`{3,}|~{3,})[^`]*$")
_HEADING = re.compile(r"^(#{1,6})[ \t]+(.*?)[ \t]*#*$")
_ITEM = re.compile(r"^[ \t]{0,3}([-*+]|\d{1,9}[.)])[ \t]+(.*)$")
_LINK = re.compile(r"\[([^\]]+)\]\((https?://[^\s)]+)\)")
_BARE = re.compile(r"<(https?://[^\s<>]+)>")
_BOLD = re.compile(r"\*\*([^*]+)\*\*")
_RULES = {1: "=", 2: "-"}
_CODE_INDENT = "    "


def page_text(markdown: str, width: int = 80, color: bool = False) -> str:
    """``markdown`` in at most ``width`` columns (40 at least); code may be wider."""
    writer = _Writer(max(width, NARROWEST), Paint(color))
    blocks = ["\n".join(block) for block in writer.blocks(shown_text(markdown).split("\n"))]
    return "\n\n".join(blocks)


class _Writer:
    """Writes the blocks of a page, each as its lines."""

    def __init__(self, width: int, paint: Paint) -> None:
        self._width = width
        self._paint = paint

    def blocks(self, lines: Sequence[str]) -> Iterator[list[str]]:
        index = 0
        while index < len(lines):
            line = lines[index]
            if not line.strip():
                index += 1
            elif fence := _FENCE.match(line):
                end = _fence_end(lines, index + 1, fence[1])
                yield [f"{_CODE_INDENT}{code}".rstrip() for code in lines[index + 1 : end]]
                index = end + 1
            elif heading := _HEADING.match(line):
                yield list(self._heading(len(heading[1]), heading[2]))
                index += 1
            else:
                end = _block_end(lines, index)
                yield list(self._paragraphs(lines[index:end]))
                index = end

    def _heading(self, level: int, text: str) -> Iterator[str]:
        lines = wrap(_plain(text), self._width, self._width)
        yield from (self._paint(line, "bold") for line in lines)
        if level in _RULES:
            yield self._paint(_RULES[level] * max(map(text_width, lines)), "dim")

    def _paragraphs(self, lines: Sequence[str]) -> Iterator[str]:
        """A paragraph, or the items of a list: each begins at its bullet."""
        starts = [n for n, line in enumerate(lines) if n == 0 or _ITEM.match(line)]
        for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
            text = _plain(" ".join(line.strip() for line in lines[start:end]))
            item = _ITEM.match(text)
            head = f"  {item[1]} " if item else ""
            first, *rest = wrap(
                item[2] if item else text, self._width - len(head), self._width - len(head)
            )
            yield head + first
            yield from (" " * len(head) + line for line in rest)


def _block_end(lines: Sequence[str], start: int) -> int:
    ends = (
        n
        for n in range(start + 1, len(lines))
        if not lines[n].strip() or _FENCE.match(lines[n]) or _HEADING.match(lines[n])
    )
    return next(ends, len(lines))


def _fence_end(lines: Sequence[str], start: int, fence: str) -> int:
    return next((n for n in range(start, len(lines)) if lines[n].strip() == fence), len(lines))


def _plain(text: str) -> str:
    return _BOLD.sub(r"\1", _BARE.sub(r"\1", _LINK.sub(r"\1 (\2)", text)))
