"""Pygments tokens of whole sources, line by line."""

from __future__ import annotations

import functools
import re

from pallas_magic.render.model import Token

_MAGIC = re.compile(r"^[ \t]*(?:%%?[A-Za-z]|!).*$", re.MULTILINE)
_PLAIN = frozenset({"", "n", "o", "p", "w", "err", "x", "esc"})
_LARGEST = 200_000
"""Code points; a larger text stays plain, as it would take longer to colour than to check."""


@functools.lru_cache(maxsize=32)
def highlighted(text: str) -> tuple[tuple[Token, ...], ...]:
    """The tokens of each line of ``text``; joined they are the line.

    The whole text is read at once, so that a string over several lines is one.
    """
    lines: list[list[Token]] = [[]]
    for name, piece in _tokens(text):
        for index, part in enumerate(piece.split("\n")):
            if index:
                lines.append([])
            if part:
                _append(lines[-1], name, part)
    return tuple(map(tuple, lines))


def _tokens(text: str) -> list[Token]:
    if len(text) > _LARGEST:
        return [("", text)]
    from pygments.lexers.python import PythonLexer
    from pygments.token import STANDARD_TYPES

    # Magics are not Python and their quotes would open strings.
    python = _MAGIC.sub(lambda match: " " * len(match[0]), text)
    found: list[Token] = []
    for start, kind, piece in PythonLexer().get_tokens_unprocessed(python):
        while kind not in STANDARD_TYPES:
            kind = kind.parent
        name = STANDARD_TYPES[kind]
        # The text is the user's own, the magics in it included.
        found.append(("" if name in _PLAIN else name, text[start : start + len(piece)]))
    return found


def _append(line: list[Token], name: str, part: str) -> None:
    if line and line[-1][0] == name:
        line[-1] = (name, line[-1][1] + part)
        return
    line.append((name, part))
