"""Windows round the marks of a diagnostic."""

from __future__ import annotations

import dataclasses

import pytest

from pallas_magic.render.card import build_card
from pallas_magic.render.model import Line, Window
from pallas_magic.render.windows import enclosing_definition
from pallas_magic.report import Label, Report, Span
from tests.render import samples, shapes


def windows(report: Report, columns: int = 100) -> tuple[Window, ...]:
    return build_card(report, {}, columns=columns).diagnostics[0].windows


def drawn(line: Line) -> str:
    text = "".join(f"«{text}»" if mark is not None else text for _, text, mark in line.segments)
    return f"{line.kind} {line.number} {' ' * line.indent}{text}".rstrip().replace("»«", "")


def lines(report: Report, columns: int = 100) -> list[str]:
    return [drawn(line) for window in windows(report, columns) for line in window.lines]


def test_histogram() -> None:
    assert lines(samples.histogram()) == [
        "code 6 def histogram_kernel(x_ref, counts_ref, total_ref):",
        "code 7     block = x_ref[...]",
        "code 8     per_lane = jnp.sum((block > 0).astype(jnp.int32), axis=0)",
        "code 9     «counts_ref[...]» = per_lane",
        "label None     «vector store»",
        "code 10     total_ref[0, 0] = jnp.sum(per_lane)",
        "gap None",
        "code 15         histogram_kernel,",
        (
            "code 16         out_specs=(pl.BlockSpec(memory_space=«pltpu.SMEM»), "
            "pl.BlockSpec(memory_space=pltpu.VMEM)),"
        ),
        f"label None {' ' * 45}«put in SMEM here»",
        "code 17         out_shape=(",
    ]


def test_labels_of_a_line_go_from_right_to_left() -> None:
    assert lines(shapes.three_marks()) == [
        "code 1 def kernel(x_ref, o_ref):",
        "code 2     «o_ref[...]» = x_ref[...]; «o_ref[...]» = x_ref[...] + 1",
        "label None                              «another one»",
        "label None     «vector store»",
        "code 3     «o_ref[...]» = -x_ref[...]",
        "label None     «and another»",
    ]


def test_wide_characters_before_the_mark() -> None:
    label = windows(shapes.emoji())[0].lines[-1]
    assert (label.kind, label.mark, label.indent) == ("label", 0, 12)


def test_each_source_has_its_window() -> None:
    found = windows(shapes.across_cells())
    assert [(window.source, window.label) for window in found] == [
        ("cell-3", "In[3]"),
        ("cell-5", "In[5]"),
    ]


def test_a_long_mark_shows_its_ends() -> None:
    assert lines(shapes.long_mark()) == [
        'code 2 with def in it"""',
        "code 3 out = «pl.pallas_call(»",
        "code 4     «argument_0=0,»",
        "gap None",
        "code 11     «argument_7=7,»",
        "code 12 «)»(x)",
        "label None «does not lower»",
    ]


def test_a_long_line_shows_both_marks() -> None:
    found = lines(shapes.long_line(), columns=80)
    assert found[0].count("«") == 2
    assert "«pltpu.SMEM»" in found[0]
    assert "«jnp.int32»" in found[0]
    assert len(found[0].replace("«", "").replace("»", "")) <= len("code 1 ") + 80


def test_a_label_without_text_has_no_line() -> None:
    report = shapes.marked("x = 1\n", ("x", ""))
    assert lines(report) == ["code 1 «x» = 1"]


def test_blank_lines_are_no_context() -> None:
    report = shapes.marked("a = 0\n\nx = 1\n   \nb = 0\n", ("x", "here"))
    assert lines(report) == ["code 3 «x» = 1", "label None «here»"]


def test_a_gap_of_one_line_is_shown_as_the_line() -> None:
    text = "x = 1\na\nb\nc\ny = 2\n"
    report = shapes.marked(text, ("x", ""), (("y", "", "cause"),))
    assert lines(report) == ["code 1 «x» = 1", "code 2 a", "code 3 b", "code 4 c", "code 5 «y» = 2"]
    wider = shapes.marked(text.replace("b", "b\nb"), ("x", ""), (("y", "", "cause"),))
    assert lines(wider)[2] == "gap None"


@pytest.mark.parametrize(
    "span",
    [
        Span("cell", 0, 0, 0, 1),
        Span("cell", 99, 0, 99, 1),
        Span("cell", 1, 50, 1, 60),
        Span("cell", 1, 3, 1, 1),
        Span("cell", 1, 0, 99, 3),
        Span("cell", -5, -5, -5, -5),
    ],
)
def test_spans_out_of_range_break_nothing(span: Span) -> None:
    report = shapes.marked("x = 1\n", ("x", "here"), primary=span)
    for window in windows(report):
        assert all(line.number in (None, 1, 2) for line in window.lines)


def test_a_label_in_an_unknown_source_becomes_a_note() -> None:
    report = shapes.marked("x = 1\n", ("x", "here"))
    label = Label(Span("gone", 1, 0, 1, 1), "put in `SMEM` here")
    diagnostic = dataclasses.replace(report.diagnostics[0], labels=(label,))
    card = build_card(dataclasses.replace(report, diagnostics=(diagnostic,)), {})
    shown = card.diagnostics[0]
    assert shown.notes == ((("text", "put in "), ("code", "SMEM"), ("text", " here")),)
    assert len(shown.marks) == 1


@pytest.mark.parametrize(
    ("text", "number", "line"),
    [
        ("def f():\n    x", 2, 1),
        ("async def f():\n    x", 2, 1),
        ("def f():\n    def g():\n        y\n    x", 4, 1),
        ("def f():\n    y\nx", 3, None),
        ("define = 1\n    x", 2, None),
        ("x", 1, None),
    ],
)
def test_enclosing_definition(text: str, number: int, line: int | None) -> None:
    assert enclosing_definition(text.split("\n"), number) == line
