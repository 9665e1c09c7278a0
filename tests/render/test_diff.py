"""Diffs of fixes."""

from __future__ import annotations

import dataclasses

from hypothesis import given
from hypothesis import strategies as st

from pallas_magic.render.card import build_card
from pallas_magic.render.diff import diff, fixed_texts
from pallas_magic.render.model import DiffLine
from pallas_magic.report import Fix, Report, Source, Span, TextEdit
from tests.render import samples, shapes


def drawn(line: DiffLine) -> str:
    return f"{line.kind} {line.number} " + "".join(text for _, text in line.segments)


def lines(report: Report, number: int) -> list[str]:
    fix = next(fix for fix in report.fixes() if fix.id == number)
    primary = report.diagnostics[0].primary
    assert primary is not None
    return [drawn(line) for line in diff(fix, report.sources, primary.source)]


def test_lines_are_numbered_as_before_and_after() -> None:
    assert lines(samples.histogram(), 2) == [
        "del 9     counts_ref[...] = per_lane",
        "add 9     for i in range(128):",
        "add 10         counts_ref[i] = per_lane[i]",
    ]


def test_hunks_are_told_apart_and_later_numbers_shift() -> None:
    found = lines(shapes.long_fix(), 1)
    assert found[:5] == [
        "del 1 import jax",
        "add 1 import jax, functools",
        "same None ⋮",
        "del 4     o_ref[...] = x_ref[...]",
        "add 4     o_ref[0] = x_ref[0]",
    ]
    assert found[-1] == "add 17     o_ref[13] = x_ref[13]"


def test_other_sources_are_named() -> None:
    assert lines(shapes.across_cells(), 2) == [
        "del 2     o_ref[...] = x_ref[...]",
        "add 2     o_ref[:] = x_ref[...]",
        "same None In[5]",
        "del 1 spec = pl.BlockSpec(memory_space=pltpu.SMEM)",
        "add 1 spec = pl.BlockSpec(memory_space=pltpu.VMEM)",
    ]


def changed(before: str, after: str) -> list[list[str]]:
    lines = diff(whole(before, after), {"a": Source("cell", "In[1]", before)}, "a")
    return [
        ["".join(text for _, text in line.segments)[start:end] for start, end in line.changed]
        for line in lines
    ]


def whole(before: str, after: str) -> Fix:
    rows = before.split("\n")
    span = Span("a", 1, 0, len(rows), len(rows[-1]))
    return Fix(1, "change", "safe", (TextEdit(span, after),))


def test_whole_words_are_changed() -> None:
    assert changed("f(pltpu.SMEM)", "f(pltpu.VMEM)") == [["SMEM"], ["VMEM"]]
    assert changed("import jax", "import jax, functools") == [[], [", functools"]]
    assert changed("out = x_ref[0]", "out = x_ref[10]") == [["0"], ["10"]]


def test_lines_with_little_in_common_are_not_marked() -> None:
    assert changed("aaaa bbbb", "cccc dddd b") == [[], []]


def test_lines_without_a_counterpart_are_not_marked() -> None:
    assert changed("x = 1", "x = 1\ny = 2") == [[]]


def test_an_edit_that_does_not_fit_has_no_diff() -> None:
    sources = {"a": Source("cell", "In[1]", "x = 1\n")}
    for span in (Span("a", 9, 0, 9, 1), Span("gone", 1, 0, 1, 1)):
        edit = TextEdit(span, "y")
        assert fixed_texts((edit,), sources) == {}
        assert diff(Fix(1, "t", "safe", (edit,)), sources, "a") == ()
    over = (TextEdit(Span("a", 1, 0, 1, 3), "y"), TextEdit(Span("a", 1, 2, 1, 5), "z"))
    assert fixed_texts(over, sources) == {}


def test_tabs_are_shown_as_they_stand() -> None:
    sources = {"a": Source("cell", "In[1]", "if x:\n\ty = 1\n")}
    fix = Fix(1, "t", "safe", (TextEdit(Span("a", 2, 5, 2, 6), "2"),))
    found = diff(fix, sources, "a")
    assert [drawn(line) for line in found] == ["del 2     y = 1", "add 2     y = 2"]
    assert [line.changed for line in found] == [((8, 9),), ((8, 9),)]


def test_a_large_file_takes_no_time() -> None:
    before = "\n".join("same" for _ in range(20_000))
    after = before.replace("same\nsame", "same\nother", 1)
    sources = {"a": Source("file", "big.py", before)}
    found = diff(whole(before, after), sources, "a")
    assert [drawn(line) for line in found] == ["del 2 same", "add 2 other"]


TEXTS = st.lists(st.sampled_from(["a", "b", "", "  c"]), max_size=8).map("\n".join)


@given(TEXTS, TEXTS)
def test_the_diff_is_the_change(before: str, after: str) -> None:
    rows: list[str | None] = list(before.split("\n"))
    found = diff(whole(before, after), {"a": Source("cell", "In[1]", before)}, "a")
    for line in found:
        if line.kind == "del" and line.number is not None:
            assert rows[line.number - 1] == drawn(line).removeprefix(f"del {line.number} ")
            rows[line.number - 1] = None
    kept = [row for row in rows if row is not None]
    for line in found:
        if line.kind == "add" and line.number is not None:
            kept.insert(line.number - 1, drawn(line).removeprefix(f"add {line.number} "))
    assert "\n".join(kept) == after


def test_folding_counts_changed_lines_only() -> None:
    def folded(report: Report) -> bool:
        return build_card(report, {}).diagnostics[0].fixes[0].folded

    assert folded(shapes.long_fix())
    report = shapes.marked("x = 1\n", ("x", ""))
    for count, expected in ((10, False), (11, True)):
        edit = TextEdit(Span("cell", 1, 0, 1, 0), "y = 0\n" * count + "z")
        diagnostic = dataclasses.replace(
            report.diagnostics[0], fixes=(Fix(1, "t", "safe", (edit,)),)
        )
        # One line goes and one more than ``count`` come.
        assert folded(dataclasses.replace(report, diagnostics=(diagnostic,))) is expected
