"""The whole path in a browser: a real kernel checks a cell, and what it proved is inserted.

What the page does with a payload has tests of its own; here it is the engine's.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import Kept, lab_only
from tests.browser.engine_cells import (
    CHECKED_HISTOGRAM,
    DOUBLED,
    HISTOGRAM_FIX_1,
    LOSSES,
    LOSSES_FIX_1,
    LOSSES_FIX_3,
    LOSSES_FIX_ALL,
    LOWERED,
    SETUP,
    ZEROS,
    ZEROS_FIX_1,
    counts_in_vmem,
    rows_in_vmem,
    total_in_smem,
    zeros_hoisted,
)
from tests.browser.notebook_page import NotebookPage
from tests.browser.server import Server, code_cell

# Where a compiler is installed, "compiles" stands between them.
PROVED = re.compile(r"^lowers ✓.*same values ✓$")

# The cell has ended by then: what is waited for is only that its outputs are drawn.
DRAWN_MS = 30_000

Checked = Callable[[str], NotebookPage]


@pytest.fixture
def checked(kept: Kept) -> Checked:
    """Opens a notebook with one cell, runs it in the shared kernel, and waits for its card."""

    def check(text: str) -> NotebookPage:
        opened = kept([code_cell(SETUP, "setup"), code_cell(text, "cell")])
        opened.run(0)
        opened.run(1)
        expect(opened.card(1).locator(".pm-status")).to_be_empty(timeout=DRAWN_MS)
        return opened

    return check


def finding(opened: NotebookPage, number: int = 0) -> Locator:
    return opened.card(1).locator(".pm-diagnostic").nth(number)


def insert_undo_insert(opened: NotebookPage, fix: str, before: str, after: str) -> None:
    """Press a fix, take it back, and press it again; the cell's text is compared each time."""
    assert opened.cell_text(1) == before
    opened.button(1, fix).click()
    assert opened.cell_text(1) == after
    opened.undo()
    assert opened.cell_text(1) == before
    opened.button(1, fix).click()
    assert opened.cell_text(1) == after


def expect_clean(opened: NotebookPage, line: str) -> None:
    """Run the cell again: its card has nothing but a kernel's one line."""
    opened.run(1)
    expect(opened.card(1).locator(".pm-kernel")).to_have_text([re.compile(line)], timeout=DRAWN_MS)
    expect(opened.card(1).locator(".pm-diagnostic")).to_have_count(0)
    expect(opened.card(1)).to_have_count(1)


def test_a_vector_store_to_smem(checked: Checked) -> None:
    opened = checked(CHECKED_HISTOGRAM)
    card = opened.card(1)
    expect(card.locator(".pm-head b")).to_have_text("1 error in 1 kernel")
    expect(card.locator(".pm-head .pm-dim")).to_have_text("histogram · lowering for TPU v5e")
    expect(finding(opened).locator(".pm-finding")).to_contain_text(
        "PM101 counts_ref is in SMEM, which holds scalars; this stores an int32[128] vector"
    )
    expect(finding(opened).locator("mark")).to_have_text(["counts_ref[...]", "pltpu.SMEM"])
    expect(finding(opened).locator(".pm-says")).to_have_text(
        ["↑ vector store", "↑ put in SMEM here"]
    )
    expect(finding(opened).locator(".pm-proofs")).to_have_text([PROVED, PROVED])
    expect(
        opened.cell(1).locator(".jp-OutputArea-output", has_text="PallasCheckError")
    ).to_have_text("PallasCheckError: 1 error in 1 kernel: see the card above")
    opened.screenshot("smem-vector-store", opened.cell(1))
    fixed = counts_in_vmem(CHECKED_HISTOGRAM)
    insert_undo_insert(opened, HISTOGRAM_FIX_1, CHECKED_HISTOGRAM, fixed)
    expect_clean(opened, r"^histogram ✓ lowers for TPU v5e")
    expect(opened.cell(1).locator(".jp-OutputArea-output")).to_have_text(
        [re.compile(r"^Array\(512, dtype=int32\)"), re.compile("histogram ✓")]
    )


def test_a_vector_store_in_a_warp_region(checked: Checked) -> None:
    opened = checked(ZEROS)
    expect(opened.card(1).locator(".pm-head .pm-dim")).to_have_text("zeros · lowering for H100")
    expect(finding(opened).locator(".pm-finding")).to_contain_text(
        "PM701 block is stored as a float32[128] vector inside a warp-level region, which takes "
        "scalars only"
    )
    expect(finding(opened).locator("mark")).to_have_text(["plgpu.warp_map", "block[...]"])
    expect(finding(opened).locator(".pm-proofs")).to_have_text([PROVED, PROVED])
    opened.screenshot("warp-vector-store", opened.cell(1))
    insert_undo_insert(opened, ZEROS_FIX_1, ZEROS, zeros_hoisted(ZEROS))
    expect_clean(opened, r"^zeros ✓ lowers for H100")


