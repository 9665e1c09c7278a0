"""Lines painted with marks and shortened round them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pallas_magic.render.characters import width
from pallas_magic.render.lines import ELLIPSIS, Painted, Stretch, paint


def painted(line: str, *stretches: tuple[int, int], columns: int = 100) -> Painted:
    marks = [Stretch(start, end, mark) for mark, (start, end) in enumerate(stretches)]
    return paint((("", line),), marks, columns)


def test_a_line_without_marks() -> None:
    assert painted("abc") == Painted((("", "abc", None),), ())


def test_marks_and_their_indents() -> None:
    result = painted("a bc d", (2, 4), (5, 6))
    assert result.segments == (
        ("", "a ", None),
        ("", "bc", 0),
        ("", " ", None),
        ("", "d", 1),
    )
    assert result.indents == (2, 5)


def test_a_mark_within_a_mark_is_seen() -> None:
    result = painted("f(o[0])", (0, 7), (2, 6))
    assert [(text, mark) for _, text, mark in result.segments] == [
        ("f(", 0),
        ("o[0]", 1),
        (")", 0),
    ]


def test_the_first_of_two_equal_marks_is_painted() -> None:
    assert {mark for _, _, mark in painted("ab", (0, 2), (0, 2)).segments} == {0}


def test_an_empty_mark_has_an_indent_only() -> None:
    result = painted("ab", (2, 2))
    assert result == Painted((("", "ab", None),), (2,))


def test_wide_characters_and_tabs_count_their_columns() -> None:
    assert painted("\t🧮数x", (3, 4)).indents == (8,)


def test_a_long_line_keeps_its_head_where_that_has_the_marks() -> None:
    result = painted("x" * 30, (2, 5), columns=10)
    assert text_of(result) == "x" * 9 + ELLIPSIS


def test_a_long_line_is_cut_on_both_sides_of_its_mark() -> None:
    line = "a" * 50 + "MARK" + "b" * 50
    result = painted(line, (50, 54), columns=20)
    assert text_of(result) == "…aaaaaaaMARKbbbbbb…"
    assert result.indents == (8,)


def test_a_mark_that_is_too_wide_keeps_its_ends() -> None:
    result = painted("." * 40 + "START" + "x" * 80 + "END" + "." * 40, (40, 128), columns=30)
    assert text_of(result) == "…STARTxxxxxxxxxxxxx…xxxxxxEND…"
    assert result.indents == (1,)


def text_of(result: Painted) -> str:
    return "".join(text for _, text, _ in result.segments)


LINES = st.text(alphabet=st.sampled_from("ab =\t数😀\u0301"), max_size=80)


@given(LINES, st.lists(st.tuples(st.integers(0, 80), st.integers(0, 20)), max_size=3))
def test_no_line_is_too_wide(line: str, ranges: list[tuple[int, int]]) -> None:
    stretches = [(min(a, len(line)), min(a + n, len(line))) for a, n in ranges]
    result = painted(line, *stretches, columns=30)
    assert width(text_of(result)) <= 30
    assert len(result.indents) == len(stretches)


@given(st.text(alphabet="abc =", max_size=60), st.integers(0, 60), st.integers(1, 9))
def test_the_marked_text_is_shown_whole(line: str, start: int, length: int) -> None:
    start = min(start, len(line))
    result = painted(line, (start, min(start + length, len(line))), columns=20)
    marked = "".join(text for _, text, mark in result.segments if mark == 0)
    assert marked == line[start : start + length]
    assert text_of(result)[result.indents[0] :].startswith(marked)
