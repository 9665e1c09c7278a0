"""Reports as text, line by line."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pallas_magic.render.characters import width as text_width
from pallas_magic.render.text import NARROWEST, render_text
from tests.render import samples, shapes
from tests.render.write_files import DATA, TEXTS, text_of

REPORTS = [samples.histogram, samples.proving, *shapes.ALL]
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


@pytest.mark.parametrize("name", TEXTS)
def test_lines(name: str) -> None:
    expected = (DATA / f"{name}.txt").read_text(encoding="utf-8")
    assert text_of(name).split("\n") == expected.split("\n")


@pytest.mark.parametrize("columns", [NARROWEST, 57, 80, 100, 200])
@pytest.mark.parametrize("make", REPORTS, ids=lambda make: make.__name__)
def test_nothing_is_wider(make: Any, columns: int) -> None:
    for line in render_text(make(), columns).split("\n"):
        assert text_width(line) <= columns
        assert line == line.rstrip()


def test_a_width_too_small_is_not_taken() -> None:
    assert render_text(samples.histogram(), 3) == render_text(samples.histogram(), NARROWEST)


@pytest.mark.parametrize("make", REPORTS, ids=lambda make: make.__name__)
def test_colour_adds_nothing_but_colour(make: Any) -> None:
    coloured = render_text(make(), 80, color=True)
    bare = [line.rstrip() for line in ESCAPE.sub("", coloured).split("\n")]
    assert bare == render_text(make(), 80).split("\n")
    assert "\x1b" not in ESCAPE.sub("", coloured)


def test_colours_go_where_they_belong() -> None:
    lines = render_text(samples.histogram(), 100, color=True).split("\n")
    assert lines[0].startswith("\x1b[1;31merror[PM101]\x1b[0m\x1b[1m: `counts_ref` is in SMEM")
    assert "\x1b[1;31m^^^^^^^^^^^^^^^\x1b[0m \x1b[1;31mvector store\x1b[0m" in lines[7]
    assert any("\x1b[1;34m----------\x1b[0m \x1b[1;34mput in SMEM here" in line for line in lines)
    assert any(line.startswith("\x1b[31m 9 -     counts_ref[...]") for line in lines)
    assert any(line.startswith("\x1b[32m 9 +     for i in range(128)") for line in lines)


def test_no_escape_sequence_of_the_user_gets_out() -> None:
    text = render_text(shapes.injected(), 80)
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_str_of_a_report_is_its_text() -> None:
    assert str(samples.histogram()) == render_text(samples.histogram())
