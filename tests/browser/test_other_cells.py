"""Fixes and marks in cells other than the one that ran: one click, one undo, never a stale edit."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.across_payloads import (
    CALL,
    IN_ALL,
    IN_BOTH,
    IN_KERNEL,
    IN_SPECS,
    KERNEL,
    SPECS,
    across,
    call_cell,
    kernel_cell,
    kernel_fixed,
    specs_cell,
    specs_fixed,
)
from tests.browser.conftest import OpenNotebook, lab_only
from tests.browser.notebook_page import PANEL, NotebookPage
from tests.browser.payloads import Payload
from tests.browser.server import Server, code_cell

OTHER = code_cell("other = 1", "other")
GONE = "In[5] is not in this notebook"
WINDOWING = ("@jupyterlab/notebook-extension:tracker", "windowingMode")
INSERTED = "Fix inserted in In[3] and In[5]. Run the cell again to check it."
CHANGED = "In[5] has changed since it was checked: run again"


@pytest.fixture
def opened(server: Server, open_notebook: OpenNotebook) -> NotebookPage:
    """The kernel in cell 0, its spec in cell 2, the call with its card in cell 3."""
    server.write_notebook("across.ipynb", [kernel_cell(), OTHER, specs_cell(), call_cell()])
    opened = open_notebook("across.ipynb")
    # JupyterLab forgets what there was to undo a moment after it has loaded a notebook.
    opened.page.wait_for_function(
        f"() => {PANEL}.content.model.sharedModel.undoManager.undoStack.length === 0"
    )
    return opened


def texts(opened: NotebookPage) -> tuple[str, str, str]:
    return opened.cell_text(0), opened.cell_text(2), opened.cell_text(3)


def test_a_fix_of_two_cells_is_one_undo_in_command_mode(opened: NotebookPage) -> None:
    opened.screenshot("across-cells")
    opened.button(3, IN_BOTH).click()
    assert texts(opened) == (kernel_fixed(), specs_fixed(), CALL)
    expect(opened.announced()).to_have_text(INSERTED)
    opened.screenshot("across-cells-inserted")
    opened.page.keyboard.press("z")
    assert texts(opened) == (KERNEL, SPECS, CALL)
    expect(opened.button(3, IN_BOTH)).to_be_enabled()
    opened.button(3, IN_BOTH).click()
    assert texts(opened) == (kernel_fixed(), specs_fixed(), CALL)


def test_all_at_once_and_undo_on_the_card(opened: NotebookPage) -> None:
    opened.button(3, IN_ALL).click()
    assert texts(opened) == (kernel_fixed(), specs_fixed(), CALL)
    opened.button(3, "Undo the fixes inserted together").press("Enter")
    assert texts(opened) == (KERNEL, SPECS, CALL)
    expect(opened.announced()).to_have_text("Fix undone")


@lab_only
def test_one_fix_after_the_other_in_their_cells(opened: NotebookPage) -> None:
    opened.button(3, IN_KERNEL).click()
    assert texts(opened) == (kernel_fixed(), SPECS, CALL)
    opened.card(3).locator("summary", has_text="PM102").click()
    opened.button(3, "Insert fix 4: Move it").click()
    assert texts(opened) == (kernel_fixed(), specs_fixed(), CALL)
    opened.button(3, "Undo fix 4: Move it").click()
    opened.button(3, "Undo fix 1: Store in the kernel").click()
    assert texts(opened) == (KERNEL, SPECS, CALL)


def test_marks_stand_in_their_own_cells_and_have_quick_fixes(opened: NotebookPage) -> None:
    expect(opened.editor(0).locator(".cm-lintRange-error")).to_have_text(["o_ref[...]"])
    expect(opened.editor(2).locator(".cm-lintRange-error")).to_have_text(["SMEM"])
    expect(opened.editor(1).locator(".cm-lintRange")).to_have_count(0)
    expect(opened.editor(3).locator(".cm-lintRange")).to_have_count(0)
    opened.editor(2).locator(".cm-lintRange-error").hover()
    tooltip = opened.page.locator(".cm-tooltip-lint .cm-diagnostic")
    tooltip.get_by_role("button", name="Insert fix 4").click()
    assert texts(opened) == (KERNEL, specs_fixed(), CALL)
    expect(opened.editor(2)).to_be_focused()
    expect(opened.editor(2).locator(".cm-lintRange-error")).to_have_count(0)
    opened.undo()
    assert texts(opened) == (KERNEL, SPECS, CALL)


@lab_only
def test_a_change_in_another_cell_makes_all_stale(opened: NotebookPage) -> None:
    opened.set_cell_text(2, SPECS + "  # mine")
    expect(opened.card(3).locator(".pm-status")).to_have_text(CHANGED)
    for name in (IN_KERNEL, IN_SPECS, IN_BOTH, IN_ALL):
        expect(opened.button(3, name)).to_be_disabled()
        opened.button(3, name).evaluate("one => { one.disabled = false; one.click(); }")
    assert texts(opened) == (KERNEL, SPECS + "  # mine", CALL)
    expect(opened.card(3).get_by_role("alert")).to_have_text(f"Not inserted: {CHANGED}")
    expect(opened.editor(0).locator(".cm-lintRange")).to_have_count(0)
    opened.set_cell_text(2, SPECS)
    opened.button(3, IN_BOTH).click()
    assert texts(opened) == (kernel_fixed(), specs_fixed(), CALL)


@lab_only
def test_undo_is_refused_once_anything_changed(opened: NotebookPage) -> None:
    opened.button(3, IN_BOTH).click()
    undo = opened.button(3, "Undo fix 3: Change both")
    expect(undo).to_be_visible()
    opened.set_cell_text(0, kernel_fixed() + "\n")
    expect(undo).to_be_hidden()
    opened.card(3).locator(".pm-undo").nth(3).evaluate("one => one.click()")
    assert texts(opened) == (kernel_fixed() + "\n", specs_fixed(), CALL)


@lab_only
def test_half_an_undo_is_neither_state(opened: NotebookPage) -> None:
    opened.button(3, IN_BOTH).click()
    opened.set_cell_text(0, KERNEL)
    expect(opened.card(3).locator(".pm-status")).to_contain_text("has changed since it was checked")
    expect(opened.card(3).get_by_role("button", name="Undo").locator("visible=true")).to_have_count(
        0
    )


@lab_only
def test_a_cell_that_was_moved_is_found(opened: NotebookPage) -> None:
    opened.activate(2)
    opened.command("notebook:move-cell-up")
    opened.command("notebook:move-cell-up")
    opened.button(3, IN_BOTH).click()
    assert (opened.cell_text(0), opened.cell_text(1)) == (specs_fixed(), kernel_fixed())
    expect(opened.editor(0).locator(".cm-lintRange")).to_have_count(0)


@lab_only
def test_a_copy_of_the_cell_is_left_alone(opened: NotebookPage) -> None:
    opened.activate(2)
    opened.command("notebook:duplicate-below")
    opened.button(4, IN_SPECS).click()
    assert (opened.cell_text(2), opened.cell_text(3)) == (specs_fixed(), SPECS)


def test_a_deleted_cell_is_refused_and_the_rest_is_not(opened: NotebookPage) -> None:
    opened.activate(2)
    opened.command("notebook:delete-cell")
    states = opened.card(2).locator(".pm-diagnostic").first.locator(".pm-state")
    expect(states).to_have_text(["in In[3]", GONE, GONE])
    expect(opened.card(2).locator(".pm-all")).to_be_hidden()
    opened.screenshot("across-cells-deleted")
    opened.button(2, IN_KERNEL).click()
    assert opened.cell_text(0) == kernel_fixed()
    opened.command("notebook:undo-cell-action")
    opened.command("notebook:undo-cell-action")
    assert texts(opened) == (KERNEL, SPECS, CALL)
    opened.button(3, IN_BOTH).click()
    assert texts(opened) == (kernel_fixed(), specs_fixed(), CALL)


@lab_only
def test_a_read_only_cell_refuses_the_whole_fix(
    server: Server, open_notebook: OpenNotebook
) -> None:
    cells = [kernel_cell(), OTHER, specs_cell(editable=False), call_cell()]
    server.write_notebook("across-locked.ipynb", cells)
    opened = open_notebook("across-locked.ipynb")
    opened.button(3, IN_BOTH).click()
    expect(opened.card(3).get_by_role("alert")).to_have_text("Not inserted: In[5] is read-only")
    assert texts(opened) == (KERNEL, SPECS, CALL)
    opened.button(3, IN_KERNEL).click()
    assert texts(opened) == (kernel_fixed(), SPECS, CALL)


def _without_ids(payload: Payload) -> None:
    for source in payload["sources"].values():
        source["cell_id"] = None


@lab_only
def test_two_cells_with_one_text_and_no_id_are_refused(
    server: Server, open_notebook: OpenNotebook
) -> None:
    cells = [kernel_cell(), code_cell(SPECS, "twin"), specs_cell(), call_cell(across(_without_ids))]
    server.write_notebook("across-twins.ipynb", cells)
    opened = open_notebook("across-twins.ipynb")
    states = opened.card(3).locator(".pm-diagnostic").first.locator(".pm-state")
    expect(states).to_have_text(["in In[3]", *["two cells hold the text of In[5]"] * 2])
    opened.button(3, IN_KERNEL).click()
    assert opened.cell_text(0) == kernel_fixed()


@lab_only
def test_a_copy_of_the_notebook_with_the_same_ids_is_left_alone(
    server: Server, open_notebook: OpenNotebook
) -> None:
    cells = [kernel_cell(), OTHER, specs_cell(), call_cell()]
    server.write_notebook("across-original.ipynb", cells)
    server.write_notebook("across-copy.ipynb", cells[:3])
    opened = open_notebook("across-copy.ipynb")
    opened.open_beside("across-original.ipynb")
    expect(opened.editor(2).locator(".cm-lintRange-error")).to_have_text(["SMEM"])
    expect(opened.page.locator(".cm-lintRange-error")).to_have_count(2)
    opened.button(3, IN_BOTH).click()
    assert texts(opened) == (kernel_fixed(), specs_fixed(), CALL)
    assert opened.cell_text(0, "across-copy.ipynb") == KERNEL
    assert opened.cell_text(2, "across-copy.ipynb") == SPECS


def test_far_away_and_folded_cells_are_edited_and_shown(
    server: Server, open_notebook: OpenNotebook
) -> None:
    """The kernel is scrolled out of a long notebook, the spec is hidden under a closed heading."""
    heading = {
        "cell_type": "markdown",
        "id": "heading",
        "metadata": {"jp-MarkdownHeadingCollapsed": True},
        "source": "# Specs",
    }
    below = {**heading, "id": "below", "metadata": {}, "source": "# Calls"}
    filling = [code_cell(f"# {n}\n" + "\n" * 30, f"filling-{n}") for n in range(60)]
    hidden = specs_cell(jupyter={"source_hidden": True})
    cells = [kernel_cell(), *filling, heading, hidden, below, call_cell()]
    server.write_notebook("across-long.ipynb", cells)
    opened = open_notebook("across-long.ipynb")
    opened.setting(*WINDOWING, "full")
    try:
        opened.page.reload()
        _far_away(opened, call=len(cells) - 1)
    finally:
        opened.setting(*WINDOWING, "contentVisibility")


def _insert_both(opened: NotebookPage, call: int) -> None:
    """Press the button, again where a notebook that draws what it scrolls to drew it anew."""
    button = opened.button(call, IN_BOTH)
    button.click()
    try:
        expect(opened.announced()).to_have_text(INSERTED, timeout=3000)
    except AssertionError:
        button.click()
        expect(opened.announced()).to_have_text(INSERTED)


def _far_away(opened: NotebookPage, call: int) -> None:
    opened.page.wait_for_function("() => window.jupyterapp?.shell.currentWidget?.context?.isReady")
    opened.scroll_to(call)
    expect(opened.cell(0)).to_be_hidden()
    _insert_both(opened, call)
    assert opened.cell_text(0) == kernel_fixed()
    assert opened.cell_text(call - 2) == specs_fixed()
    opened.page.keyboard.press("z")
    assert (opened.cell_text(0), opened.cell_text(call - 2)) == (KERNEL, SPECS)
    opened.button(call, "Show In[5], line 2").click()
    expect(opened.editor(call - 2)).to_be_focused()
    expect(opened.editor(call - 2).locator(".cm-lintRange-error")).to_have_text(["SMEM"])
    opened.screenshot("across-cells-revealed")
    opened.scroll_to(call)
    opened.button(call, "Show In[3], line 2").click()
    expect(opened.editor(0)).to_be_focused()
    expect(opened.editor(0).locator(".cm-lintRange-error")).to_be_in_viewport()
