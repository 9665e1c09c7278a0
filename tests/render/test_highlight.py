"""Tokens of whole sources."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pallas_magic.render.highlight import highlighted
from tests.render.samples import HISTOGRAM_CELL


@pytest.mark.parametrize("text", [HISTOGRAM_CELL, "", "\n", "a\r\nb", "\tx = 1\n\n\n", "'open\n"])
def test_tokens_are_the_lines(text: str) -> None:
    assert joined(text) == text.split("\n")


@given(st.text(alphabet=st.sampled_from("ab1 \t\n\r'\"#%!\\([{:=数😀")))
def test_tokens_are_the_lines_of_any_text(text: str) -> None:
    assert joined(text) == text.split("\n")


def joined(text: str) -> list[str]:
    return ["".join(piece for _, piece in line) for line in highlighted(text)]


def test_a_string_over_lines_is_one() -> None:
    names = [[name for name, _ in line] for line in highlighted('x = """def a\ndef b\n"""\ndef c')]
    assert names[1] == ["s2"]
    assert names[3][0] == "k"


@pytest.mark.parametrize(
    "magic", ["%%time it's", "!ls 'a", "  %matplotlib inline", '%timeit """', "%%pallas_check"]
)
def test_magics_are_plain_and_open_no_string(magic: str) -> None:
    lines = highlighted(f"{magic}\ndef f(): pass")
    assert lines[0] == (("", magic),)
    assert lines[1][0] == ("k", "def")


def test_a_line_that_begins_with_an_operator_is_no_magic() -> None:
    assert highlighted("x = (a\n % 2)")[1] == (("", " % "), ("mi", "2"), ("", ")"))


def test_a_huge_text_stays_plain() -> None:
    text = "x = 1\n" * 50_000
    assert highlighted(text)[0] == (("", "x = 1"),)
