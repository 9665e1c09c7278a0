"""A rule's page as HTML: the small part of Markdown that the pages are written in.

Headings, paragraphs, lists, fenced and indented code; inline code, bold and
links. Everything else is text, and all text is escaped.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Sequence

Holds = Callable[[str], bool]

_FENCE = re.compile(r"^(`{3,}|~{3,})[^`]*$")
_HEADING = re.compile(r"^(#{1,6})[ \t]+(.*?)[ \t]*#*$")
_ITEM = re.compile(r"^[ \t]{0,3}(?:[-*+]|\d{1,9}[.)])[ \t]+(.*)$")
_NUMBERED = re.compile(r"^[ \t]{0,3}\d")
_INDENTED = re.compile(r"^(?: {4}|\t)")
_INLINE = re.compile(
    r"(?P<ticks>`+)(?P<code>.+?)(?P=ticks)(?!`)"
    r"|\*\*(?P<bold>[^*]+)\*\*"
    r"|\[(?P<text>[^\]]+)\]\((?P<link>https?://[^\s)]+)\)"
    r"|<(?P<bare>https?://[^\s<>]+)>"
)


def page_html(markdown: str, heading: int = 4) -> str:
    """``markdown`` as HTML whose largest heading is of level ``heading``."""
    return "\n".join(_blocks(markdown.expandtabs(4).split("\n"), heading))


def _blocks(lines: Sequence[str], heading: int) -> Iterator[str]:
    index = 0
    while index < len(lines):
        line = lines[index]
        if not line.strip():
            index += 1
        elif match := _FENCE.match(line):
            end = _fence_end(lines, index + 1, match[1])
            yield _code(lines[index + 1 : end])
            index = end + 1
        elif match := _HEADING.match(line):
            level = min(6, heading + len(match[1]) - 1)
            yield f"<h{level}>{_inline(match[2])}</h{level}>"
            index += 1
        elif _INDENTED.match(line):
            end = _while(lines, index, lambda text: bool(_INDENTED.match(text) or not text.strip()))
            yield _code([text[4:] for text in lines[index:end]])
            index = end
        elif _ITEM.match(line):
            end = _while(lines, index, lambda text: bool(_ITEM.match(text) or text[:1] == " "))
            yield _list(lines[index:end])
            index = end
        else:
            end = _while(lines, index, lambda text: not _begins(text), at_least=1)
            yield f"<p>{_inline(' '.join(text.strip() for text in lines[index:end]))}</p>"
            index = end


def _begins(line: str) -> bool:
    blank = not line.strip()
    return blank or any(kind.match(line) for kind in (_FENCE, _HEADING, _ITEM))


def _while(lines: Sequence[str], start: int, holds: Holds, at_least: int = 0) -> int:
    end = start + at_least
    while end < len(lines) and holds(lines[end]):
        end += 1
    return end


def _fence_end(lines: Sequence[str], start: int, fence: str) -> int:
    ends = (n for n in range(start, len(lines)) if lines[n].strip() == fence)
    return next(ends, len(lines))


def _code(lines: Sequence[str]) -> str:
    text = "\n".join(lines).strip("\n")
    return f"<pre><code>{html.escape(text)}</code></pre>"


def _list(lines: Sequence[str]) -> str:
    items: list[str] = []
    for line in lines:
        if match := _ITEM.match(line):
            items.append(match[1])
        else:
            items[-1] += " " + line.strip()
    tag = "ol" if _NUMBERED.match(lines[0]) else "ul"
    return f"<{tag}>" + "".join(f"<li>{_inline(item)}</li>" for item in items) + f"</{tag}>"


def _inline(text: str) -> str:
    """One line of Markdown as HTML."""
    pieces, done = [], 0
    for match in _INLINE.finditer(text):
        pieces.append(html.escape(text[done : match.start()]))
        pieces.append(_inline_piece(match))
        done = match.end()
    return "".join([*pieces, html.escape(text[done:])])


def _inline_piece(match: re.Match[str]) -> str:
    if match["code"]:
        return f"<code>{html.escape(match['code'].strip())}</code>"
    if match["bold"]:
        return f"<b>{_inline(match['bold'])}</b>"
    link = html.escape(match["link"] or match["bare"])
    text = _inline(match["text"]) if match["text"] else link
    return f'<a href="{link}" rel="noopener noreferrer">{text}</a>'
