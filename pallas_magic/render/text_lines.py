"""Lines of a report's text: wrapped, and with names in a column before them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pallas_magic.render.characters import width as text_width
from pallas_magic.render.characters import wrap


def wrapped(text: str, columns: int, head: str, indent: str) -> Iterator[str]:
    """``text`` after ``head``, in lines of ``columns``, all but the first after ``indent``."""
    first, *rest = wrap(text, columns - text_width(head), columns - text_width(indent))
    yield head + first
    yield from (indent + line for line in rest)


def named_lines(lines: Sequence[tuple[str, str]], columns: int) -> Iterator[str]:
    """Each line's name and text, the texts beneath each other; "" repeats a name.

    A name wider than a third of the columns is followed by its text at once.
    """
    widest = max((text_width(name) for name, _ in lines), default=0)
    column = min(widest, columns // 3)
    indent = " " * (column + len("  "))
    for name, text in lines:
        if text_width(name) > column:
            yield from wrapped(f"{name} {text}", columns, "", indent)
            continue
        yield from wrapped(text, columns, name + " " * (column - text_width(name) + 2), indent)
