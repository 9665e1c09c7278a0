"""Squiggles in the cell, their hover, their quick fix, and the setting that turns them off."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import OpenNotebook, lab_only
from tests.browser.notebook_page import NotebookPage
from tests.browser.payloads import FIX_1, TEXT, card_cell, counts_fixed, total_fixed
from tests.browser.server import Server, code_cell


@pytest.fixture
def opened(server: Server, open_notebook: OpenNotebook) -> NotebookPage:
    server.write_notebook("squiggles.ipynb", [card_cell(), code_cell("other = 1", "other")])
    return open_notebook("squiggles.ipynb")


def squiggles(opened: NotebookPage, kind: str = "error", index: int = 0) -> Locator:
    return opened.editor(index).locator(f".cm-lintRange-{kind}")


def tooltip(opened: NotebookPage) -> Locator:
    return opened.page.locator(".cm-tooltip-lint .cm-diagnostic")


def test_what_is_wrong_and_what_caused_it_are_underlined(opened: NotebookPage) -> None:
    expect(squiggles(opened)).to_have_text(["counts_ref[...]", "total_ref[0, 0]"])
    expect(squiggles(opened, "info")).to_have_text(["pltpu.SMEM", "pltpu.VMEM"])
    expect(squiggles(opened, index=1)).to_have_count(0)


def test_hover_says_why(opened: NotebookPage) -> None:
    squiggles(opened).first.hover()
    expect(tooltip(opened)).to_contain_text(
        "PM101 counts_ref is in SMEM, which holds scalars; this stores an int32[128] vector"
    )
    expect(tooltip(opened).locator("code").first).to_have_text("counts_ref")
    opened.screenshot("squiggle-hover")


def test_quick_fix_inserts_as_the_card_does(opened: NotebookPage) -> None:
    squiggles(opened).first.hover()
    tooltip(opened).get_by_role("button", name="Insert fix 1").click()
    assert opened.cell_text(0) == counts_fixed(TEXT)
    expect(opened.announced()).to_have_text("Fix inserted. Run the cell again to check it.")
    expect(opened.card(0).locator(".pm-state").first).to_have_text("✓ Inserted")
    expect(squiggles(opened)).to_have_text(["total_ref[0, 0]"])
    squiggles(opened).first.hover()
    tooltip(opened).get_by_role("button", name="Insert fix 3").click()
    assert opened.cell_text(0) == counts_fixed(total_fixed(TEXT))
    expect(squiggles(opened)).to_have_count(0)
    opened.undo()
    opened.undo()
    assert opened.cell_text(0) == TEXT
    expect(squiggles(opened)).to_have_text(["counts_ref[...]", "total_ref[0, 0]"])


@lab_only
def test_a_changed_cell_has_none(opened: NotebookPage) -> None:
    expect(squiggles(opened)).to_have_count(2)
    opened.editor(0).press("End")
    opened.page.keyboard.type("#")
    expect(squiggles(opened)).to_have_count(0)
    opened.undo()
    expect(squiggles(opened)).to_have_count(2)


@lab_only
def test_they_go_with_the_output(opened: NotebookPage) -> None:
    expect(squiggles(opened)).to_have_count(2)
    opened.activate(0)
    opened.command("notebook:clear-cell-output")
    expect(opened.card(0)).to_have_count(0)
    expect(squiggles(opened)).to_have_count(0)


@lab_only
def test_the_setting_turns_them_off(opened: NotebookPage) -> None:
    expect(squiggles(opened)).to_have_count(2)
    opened.setting("pallas-magic:plugin", "squiggles", False)
    try:
        expect(squiggles(opened)).to_have_count(0)
        expect(opened.button(0, FIX_1)).to_be_enabled()
    finally:
        opened.setting("pallas-magic:plugin", "squiggles", True)
    expect(squiggles(opened)).to_have_count(2)
