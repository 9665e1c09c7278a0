"""Message strings with backticks, as text and code."""

from __future__ import annotations

import re

from pallas_magic.render.characters import shown_text
from pallas_magic.render.model import Inline, InlineKind

_CODE = re.compile(r"`([^`]+)`")


def inline(message: str) -> Inline:
    """The pieces of ``message``: code where it has backticks, else text.

    A backtick without its twin stays as it is.
    """
    pieces: list[tuple[InlineKind, str]] = []
    text = " ".join(shown_text(message).split("\n"))
    for index, piece in enumerate(_CODE.split(text)):
        if piece:
            pieces.append(("code" if index % 2 else "text", piece))
    return tuple(pieces)


def plain(pieces: Inline) -> str:
    """The text of ``pieces``, as a screen reader or a tooltip has it."""
    return "".join(text for _, text in pieces)


def ticked(pieces: Inline) -> str:
    """The text of ``pieces`` with backticks round code, as a terminal has it."""
    return "".join(f"`{text}`" if kind == "code" else text for kind, text in pieces)
