"""Characters as a screen shows them: their widths, and none that act on it."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

TAB_STOP = 4
_CONTROL_PICTURES = 0x2400
_DELETE_PICTURE = "\u2421"
# For terminals with few characters.
_STAND_INS = {
    "✓": "+",
    "✗": "x",
    "·": "-",
    "…": "~",
    "⋮": ":",
    "→": ">",
    "↑": "^",
    "█": "#",
    "░": ".",
    "\N{MULTIPLICATION SIGN}": "x",
    "\N{EN DASH}": "-",
}
_REPLACEMENT = "\ufffd"
_INVISIBLE = frozenset({"Mn", "Me", "Cf"})
_ACTING = frozenset({"Cc", "Cs", "Zl", "Zp"})


def char_width(char: str) -> int:
    """The columns that ``char`` takes on a terminal."""
    if char.isascii():
        return 1
    if unicodedata.category(char) in _INVISIBLE:
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def width(text: str) -> int:
    """The columns that ``text`` takes on a terminal."""
    return len(text) if text.isascii() else sum(map(char_width, text))


def shown(char: str) -> str:
    """``char``, or a picture of it where it would move the cursor or turn text round.

    A source that prints escape sequences or reorders itself (bidirectional
    controls) must look like what it is, on a terminal and on a page.
    """
    code = ord(char)
    if code < 0x20:
        return chr(_CONTROL_PICTURES + code)
    if code == 0x7F:
        return _DELETE_PICTURE
    if code < 0x7F:
        return char
    category = unicodedata.category(char)
    if category in _ACTING:
        return _REPLACEMENT
    # The other format characters join letters and emoji.
    if category == "Cf" and unicodedata.bidirectional(char) != "BN":
        return _REPLACEMENT
    return char


def shown_characters(line: str) -> Iterator[str]:
    """What to show for each character of ``line``, a tab as the blanks up to its stop."""
    column = 0
    for char in line:
        text = " " * (TAB_STOP - column % TAB_STOP) if char == "\t" else shown(char)
        column += width(text)
        yield text


def shown_text(text: str) -> str:
    """``text``, lines kept, with every character as :func:`shown` has it."""
    return "\n".join("".join(shown_characters(line.rstrip("\r"))) for line in text.split("\n"))


def shown_line(text: str) -> str:
    """``text`` as :func:`shown_text` has it, on one line."""
    return " ".join(shown_text(text).split("\n"))


def shortened(text: str, most: int = 300) -> str:
    """The beginning of ``text``, which may be all that a compiler printed, on one line."""
    line = shown_line(text[: most + 1])
    return line if len(text) <= most else f"{line[:most]}…"


def encodable(text: str, encoding: str) -> str:
    """``text`` with no character that ``encoding`` lacks; none takes more columns than before."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return "".join(_encodable(char, encoding) for char in text)
    except LookupError:
        return text
    return text


def _encodable(char: str, encoding: str) -> str:
    try:
        char.encode(encoding)
    except UnicodeEncodeError:
        return _STAND_INS.get(char, "?")
    return char


def wrap(text: str, first: int, rest: int) -> list[str]:
    """``text`` broken at blanks into lines of at most ``first``, then ``rest`` columns.

    A word wider than a line is broken where the line is full.
    """
    lines = [""]
    for word in text.split():
        budget = first if len(lines) == 1 else rest
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if width(joined) <= budget:
            lines[-1] = joined
            continue
        if lines[-1]:
            lines.append("")
        for char in word:
            budget = first if len(lines) == 1 else rest
            if lines[-1] and width(lines[-1] + char) > budget:
                lines.append("")
            lines[-1] += char
    return lines
