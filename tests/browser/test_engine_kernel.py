"""Fixes that a real kernel proved go in without it, and it makes no widgets for this page."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.conftest import OpenNotebook, lab_only
from tests.browser.engine_cells import CHECKED_HISTOGRAM, HISTOGRAM_FIX_1, SETUP, counts_in_vmem
from tests.browser.server import Server, code_cell

BUSY = "print('busy')\nimport threading; threading.Event().wait()"


@lab_only
def test_with_a_busy_kernel_and_after_it_died(server: Server, open_notebook: OpenNotebook) -> None:
    cells = [
        code_cell(SETUP, "setup"),
        code_cell(CHECKED_HISTOGRAM, "cell"),
        code_cell(BUSY, "busy"),
    ]
    opened = open_notebook(server.write_notebook("engine-busy.ipynb", cells))
    opened.run(0)
    opened.run(1)
    expect(opened.card(1).locator(".pm-status")).to_be_empty(timeout=30_000)
    opened.start(2)
    expect(opened.cell(2).locator(".jp-OutputArea-output")).to_have_text("busy\n", timeout=30_000)
    opened.button(1, HISTOGRAM_FIX_1).click()
    assert opened.cell_text(1) == counts_in_vmem(CHECKED_HISTOGRAM)
    opened.undo()
    assert opened.cell_text(1) == CHECKED_HISTOGRAM
    opened.kill_kernel()
    opened.save()
    opened.reload()
    opened.button(1, HISTOGRAM_FIX_1).click()
    assert opened.cell_text(1) == counts_in_vmem(CHECKED_HISTOGRAM)


@lab_only
def test_a_page_with_buttons_of_its_own_gets_no_widgets(
    server: Server, open_notebook: OpenNotebook
) -> None:
    cells = [code_cell(SETUP, "setup"), code_cell(CHECKED_HISTOGRAM, "cell")]
    opened = open_notebook(server.write_notebook("engine-widgets.ipynb", cells))
    opened.run(0)
    opened.run(1)
    expect(opened.card(1).locator(".pm-status")).to_be_empty(timeout=30_000)
    # The kernel hears of the page with its first card.
    opened.run(1)
    expect(opened.card(1).locator(".pm-status")).to_be_empty(timeout=30_000)
    kinds = opened.output_kinds(1)
    assert "application/vnd.pallas-magic.v1+json" in kinds
    assert "application/vnd.jupyter.widget-view+json" not in kinds
