"""Each executed line traced back to the user's text, through IPython's own stages."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from IPython.core.inputtransformer2 import TransformerManager

from pallas_magic.ipython.origins import (
    TracedLine,
    clean,
    executed_origins,
    follow,
    replace_magics,
    trace_lines,
)
from pallas_magic.source.document import LineOrigin

make_manager: Any = TransformerManager


def origins(text: str) -> list[tuple[str, LineOrigin | None]]:
    """The executed lines of ``text`` with where they come from."""
    manager: Any = make_manager()
    stages = [*manager.cleanup_transforms, *manager.line_transforms]
    lines = replace_magics(clean(trace_lines(text), stages), manager)
    executed = manager.transform_cell(text)
    found = executed_origins(lines, executed)
    assert len(found) == len(executed.split("\n"))
    return list(zip(executed.split("\n"), found, strict=True))


def at(line: int, shift: int = 0) -> LineOrigin:
    return LineOrigin(line, shift)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = 1", [at(1), None]),
        ("x = 1\n", [at(1), None]),
        ("\n  \n\nx = 1\n", [at(4), None]),
        ("  x = 1\n\n  if x:\n      y = 2\n", [at(1, 2), at(2), at(3, 2), at(4, 2), None]),
        (">>> x = 1\n... y = 2\n", [at(1, 4), at(2, 4), None]),
        ("In [3]: x = 1\n   ...: y = 2\n", [at(1, 8), at(2, 8), None]),
        ("%time a\nx = 1\n", [None, at(2), None]),
        ("y = %time a \\\n  + b\nx = 1\n", [None, at(3), None]),
        ("%time a \\\nx = 1\nx = 1\nx = 1\n", [None, at(3), at(4), None]),
        ("x = 1\n!ls\nx = 1\n", [at(1), None, at(3), None]),
        ("é = '🎈'\nx?\n", [at(1), None, None]),
        ("%%time\nx = 1\n", [None, None]),
    ],
)
def test_lines_are_traced(text: str, expected: list[LineOrigin | None]) -> None:
    assert [origin for _, origin in origins(text)] == expected


LINES = st.sampled_from(
    ["x = 1", "  y = 2", "%time z", "w = %time z \\", "!ls", "x?", "", "   ", "é = '🎈'", "\tt = 3"]
)


@given(st.lists(LINES, max_size=8))
def test_a_traced_line_is_in_the_users_text_where_it_is_said_to_be(lines: list[str]) -> None:
    text = "\n".join(lines)
    try:
        traced = origins(text)
    except (SyntaxError, RuntimeError):
        return
    users = text.split("\n")
    numbers = [origin.line for _, origin in traced if origin is not None]
    assert numbers == sorted(set(numbers))
    for executed, origin in traced:
        if origin is not None:
            assert users[origin.line - 1][origin.shift :] == executed


def test_a_line_separator_that_only_ipython_sees_is_not_guessed_at() -> None:
    assert [origin for _, origin in origins("x = '\x0c'\ny = 2\n")] == [None, None, None]


def test_a_text_that_does_not_match_is_not_guessed_at() -> None:
    lines = trace_lines("a\nb\n")
    assert executed_origins(lines, "a\nb\nc\nd\n") == (at(1), at(2), None, None, None)
    assert executed_origins(lines, "q\nr\n") == (None, None, None)


def test_the_end_is_matched_before_the_beginning() -> None:
    before = [TracedLine(text, at(n)) for n, text in enumerate(("m \\\n", "x\n", "x\n"), 1)]
    assert [line.origin for line in follow(before, ["call\n", "x\n"])] == [None, at(3)]
