"""Pages on a terminal, line by line."""

from __future__ import annotations

import pytest

from pallas_magic.render.page_text import page_text
from pallas_magic.rules import pages

PAGE = """\
# PM101: a vector stored to SMEM

## What it means
A kernel stores `a` whole array, or **a slice** of one, through a ref that
lives in SMEM.
## Fix
- only arrays and slices: put the ref in VMEM, as
  [the docs](https://example.org/a) say;
- one number

```python
# no heading: code

x = "a line that is longer than forty columns stays as it is"
```
1. <https://example.org/b>
"""
TEXT = """\
PM101: a vector stored to SMEM
==============================

What it means
-------------

A kernel stores `a` whole array, or a
slice of one, through a ref that lives
in SMEM.

Fix
---

  - only arrays and slices: put the ref
    in VMEM, as the docs
    (https://example.org/a) say;
  - one number

    # no heading: code

    x = "a line that is longer than forty columns stays as it is"

  1. https://example.org/b"""


def test_a_page_as_text() -> None:
    assert page_text(PAGE, width=40) == TEXT


def test_it_is_never_narrower_than_that() -> None:
    assert page_text(PAGE, width=3) == TEXT


def test_colour_is_for_headings() -> None:
    assert page_text("# Title\ntext", color=True) == (
        "\x1b[1mTitle\x1b[0m\n\x1b[2m=====\x1b[0m\n\ntext"
    )


def test_what_acts_on_a_terminal_is_pictured() -> None:
    assert page_text("a\x1b[31mred\x07") == "a␛[31mred␇"


def test_an_open_fence_is_code_to_the_end() -> None:
    assert page_text("```\na\n") == "    a\n"


@pytest.mark.parametrize("code", sorted(pages()))
def test_every_page_keeps_its_words_and_its_width(code: str) -> None:
    text = page_text(pages()[code], width=60)
    prose = [line for line in text.split("\n") if not line.startswith("    ")]
    assert max(map(len, prose)) <= 60
    for word in pages()[code].split():
        bare = word.strip("#*`~<>[]()-")
        assert bare in text or "](" in word or word.startswith("```")
