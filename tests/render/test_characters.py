"""Widths, harmless characters and wrapping."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pallas_magic.render.characters import shown, shown_characters, shown_text, width, wrap


@pytest.mark.parametrize(
    ("text", "columns"),
    [("abc", 3), ("数", 2), ("🧮", 2), ("é", 1), ("e\u0301", 1), ("a\u200bb", 2), ("", 0)],
)
def test_width(text: str, columns: int) -> None:
    assert width(text) == columns


@pytest.mark.parametrize(
    ("char", "picture"),
    [
        ("\x1b", "␛"),
        ("\x00", "␀"),
        ("\r", "␍"),
        ("\x7f", "␡"),
        ("\x9b", "\ufffd"),
        ("\u202e", "\ufffd"),
        ("\u2066", "\ufffd"),
        ("\u2028", "\ufffd"),
        ("\ud800", "\ufffd"),
    ],
)
def test_what_acts_on_a_screen_is_shown_as_a_picture(char: str, picture: str) -> None:
    assert shown(char) == picture


@pytest.mark.parametrize("char", ["a", "~", "é", "数", "🧮", "\u200d", "\ufe0f", "\u00a0"])
def test_other_characters_stay(char: str) -> None:
    assert shown(char) == char


@given(st.text())
def test_nothing_shown_is_a_control_character(text: str) -> None:
    kinds = {unicodedata.category(char) for char in shown_text(text).replace("\n", "")}
    assert not kinds & {"Cc", "Cs", "Zl", "Zp"}


def test_tabs_end_at_their_stops() -> None:
    assert list(shown_characters("\ta\t数\tb")) == ["    ", "a", "   ", "数", "  ", "b"]


def test_line_ends_of_windows_are_not_shown() -> None:
    assert shown_text("a\r\nb") == "a\nb"


def test_wrap_breaks_at_blanks() -> None:
    assert wrap("one two three four", 7, 10) == ["one two", "three four"]


def test_wrap_breaks_a_word_that_is_too_wide() -> None:
    assert wrap("a 数数数数数", 4, 5) == ["a", "数数", "数数", "数"]
    assert wrap("abcdefgh", 3, 4) == ["abc", "defg", "h"]


@given(st.text(), st.integers(2, 20), st.integers(2, 20))
def test_wrap_keeps_all_text_within_its_widths(text: str, first: int, rest: int) -> None:
    head, *tail = wrap(text, first, rest)
    assert width(head) <= first
    assert all(width(line) <= rest for line in tail)
    assert "".join((head + "".join(tail)).split()) == "".join(text.split())
