"""The card as a whole, and the payload that carries it."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pallas_magic import render
from pallas_magic.render.card import build_card, executed_cell
from pallas_magic.render.inline import plain
from pallas_magic.report import Label, Report, Source, Span
from tests.render import samples, shapes
from tests.render.write_files import PAYLOADS, SHARED, payload_of

REPORTS = [samples.histogram, samples.proving, *shapes.ALL]


@pytest.mark.parametrize("make", REPORTS, ids=lambda make: make.__name__)
def test_payload_is_plain_json_round_the_report(make: Any) -> None:
    payload = render.payload(make(), {})
    assert json.loads(json.dumps(payload, allow_nan=False)) == payload
    assert Report.from_dict(payload) == make()
    assert {name: value for name, value in payload.items() if name != "card"} == make().to_dict()


@pytest.mark.parametrize("make", SHARED, ids=lambda make: make.__name__)
def test_the_notebook_extension_is_tested_with_what_is_made_here(make: Any) -> None:
    written = (PAYLOADS / f"{make.__name__}.json").read_text(encoding="utf-8")
    assert json.loads(written) == json.loads(payload_of(make))


def test_head() -> None:
    card = build_card(samples.histogram(), {})
    assert card.state == "done"
    assert card.title == "2 errors in 1 kernel"
    assert card.subtitle == (("code", "histogram_kernel"), ("text", " · lowering for TPU v5e"))
    assert card.kernels == card.notes == ()
    assert build_card(samples.proving(), {}).state == "proving"


def test_marks_are_numbered_from_the_primary() -> None:
    marks = build_card(shapes.three_marks(), {}).diagnostics[0].marks
    assert [(mark.role, mark.text) for mark in marks] == [
        ("primary", "vector store"),
        ("effect", "another one"),
        ("effect", "and another"),
    ]


@pytest.mark.parametrize(
    ("report", "places"),
    [
        (samples.histogram(), ["In[4], line 9", "In[4], line 10"]),
        (shapes.in_file(), ["kernels.py, line 1205"]),
        (
            shapes.warnings(),
            ["In[1], line 2 · kernel · TPU v5e", "line not known · other · H100"],
        ),
    ],
)
def test_where(report: Report, places: list[str]) -> None:
    assert [found.where for found in build_card(report, {}).diagnostics] == places


def test_pages_go_to_their_codes() -> None:
    card = build_card(samples.histogram(), {"PM101": "# Page"})
    assert [found.page for found in card.diagnostics] == ["# Page", ""]


@pytest.mark.parametrize("attributes", [{}, {"pages": None}])
def test_rules_without_pages_leave_them_empty(
    monkeypatch: pytest.MonkeyPatch, attributes: dict[str, object]
) -> None:
    module = ModuleType("pallas_magic.rules")
    vars(module).update(dict.fromkeys(attributes, _missing))
    monkeypatch.setitem(sys.modules, "pallas_magic.rules", module)
    card = build_card(samples.histogram())
    assert [found.page for found in card.diagnostics] == ["", ""]


def _missing() -> object:
    raise ImportError("a rule that cannot be imported")


def test_pages_come_from_the_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("pallas_magic.rules")
    vars(module)["pages"] = lambda: {"PM102": "the page"}
    monkeypatch.setitem(sys.modules, "pallas_magic.rules", module)
    assert build_card(samples.histogram()).diagnostics[1].page == "the page"


def test_only_what_no_rule_knows_has_a_bug_report() -> None:
    assert build_card(samples.histogram(), {}).diagnostics[0].bug_report == ""
    report = build_card(shapes.unknown(), {}).diagnostics[0].bug_report
    *lines, versions = report.rstrip().split("\n")
    assert lines[:9] == [
        "**Pallas lower error** in `kernel` for TPU v5e",
        "",
        "JAX cannot lower `sort` for this target",
        "",
        "In[1]:",
        "",
        "```python",
        "def kernel(x_ref, o_ref):",
        "    o_ref[...] = jnp.sort(x_ref[...])",
    ]
    assert "NotImplementedError: Unimplemented primitive in Pallas TPU lowering: sort" in lines
    assert versions.startswith("At In[1], line 2. Versions: Python 3.")


def test_a_fence_in_a_bug_report_is_outdone() -> None:
    report = shapes.unknown()
    diagnostic = dataclasses.replace(report.diagnostics[0], original="a\n```\nb")
    changed = dataclasses.replace(report, diagnostics=(diagnostic,))
    assert "````text\na\n```\nb\n````" in build_card(changed, {}).diagnostics[0].bug_report


def test_a_module_in_an_error_is_cut() -> None:
    report = shapes.unknown()
    diagnostic = dataclasses.replace(report.diagnostics[0], original="x" * 1_000_000)
    shown = build_card(dataclasses.replace(report, diagnostics=(diagnostic,)), {}).diagnostics[0]
    assert shown.original.endswith("x\n… 950000 more characters")
    assert len(shown.bug_report) < 60_000


@pytest.mark.parametrize(
    ("number", "marks", "notes"),
    [
        (50, 51, []),
        (51, 51, ["1 more place of the same diagnostic"]),
        (60, 51, ["10 more places of the same diagnostic"]),
    ],
)
def test_labels_are_cut(number: int, marks: int, notes: list[str]) -> None:
    text = "o[0] = x\n" * 100
    labels = tuple(
        Label(Span("cell", line, 0, line, 4), "and here", "effect") for line in range(2, 2 + number)
    )
    report = shapes.marked(text, ("o[0]", "vector store"), labels=labels)
    shown = build_card(report, {}).diagnostics[0]
    assert len(shown.marks) == marks
    assert [plain(note) for note in shown.notes] == notes


@pytest.mark.parametrize(
    ("report", "insertable", "elsewhere"),
    [
        (samples.histogram(), [True, True, True, True], ["", "", "", ""]),
        (samples.proving(), [False] * 4, [""] * 4),
        (shapes.across_cells(), [True, False], ["", "In[3]"]),
        (shapes.in_file(), [False], ["kernels.py"]),
        (shapes.idea(), [False, False], ["", ""]),
    ],
    ids=["histogram", "proving", "across_cells", "in_file", "idea"],
)
def test_what_may_be_inserted(report: Report, insertable: list[bool], elsewhere: list[str]) -> None:
    fixes = [fix for found in build_card(report, {}).diagnostics for fix in found.fixes]
    assert [fix.insertable for fix in fixes] == insertable
    assert [fix.elsewhere for fix in fixes] == elsewhere


def test_the_executed_cell_may_be_told() -> None:
    card = build_card(shapes.across_cells(), {}, here="cell-3")
    fixes = card.diagnostics[0].fixes
    assert [fix.insertable for fix in fixes] == [False, False]
    assert [fix.elsewhere for fix in fixes] == ["In[5]", "In[5]"]


def test_combined() -> None:
    combined = build_card(samples.histogram(), {}).combined
    assert combined is not None
    assert (combined.ids, combined.name) == ((1, 3), "Insert all 2 fixes")
    assert combined.proof == (("ok", "lowers"), ("ok", "same values"))
    assert combined.insertable


def test_one_fix_alone_is_not_combined() -> None:
    report = samples.histogram()
    assert report.combined is not None
    alone = dataclasses.replace(report.combined, ids=(1,))
    assert build_card(dataclasses.replace(report, combined=alone), {}).combined is None


@pytest.mark.parametrize(
    ("labels", "key"),
    [
        ({"a": "In[9]", "b": "In[10]"}, "b"),
        ({"a": "In[10]", "b": "In[9]"}, "a"),
        ({"a": "a cell", "b": "In[1]"}, "b"),
        ({"a": "a cell", "b": "another"}, "a"),
        ({}, None),
    ],
)
def test_executed_cell(labels: dict[str, str], key: str | None) -> None:
    cells = {name: Source("cell", label, "") for name, label in labels.items()}
    assert executed_cell({"f": Source("file", "In[99]", ""), **cells}) == key


def test_notes_of_a_report_without_kernels_follow_its_title() -> None:
    card = build_card(shapes.nothing(), {})
    assert card.title == "no Pallas call in this cell"
    assert card.notes == ((("code", "kernel"), ("text", " was not called")),)


def test_building_a_card_imports_neither_jax_nor_widgets() -> None:
    code = (
        "import sys, pallas_magic.render as r; before = set(sys.modules)\n"
        "from tests.render.samples import histogram\n"
        "assert not {'pygments', 'ipywidgets'} & set(sys.modules)\n"
        "r.payload(histogram(), {})\n"
        "assert not {'jax', 'ipywidgets'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])


@pytest.mark.parametrize(
    ("make", "doing", "state", "shown"),
    [
        (samples.histogram, "", "done", ""),
        (samples.proving, "", "proving", "proving…"),
        (samples.proving, "proving 2 of 4", "proving", "proving 2 of 4…"),
        (shapes.clean, "compiling 3 of 9", "proving", "compiling 3 of 9…"),
        (shapes.clean, "compiling 3 of 9…", "proving", "compiling 3 of 9…"),
        (shapes.clean, "\x1b[31m", "proving", "␛[31m…"),
    ],
)
def test_progress(make: Any, doing: str, state: str, shown: str) -> None:
    card = render.payload(make(), {}, progress=doing)["card"]
    assert (card["state"], card["progress"]) == (state, shown)
