"""The card without a mouse: commands of the palette, Tab and Enter, shortcuts."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenNotebook, lab_only
from tests.browser.notebook_page import NotebookPage
from tests.browser.payloads import FIX_1, TEXT, card_cell, counts_fixed, sample, total_fixed
from tests.browser.server import Server, code_cell


@pytest.fixture
def opened(server: Server, open_notebook: OpenNotebook) -> NotebookPage:
    cells = [code_cell("first = 1", "first"), card_cell(), code_cell("last = 1", "last")]
    server.write_notebook("keyboard.ipynb", cells)
    opened = open_notebook("keyboard.ipynb")
    expect(opened.card(1)).to_be_visible()
    return opened


def test_next_finding_goes_round(opened: NotebookPage) -> None:
    findings = opened.card(1).locator(".pm-finding")
    opened.command("pallas-magic:next-finding")
    expect(findings.nth(0)).to_be_focused()
    opened.command("pallas-magic:next-finding")
    expect(findings.nth(1)).to_be_focused()
    expect(opened.card(1).locator(".pm-diagnostic").nth(1)).to_have_attribute("open", "")
    opened.screenshot("keyboard-focus")
    opened.command("pallas-magic:next-finding")
    expect(findings.nth(0)).to_be_focused()


def test_insert_fix_inserts_that_of_the_focused_finding(opened: NotebookPage) -> None:
    opened.command("pallas-magic:next-finding")
    opened.command("pallas-magic:next-finding")
    opened.command("pallas-magic:insert-fix")
    assert opened.cell_text(1) == total_fixed(TEXT)
    expect(opened.editor(1)).to_be_focused()
    opened.undo()
    assert opened.cell_text(1) == TEXT


@lab_only
def test_insert_fix_in_the_active_cell(opened: NotebookPage) -> None:
    opened.activate(1)
    opened.command("pallas-magic:insert-fix")
    assert opened.cell_text(1) == counts_fixed(TEXT)


@lab_only
def test_insert_fix_without_a_finding_says_so(opened: NotebookPage) -> None:
    opened.activate(2)
    opened.command("pallas-magic:insert-fix")
    expect(opened.announced()).to_have_text("No fix to insert here")
    assert opened.cell_text(1) == TEXT


def test_shortcuts(opened: NotebookPage) -> None:
    opened.activate(0)
    opened.cell(0).focus()
    opened.page.keyboard.press("Alt+F8")
    expect(opened.card(1).locator(".pm-finding").first).to_be_focused()
    opened.page.keyboard.press("Alt+Shift+F8")
    assert opened.cell_text(1) == counts_fixed(TEXT)


def test_tab_and_enter(opened: NotebookPage) -> None:
    opened.command("pallas-magic:next-finding")
    # On the way lie the place of the finding and its code.
    for _ in range(3):
        opened.page.keyboard.press("Tab")
    expect(opened.button(1, FIX_1)).to_be_focused()
    opened.page.keyboard.press("Enter")
    assert opened.cell_text(1) == counts_fixed(TEXT)


@lab_only
def test_space_folds_a_finding(opened: NotebookPage) -> None:
    opened.command("pallas-magic:next-finding")
    opened.page.keyboard.press("Space")
    expect(opened.card(1).locator(".pm-diagnostic").first).not_to_have_attribute("open", "")
    assert opened.cell_text(1) == TEXT


@lab_only
def test_a_stale_card_inserts_nothing(server: Server, open_notebook: OpenNotebook) -> None:
    server.write_notebook("stale.ipynb", [card_cell(sample(), text=TEXT + "#")])
    opened = open_notebook("stale.ipynb")
    expect(opened.button(0, FIX_1)).to_be_disabled()
    opened.activate(0)
    opened.command("pallas-magic:insert-fix")
    assert opened.cell_text(0) == TEXT + "#"
