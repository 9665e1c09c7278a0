"""One-click insertion: what is edited, what is refused, and what undo takes back."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenNotebook, lab_only
from tests.browser.notebook_page import NotebookPage
from tests.browser.payloads import (
    FIX_1,
    FIX_2,
    FIX_3,
    FIX_ALL,
    TEXT,
    Payload,
    card_cell,
    counts_fixed,
    sample,
    source_of,
    total_fixed,
)
from tests.browser.server import Server, code_cell


@pytest.fixture
def opened(server: Server, open_notebook: OpenNotebook) -> NotebookPage:
    server.write_notebook("insert.ipynb", [card_cell(), code_cell("other = 1", "other")])
    return open_notebook("insert.ipynb")


def test_insert_is_one_step_of_undo(opened: NotebookPage) -> None:
    opened.editor(0).press("End")
    opened.page.keyboard.type("  # mine")
    opened.undo()
    assert opened.cell_text(0) == TEXT
    opened.button(0, FIX_1).click()
    assert opened.cell_text(0) == counts_fixed(TEXT)
    expect(opened.announced()).to_have_text("Fix inserted. Run the cell again to check it.")
    expect(opened.card(0).locator(".pm-state").first).to_have_text("✓ Inserted")
    expect(opened.card(0).locator(".pm-state").nth(1)).to_have_text("not needed: fix 1 is in")
    opened.screenshot("inserted")
    opened.undo()
    assert opened.cell_text(0) == TEXT
    expect(opened.announced()).to_have_text("Fix undone")
    expect(opened.button(0, FIX_1)).to_be_enabled()
    opened.redo()
    assert opened.cell_text(0) == counts_fixed(TEXT)
    expect(opened.card(0).locator(".pm-state").first).to_have_text("✓ Inserted")


def test_one_then_the_other(opened: NotebookPage) -> None:
    opened.card(0).locator("summary").filter(has_text="PM102").click()
    opened.button(0, FIX_2).click()
    after_first = opened.cell_text(0)
    assert "for i in range(128):\n        counts_ref[i] = per_lane[i]" in after_first
    opened.button(0, FIX_3).click()
    assert opened.cell_text(0) == total_fixed(after_first)
    opened.undo()
    assert opened.cell_text(0) == after_first
    expect(opened.button(0, FIX_3)).to_be_enabled()
    opened.undo()
    assert opened.cell_text(0) == TEXT
    expect(opened.button(0, FIX_2)).to_be_enabled()


def test_all_at_once(opened: NotebookPage) -> None:
    opened.button(0, FIX_ALL).click()
    assert opened.cell_text(0) == counts_fixed(total_fixed(TEXT))
    expect(opened.button(0, FIX_ALL)).to_be_hidden()
    opened.undo()
    assert opened.cell_text(0) == TEXT
    expect(opened.button(0, FIX_ALL)).to_be_enabled()


@lab_only
def test_all_at_once_is_withdrawn_after_one(opened: NotebookPage) -> None:
    opened.button(0, FIX_1).click()
    expect(opened.card(0).locator(".pm-all")).to_be_hidden()


def test_a_changed_cell_is_stale_until_the_change_is_undone(opened: NotebookPage) -> None:
    opened.editor(0).press("End")
    opened.page.keyboard.type("#")
    expect(opened.card(0).locator(".pm-status")).to_have_text("cell changed: run again")
    expect(opened.announced()).to_have_text("cell changed: run again")
    expect(opened.button(0, FIX_1)).to_be_disabled()
    expect(opened.button(0, FIX_ALL)).to_be_disabled()
    opened.screenshot("stale")
    opened.undo()
    assert opened.cell_text(0) == TEXT
    expect(opened.announced()).to_have_text("The cell is as it was checked")
    expect(opened.button(0, FIX_1)).to_be_enabled()
    expect(opened.card(0).locator(".pm-status")).to_be_empty()


@lab_only
def test_a_change_after_an_insert_is_stale_too(opened: NotebookPage) -> None:
    opened.button(0, FIX_1).click()
    opened.page.keyboard.type("x")
    expect(opened.card(0).locator(".pm-status")).to_have_text("cell changed: run again")
    opened.undo()
    opened.undo()
    assert opened.cell_text(0) == TEXT
    expect(opened.button(0, FIX_1)).to_be_enabled()


@lab_only
def test_a_cell_changed_behind_the_page_is_refused(opened: NotebookPage) -> None:
    changed = TEXT.replace("per_lane", "per_row")
    opened.set_cell_text(0, changed)
    expect(opened.button(0, FIX_1)).to_be_disabled()
    opened.button(0, FIX_1).evaluate("button => { button.disabled = false; button.click(); }")
    assert opened.cell_text(0) == changed


@lab_only
def test_a_notebook_saved_with_a_changed_cell_opens_stale(
    server: Server, open_notebook: OpenNotebook
) -> None:
    server.write_notebook("changed.ipynb", [card_cell(text=TEXT + "# more")])
    opened = open_notebook("changed.ipynb")
    expect(opened.card(0).locator(".pm-status")).to_have_text("cell changed: run again")
    expect(opened.button(0, FIX_1)).to_be_disabled()


@lab_only
def test_a_cell_that_may_not_be_edited_is_refused(
    server: Server, open_notebook: OpenNotebook
) -> None:
    server.write_notebook("locked.ipynb", [card_cell(editable=False)])
    opened = open_notebook("locked.ipynb")
    opened.button(0, FIX_1).click()
    expect(opened.card(0).get_by_role("alert")).to_have_text("Not inserted: this cell is read-only")
    assert opened.cell_text(0) == TEXT


def _without_id(payload: Payload) -> None:
    source_of(payload)["cell_id"] = None


@lab_only
def test_without_an_id_the_cell_is_found_by_its_text(
    server: Server, open_notebook: OpenNotebook
) -> None:
    cells = [card_cell(sample(_without_id), cell_id="another"), code_cell("other = 1", "other")]
    server.write_notebook("by-text.ipynb", cells)
    opened = open_notebook("by-text.ipynb")
    opened.button(0, FIX_1).click()
    assert opened.cell_text(0) == counts_fixed(TEXT)


@lab_only
def test_without_an_id_equal_cells_are_refused(server: Server, open_notebook: OpenNotebook) -> None:
    cells = [card_cell(sample(_without_id), cell_id="another"), code_cell(TEXT, "twin")]
    server.write_notebook("twins.ipynb", cells)
    opened = open_notebook("twins.ipynb")
    expect(opened.card(0).locator(".pm-status")).to_have_text(
        "two cells hold the text of In[4]: run again"
    )
    expect(opened.card(0).locator(".pm-insert:visible")).to_have_count(0)


@lab_only
def test_a_copy_beside_it_stays_as_it_is(server: Server, open_notebook: OpenNotebook) -> None:
    server.write_notebook("copy.ipynb", [card_cell()])
    server.write_notebook("original.ipynb", [card_cell()])
    opened = open_notebook("copy.ipynb")
    opened.open_beside("original.ipynb")
    opened.button(0, FIX_1).click()
    assert opened.cell_text(0) == counts_fixed(TEXT)
    assert opened.cell_text(0, "copy.ipynb") == TEXT


def test_with_a_busy_kernel_and_after_it_died(server: Server, open_notebook: OpenNotebook) -> None:
    busy = code_cell("import threading; threading.Event().wait()", "busy")
    server.write_notebook("busy.ipynb", [card_cell(), busy])
    opened = open_notebook("busy.ipynb")
    opened.start(1)
    opened.button(0, FIX_1).click()
    assert opened.cell_text(0) == counts_fixed(TEXT)
    opened.undo()
    opened.kill_kernel()
    opened.save()
    opened.reload()
    opened.button(0, FIX_1).click()
    assert opened.cell_text(0) == counts_fixed(TEXT)


def _installed(payload: Payload) -> None:
    source_of(payload).update(kind="file", label="kernels.py", cell_id=None)
    for fix in payload["card"]["diagnostics"][0]["fixes"]:
        fix.update(elsewhere="kernels.py", insertable=False)


@lab_only
def test_a_fix_in_a_package_has_no_button(server: Server, open_notebook: OpenNotebook) -> None:
    server.write_notebook("file.ipynb", [card_cell(sample(_installed))])
    opened = open_notebook("file.ipynb")
    expect(opened.card(0).locator(".pm-insert:visible")).to_have_count(0)
    expect(opened.card(0).locator(".pm-state").first).to_have_text("in kernels.py: edit there")
