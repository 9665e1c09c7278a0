"""Backticks in messages."""

from __future__ import annotations

import pytest

from pallas_magic.render.inline import inline, plain, ticked
from pallas_magic.render.model import Inline


@pytest.mark.parametrize(
    ("message", "pieces"),
    [
        ("", ()),
        ("no code", (("text", "no code"),)),
        ("`a`", (("code", "a"),)),
        ("`a` and `b`", (("code", "a"), ("text", " and "), ("code", "b"))),
        ("a ` alone", (("text", "a ` alone"),)),
        ("`a` ` alone", (("code", "a"), ("text", " ` alone"))),
        ("``", (("text", "``"),)),
        ("two\nlines", (("text", "two lines"),)),
        ("\x1b[31m", (("text", "␛[31m"),)),
    ],
)
def test_inline(message: str, pieces: Inline) -> None:
    assert inline(message) == pieces


def test_plain_and_ticked() -> None:
    pieces = inline("move `o_ref` to VMEM")
    assert plain(pieces) == "move o_ref to VMEM"
    assert ticked(pieces) == "move `o_ref` to VMEM"