@lab_only
def test_two_errors_one_then_the_other(checked: Checked) -> None:
    opened = checked(LOSSES)
    expect(opened.card(1).locator(".pm-head b")).to_have_text("2 errors in 1 kernel")
    opened.button(1, LOSSES_FIX_1).click()
    assert opened.cell_text(1) == rows_in_vmem(LOSSES)
    finding(opened, 1).locator(".pm-finding").click()
    opened.button(1, LOSSES_FIX_3).click()
    assert opened.cell_text(1) == total_in_smem(rows_in_vmem(LOSSES))
    expect_clean(opened, r"^losses ✓ lowers for TPU v5e")


def test_two_errors_all_at_once(checked: Checked) -> None:
    opened = checked(LOSSES)
    opened.screenshot("two-errors", opened.cell(1))
    insert_undo_insert(opened, LOSSES_FIX_ALL, LOSSES, total_in_smem(rows_in_vmem(LOSSES)))
    expect_clean(opened, r"^losses ✓ lowers for TPU v5e")


@lab_only
def test_a_changed_cell_is_refused(checked: Checked) -> None:
    opened = checked(CHECKED_HISTOGRAM)
    changed = CHECKED_HISTOGRAM.replace("above", "over")
    opened.set_cell_text(1, changed)
    expect(opened.card(1).locator(".pm-status")).to_have_text("cell changed: run again")
    expect(opened.button(1, HISTOGRAM_FIX_1)).to_be_disabled()
    opened.button(1, HISTOGRAM_FIX_1).evaluate(
        "button => { button.disabled = false; button.click(); }"
    )
    assert opened.cell_text(1) == changed


@lab_only
def test_the_quick_fix_of_a_squiggle(checked: Checked) -> None:
    opened = checked(CHECKED_HISTOGRAM)
    squiggles = opened.editor(1).locator(".cm-lintRange-error")
    expect(squiggles).to_have_text(["counts_ref[...]"])
    squiggles.hover()
    tooltip = opened.page.locator(".cm-tooltip-lint .cm-diagnostic")
    tooltip.get_by_role("button", name="Insert fix 1").click()
    assert opened.cell_text(1) == counts_in_vmem(CHECKED_HISTOGRAM)
    expect(squiggles).to_have_count(0)


@lab_only
def test_a_copy_beside_it_stays_as_it_is(checked: Checked, server: Server) -> None:
    opened = checked(CHECKED_HISTOGRAM)
    opened.save()
    copy = server.write_notebook(
        f"copy-of-{opened.name}", server.read_notebook(opened.name)["cells"]
    )
    opened.open_beside(copy)
    expect(opened.button(1, HISTOGRAM_FIX_1)).to_be_visible()
    opened.button(1, HISTOGRAM_FIX_1).click()
    assert opened.cell_text(1) == counts_in_vmem(CHECKED_HISTOGRAM)
    assert opened.cell_text(1, opened.name) == CHECKED_HISTOGRAM


@lab_only
def test_a_plain_cell_that_fails_to_lower(checked: Checked) -> None:
    opened = checked(LOWERED)
    expect(finding(opened).locator(".pm-finding")).to_contain_text(
        "PM101 counts_ref is in SMEM, which holds scalars; this stores an int32[128] vector"
    )
    expect(finding(opened).locator(".pm-proofs")).to_have_text([PROVED, PROVED])
    error = opened.cell(1).locator('[data-mime-type="application/vnd.jupyter.stderr"]')
    expect(error).to_contain_text("ValueError: Can only store scalars to SMEM")
    expect(error).to_contain_text("Cut to your own lines")
    opened.screenshot("plain-cell", opened.cell(1))
    insert_undo_insert(opened, HISTOGRAM_FIX_1, LOWERED, counts_in_vmem(LOWERED))


@lab_only
def test_a_plain_call_on_the_cpu(checked: Checked) -> None:
    opened = checked(DOUBLED)
    expect(finding(opened).locator(".pm-finding")).to_contain_text(
        "PM901 double was called on a CPU, which can only interpret it"
    )
    opened.screenshot("no-accelerator", opened.cell(1))
    fix = "Insert fix 1: Check it for a TPU or GPU with %%pallas_check"
    insert_undo_insert(opened, fix, DOUBLED, f"%%pallas_check\n{DOUBLED}")
    expect_clean(opened, r"^double ✓ lowers for TPU v5e")
