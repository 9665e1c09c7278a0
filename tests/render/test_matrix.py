"""The chip matrix: cells, lines, reasons, and which chips a diagnostic is of."""

from __future__ import annotations

import dataclasses
import re
import shutil

import pytest

from pallas_magic.compile_stage import COMPILING
from pallas_magic.render.card import build_card
from pallas_magic.render.chips import chip_list
from pallas_magic.render.html import render_html
from pallas_magic.render.inline import ticked
from pallas_magic.render.model import ChipMatrix, KernelRows
from pallas_magic.render.text import render_text
from pallas_magic.report import Diagnostic, KernelReport, Report, StageResult
from tests.render import chip_shapes, samples, shapes
from tests.render.chip_shapes import FOR_TPUS, OK, found, kernel
from tests.render.samples import FAILED
from tests.render.test_html import Reader

CELL = {"ok": "+", "failed": "x", "skipped": "-", "waiting": "~", "none": " "}
NO_COMPILER = StageResult("skipped", 0.0, "no compiler for GPUs is installed")
COMPILES = StageResult("skipped", 0.0, COMPILING)
NOT_LOWERED = StageResult("skipped", 0.0, "the kernel does not lower")


def matrix(report: Report) -> ChipMatrix:
    chips = build_card(report, {}).chips
    assert chips is not None
    return chips


def rows(kernel_rows: KernelRows) -> list[str]:
    """ "compile + x[0]": each row as a line."""
    return [
        " ".join([row.stage, *(CELL[one.status] + _found(one.found) for one in row.cells)])
        for row in kernel_rows.rows
    ]


def _found(numbers: tuple[int, ...]) -> str:
    return str([*numbers]) if numbers else ""


def test_a_matrix_is_for_several_chips_of_a_kernel() -> None:
    for make in (samples.histogram, shapes.clean, shapes.nothing, chip_shapes.memory):
        assert build_card(make(), {}).chips is None
    card = build_card(chip_shapes.chips(), {})
    assert card.chips is not None
    assert card.kernels == ()


def test_cells() -> None:
    found = matrix(chip_shapes.chips())
    assert found.caption == "3 kernels on 6 chips"
    assert found.chips == ("TPU v4", "TPU v5e", "TPU v6e", "TPU v7x", "A100", "H100")
    assert [(one.name, one.calls, rows(one)) for one in found.kernels] == [
        ("product", "", ["compile x[0] + + + - -"]),
        ("histogram_kernel", "", ["lower x[1, 2] x[1, 2] x[1, 2] x[1, 2] - -"]),
        ("softmax", "2 calls", ["compile         + +[3]"]),
    ]
    assert [ticked(reason) for reason in found.reasons] == [
        "`product` and `histogram_kernel` on A100 and H100: it is written for TPUs"
    ]


def test_a_cell_tells_every_stage() -> None:
    product, histogram, softmax = matrix(chip_shapes.chips()).kernels
    assert product.rows[0].cells[0].about == "trace ok, lower ok (250 ms), compile failed (21 ms)"
    assert product.rows[0].cells[4].about == "trace ok, lower skipped: it is written for TPUs"
    assert histogram.rows[0].cells[0].about == (
        "trace ok, lower failed (21 ms), compile skipped: it does not lower"
    )
    assert softmax.rows[0].cells[0].about == ""


def test_what_all_kernels_have_in_common_is_told_without_their_names() -> None:
    found = matrix(chip_shapes.clean_chips())
    assert found.caption == "no errors in 2 kernels on 6 chips"
    assert [ticked(reason) for reason in found.reasons] == ["A100 and H100: it is written for TPUs"]


