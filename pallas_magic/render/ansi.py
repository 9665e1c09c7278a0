"""Colour on a terminal, or none."""

from __future__ import annotations

import dataclasses

_CODES = {
    "bold": "1",
    "dim": "2",
    "error": "1;31",
    "warning": "1;33",
    "note": "1;36",
    "cause": "1;34",
    "del": "31",
    "add": "32",
    "ok": "32",
    "part": "33",
    "no": "31",
    "wait": "2",
}


@dataclasses.dataclass(frozen=True)
class Paint:
    """Puts text into a named colour where ``on``, else leaves it alone."""

    on: bool

    def __call__(self, text: str, name: str) -> str:
        return f"\x1b[{_CODES[name]}m{text}\x1b[0m" if self.on and text else text
