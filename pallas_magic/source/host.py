"""The library of the host that code runs in, for those who are called without one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pallas_magic.source.document import Library

_offered: list[Callable[[], Library]] = []


def offer_library(make: Callable[[], Library]) -> None:
    """Let ``make`` give the library of checks that are given none, until it is withdrawn."""
    _offered.append(make)


def withdraw_library(make: Callable[[], Library]) -> None:
    """Take ``make`` back; nothing happens where it was not offered."""
    if make in _offered:
        _offered.remove(make)


def current_library() -> Library:
    """The library that was offered last, a new one where there is none."""
    from pallas_magic.source.document import Library

    return _offered[-1]() if _offered else Library()