@pytest.mark.parametrize(
    ("kernels", "expected", "lines"),
    [
        (
            [kernel("k", "tpu:v4", FAILED, NOT_LOWERED), kernel("k", "tpu:v5e", OK, OK)],
            ["lower x +", "compile - +"],
            ["✓ compiles for TPU v5e (500 ms)", "✗ does not lower for TPU v4"],
        ),
        (
            [kernel("k", "tpu:v4", OK, OK), kernel("k", "gpu:h100", OK, NO_COMPILER)],
            ["lower + +", "compile + -"],
            [
                "✓ compiles for TPU v4 (500 ms)",
                "✓ lowers for H100 (250 ms): not compiled, no compiler for GPUs is installed",
            ],
        ),
        (
            [kernel("k", "tpu:v4", OK, FAILED), kernel("k", "tpu:v5e", OK, COMPILES)],
            ["lower + +", "compile x ~"],
            ["✓ lowers for TPU v5e (250 ms)", "✗ does not compile for TPU v4"],
        ),
        (
            [kernel("k", name, OK, COMPILES) for name in ("tpu:v4", "tpu:v5e")],
            ["lower + +"],
            ["✓ lowers for TPU v4 and v5e (500 ms)"],
        ),
        (
            [kernel("k", name, OK, NO_COMPILER) for name in ("gpu:a100", "gpu:h100")],
            ["lower + +"],
            ["✓ lowers for A100 and H100 (500 ms)"],
        ),
        (
            [kernel("k", name, FOR_TPUS, FOR_TPUS) for name in ("gpu:a100", "gpu:h100")],
            ["lower - -"],
            ["skipped for A100 and H100: it is written for TPUs"],
        ),
        (
            [
                kernel("k", "tpu:v4", StageResult("failed", 1.0, "took over 30 s"), NOT_LOWERED),
                KernelReport("k", "tpu:v5e", {"trace": FAILED}),
            ],
            ["trace + x", "lower x  "],
            ["✗ does not lower for TPU v4: took over 30 s", "✗ does not trace for TPU v5e"],
        ),
    ],
)
def test_rows_are_of_stages_that_decided(
    kernels: list[KernelReport], expected: list[str], lines: list[str]
) -> None:
    [one] = matrix(Report(tuple(kernels), (), {})).kernels
    assert rows(one) == expected
    assert [ticked(line) for line in one.lines] == lines


def test_a_compiler_that_gave_up_is_told_by_its_warning() -> None:
    lost = StageResult("skipped", 0.5, "the compiler crashes on it")
    warning = dataclasses.replace(
        found("PM902", "compiler-lost", "k", ("tpu:v4",)), severity="warning"
    )
    kernels = (kernel("k", "tpu:v4", OK, lost), kernel("k", "tpu:v5e", OK, OK))
    [one] = matrix(
        dataclasses.replace(chip_shapes.chips(), kernels=kernels, diagnostics=(warning,))
    ).kernels
    assert rows(one) == ["compile -[0] +"]
    assert [ticked(line) for line in one.lines] == [
        "✓ compiles for TPU v5e (500 ms)",
        "not compiled for TPU v4 (PM902)",
    ]


def _calls(*ends: tuple[str, str]) -> Report:
    """Calls of one kernel, each ending as ``ends`` says on v4 and on v5e."""
    results = {"ok": OK, "failed": FAILED}
    kernels = [
        kernel("k", target, OK, results[end])
        for call in ends
        for target, end in zip(("tpu:v4", "tpu:v5e"), call, strict=True)
    ]
    error = found("PM403", "matmul-types", "k", ("tpu:v4",))
    return dataclasses.replace(chip_shapes.chips(), kernels=tuple(kernels), diagnostics=(error,))


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (_calls(("ok", "ok"), ("ok", "ok")), [("2 calls", "compile + +")]),
        (
            _calls(("ok", "ok"), ("failed", "ok"), ("ok", "ok")),
            [("calls 1 and 3", "compile + +"), ("call 2", "compile x[0] +")],
        ),
        # An error of one chip is not of a call that fails nowhere on it.
        (
            _calls(("ok", "failed"), ("failed", "ok")),
            [("call 1", "compile + x"), ("call 2", "compile x[0] +")],
        ),
        (
            _calls(*[("ok", "ok")] * 5, ("failed", "ok")),
            [("5 of 6 calls", "compile + +"), ("call 6", "compile x[0] +")],
        ),
    ],
)
def test_calls_that_end_alike_are_one_row(report: Report, expected: list[tuple[str, str]]) -> None:
    kernels = matrix(report).kernels
    assert [(one.calls, *rows(one)) for one in kernels] == expected


def test_calls_are_the_same_in_any_order_of_chips() -> None:
    report = _calls(("ok", "ok"), ("failed", "ok"))
    by_chip = tuple(sorted(report.kernels, key=lambda one: one.target))
    assert matrix(dataclasses.replace(report, kernels=by_chip)) == matrix(report)


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], ""),
        (["tpu:v4"], "TPU v4"),
        (["tpu:v4", "tpu:v5e", "tpu:v7x"], "TPU v4, v5e and v7x"),
        (["tpu:v4", "gpu:a100", "gpu:h100"], "TPU v4, A100 and H100"),
        (["gpu:a100", "tpu:v4", "tpu:v5e"], "A100, TPU v4 and v5e"),
        (["another"], "another"),
    ],
)
def test_chip_list(names: list[str], text: str) -> None:
    assert chip_list(names) == text


def test_which_chips_a_diagnostic_is_of() -> None:
    assert [shown.chips for shown in build_card(chip_shapes.chips(), {}).diagnostics] == [
        "on TPU v4 only; v5e, v6e and v7x take it",
        "on TPU v4, v5e, v6e and v7x",
        "on TPU v4, v5e, v6e and v7x",
        "on H100",
    ]


@pytest.mark.parametrize(
    ("others", "said"),
    [
        ([kernel("k", "tpu:v5e", OK, OK)], "on TPU v4 only; v5e takes it"),
        ([kernel("k", "gpu:h100", OK, OK)], "on TPU v4 only; H100 takes it"),
        # Lowered is not compiled, and of what was not compiled nothing is known here.
        ([kernel("k", "tpu:v5e", OK, NO_COMPILER)], "on TPU v4"),
        ([kernel("k", "tpu:v5e", FAILED, NOT_LOWERED)], "on TPU v4"),
        ([kernel("k", "tpu:v5e", FOR_TPUS, FOR_TPUS)], "on TPU v4"),
        ([kernel("k", "tpu:v5e", OK, OK), kernel("k", "tpu:v5e", OK, FAILED)], "on TPU v4"),
        (
            [kernel("k", "tpu:v4", OK, OK), kernel("k", "tpu:v5e", OK, OK)],
            "on TPU v4 only; v5e takes it",
        ),
        (
            [kernel("other", "tpu:v5e", OK, OK), kernel("k", "gpu:h100", FOR_TPUS, FOR_TPUS)],
            "on TPU v4",
        ),
    ],
)
def test_who_takes_it(others: list[KernelReport], said: str) -> None:
    assert _chips(found("PM403", "matmul-types", "k", ("tpu:v4",)), others) == said


def test_who_lowers_it_where_nothing_is_compiled() -> None:
    error = dataclasses.replace(found("PM101", "a-rule", "k", ("tpu:v4",)), stage="lower")
    others = [kernel("k", target, OK, NO_COMPILER) for target in ("tpu:v5e", "tpu:v6e")]
    assert _chips(error, others[:1]) == "on TPU v4 only; v5e lowers it"
    assert _chips(error, others) == "on TPU v4 only; v5e and v6e lower it"


def _chips(error: Diagnostic, others: list[KernelReport]) -> str:
    kernels = (kernel("k", "tpu:v4", OK, FAILED), *others)
    report = dataclasses.replace(chip_shapes.chips(), kernels=kernels, diagnostics=(error,))
    return build_card(report, {}).diagnostics[0].chips


def test_only_codes_of_several_diagnostics_are_numbered() -> None:
    shown = build_card(chip_shapes.chips(), {}).diagnostics
    assert [one.reference for one in shown] == ["PM403", "PM101 [2]", "PM101 [3]", "PM803"]


def test_cells_of_the_html_lead_to_their_diagnostics() -> None:
    read = Reader(render_html(chip_shapes.chips(), {}))
    ids = [attributes["id"] for _, attributes in read.elements if "id" in attributes]
    links = [attributes["href"] for tag, attributes in read.elements if tag == "a"]
    assert len(set(ids)) == len(ids) == 4
    assert [ids.index(link.removeprefix("#")) for link in links] == [0, *[1, 2] * 4, 3]
    assert all(re.fullmatch(r"pm-[0-9a-f]{8}-\d", one) for one in ids)


@pytest.mark.browser
def test_a_link_opens_the_diagnostic_of_its_own_card() -> None:
    from playwright.sync_api import sync_playwright

    cards = [render_html(chip_shapes.chips(), {}) for _ in range(2)]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--headless", "--no-sandbox", "--disable-gpu"],
        )
        page = browser.new_page(viewport={"width": 1000, "height": 500})
        page.set_content("<!doctype html>" + "".join(cards))
        page.locator("section").nth(1).get_by_role("link", name="PM803").click()
        assert page.locator("details.next").evaluate_all("all => all.map(one => one.open)") == [
            *(False, False, False),
            *(False, False, True),
        ]
        top = page.locator("section").nth(1).locator("details[open]").bounding_box()
        browser.close()
    assert top is not None
    assert 0 <= top["y"] < 500


def test_two_cards_on_a_page_share_no_id() -> None:
    twice = [Reader(render_html(chip_shapes.chips(), {})) for _ in range(2)]
    first, second = ({a["id"] for _, a in read.elements if "id" in a} for read in twice)
    assert not first & second


def test_a_card_of_one_chip_has_no_ids() -> None:
    read = Reader(render_html(samples.histogram(), {}))
    assert not any("id" in attributes for _, attributes in read.elements)


def test_the_table_tells_its_rows_and_columns() -> None:
    read = Reader(render_html(chip_shapes.chips(), {}, styled=False))
    table = [(tag, attributes.get("scope", "")) for tag, attributes in read.elements]
    assert table.count(("caption", "")) == 2
    assert table.count(("th", "rowgroup")) == 3
    assert ("th", "col") in table
    signs = [a["aria-label"] for _, a in read.elements if a.get("role") == "img"]
    assert signs[:6] == ["failed", "ok", "ok", "ok", "skipped", "skipped"]


def test_the_text_wraps_and_repeats_nothing() -> None:
    lines = render_text(chip_shapes.clean_chips(), 80).split("\n")
    assert lines[:3] == [
        "matmul  ✓ compiles for TPU v4, v5e, v6e and v7x (2.0 s)",
        "scale   ✓ compiles for TPU v4, v5e, v6e and v7x (2.0 s)",
        "all 2   skipped for A100 and H100: it is written for TPUs",
    ]


def test_what_a_compiler_printed_is_cut() -> None:
    crashed = StageResult("failed", 0.1, "LLVM ERROR: " + "x\n" * 100_000)
    kernels = (kernel("k", "tpu:v4", OK, crashed), kernel("k", "tpu:v5e", OK, OK))
    found = matrix(Report(kernels, (), {}))
    [one] = found.kernels
    longest = max(
        len(text)
        for text in (
            one.rows[0].cells[0].about,
            *map(ticked, one.lines),
            *map(ticked, found.reasons),
        )
    )
    assert 300 < longest < 400
    quiet = build_card(Report(kernels[:1], (), {}), {}).kernels
    assert len(ticked(quiet[0])) < 400
