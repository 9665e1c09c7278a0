"""A kernel, its specs and its call in cells of their own, checked by a real kernel."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Kept, lab_only
from tests.browser.engine_cells import (
    CHECKED_HISTOGRAM,
    HISTOGRAM,
    HISTOGRAM_FIX_1,
    IMPORTS,
    LOSSES_CALL,
    LOSSES_FIX_1,
    LOSSES_FIX_ALL,
    LOSSES_KERNEL,
    ROWS_SPEC,
    SETUP,
    TOTAL_SPEC,
    counts_in_vmem,
    in_smem,
    in_vmem,
)
from tests.browser.notebook_page import NotebookPage
from tests.browser.server import Server, code_cell

DRAWN_MS = 30_000
KERNEL, ROWS, TOTAL, CALL = 3, 5, 6, 9

Across = Callable[[], NotebookPage]


def cells() -> list[dict[str, object]]:
    texts = {0: SETUP, KERNEL: LOSSES_KERNEL, ROWS: ROWS_SPEC, TOTAL: TOTAL_SPEC, CALL: LOSSES_CALL}
    return [code_cell(texts.get(n, f"other_{n} = {n}"), f"cell-{n}") for n in range(CALL + 1)]


@pytest.fixture
def opened(kept: Kept) -> NotebookPage:
    """The notebook after all of its cells that matter ran."""
    opened = kept(cells())
    for index in (0, KERNEL, ROWS, TOTAL, CALL):
        opened.run(index)
    expect(opened.card(CALL).locator(".pm-status")).to_be_empty(timeout=DRAWN_MS)
    return opened


def specs(opened: NotebookPage) -> tuple[str, str]:
    return opened.cell_text(ROWS), opened.cell_text(TOTAL)


def test_a_fix_in_another_cell_and_all_of_them(opened: NotebookPage) -> None:
    opened.screenshot("engine-across")
    expect(opened.editor(KERNEL).locator(".cm-lintRange-error")).to_have_text(
        ["rows_ref[...]", "total_ref[0, 0]"]
    )
    expect(opened.editor(ROWS).locator(".cm-lintRange-info")).to_have_text(["pltpu.SMEM"])
    opened.button(CALL, LOSSES_FIX_1).click()
    assert specs(opened) == (in_vmem(ROWS_SPEC), TOTAL_SPEC)
    opened.button(CALL, "Undo fix 1: Move rows_ref to VMEM").click()
    assert specs(opened) == (ROWS_SPEC, TOTAL_SPEC)
    opened.button(CALL, LOSSES_FIX_ALL).click()
    assert specs(opened) == (in_vmem(ROWS_SPEC), in_smem(TOTAL_SPEC))
    opened.page.keyboard.press("z")
    assert specs(opened) == (ROWS_SPEC, TOTAL_SPEC)
    opened.button(CALL, LOSSES_FIX_ALL).click()
    assert [opened.cell_text(index) for index in (KERNEL, CALL)] == [LOSSES_KERNEL, LOSSES_CALL]
    for index in (ROWS, TOTAL, CALL):
        opened.run(index)
    expect(opened.card(CALL).locator(".pm-kernel")).to_have_text(
        [re.compile(r"^losses ✓ lowers for TPU v5e")], timeout=DRAWN_MS
    )
    expect(opened.card(CALL).locator(".pm-diagnostic")).to_have_count(0)


@lab_only
def test_a_change_in_the_kernels_cell_is_refused(opened: NotebookPage) -> None:
    opened.editor(KERNEL).press("Control+End")
    opened.page.keyboard.type("  # mine")
    opened.button(CALL, LOSSES_FIX_ALL).evaluate("one => { one.disabled = false; one.click(); }")
    expect(opened.card(CALL).locator(".pm-status")).to_have_text(
        re.compile(r"^In\[\d+\] has changed since it was checked: run again$")
    )
    assert specs(opened) == (ROWS_SPEC, TOTAL_SPEC)


@lab_only
def test_two_notebooks_on_one_kernel(opened: NotebookPage, server: Server, kernel_id: str) -> None:
    """The specs ran in one notebook, the call in another, which has none of their cells."""
    caller = server.write_notebook("caller.ipynb", [code_cell(LOSSES_CALL, "call")])
    server.use_kernel(caller, kernel_id)
    opened.open_beside(caller)
    opened.run(0)
    card = opened.card(0)
    expect(card.locator(".pm-status")).to_be_empty(timeout=DRAWN_MS)
    expect(card.locator(".pm-insert:visible")).to_have_count(0)
    expect(card.locator(".pm-state").first).to_have_text(
        re.compile(r"^In\[\d+\] is not in this notebook$")
    )
    assert opened.cell_text(ROWS, opened.name) == ROWS_SPEC


def test_check_kernel_in_the_toolbar(kept: Kept) -> None:
    opened = kept(
        [code_cell(SETUP, "setup"), code_cell(f"{HISTOGRAM}\n\ncounted(x).sum()", "cell")]
    )
    opened.run(0)
    text = opened.cell_text(1)
    opened.check_from_toolbar(1)
    card = opened.card(1)
    expect(card.locator(".pm-status")).to_be_empty(timeout=DRAWN_MS)
    expect(card.locator(".pm-where").first).to_contain_text("line 3")
    expect(opened.editor(1).locator(".cm-lintRange-error")).to_have_text(["counts_ref[...]"])
    opened.screenshot("check-kernel")
    assert opened.cell_text(1) == text
    opened.button(1, HISTOGRAM_FIX_1).click()
    assert opened.cell_text(1) == counts_in_vmem(text)
    opened.check_from_toolbar(1)
    expect(card.locator(".pm-kernel")).to_have_text(
        [re.compile(r"^histogram ✓ lowers for TPU v5e")], timeout=DRAWN_MS
    )


@lab_only
def test_check_kernel_runs_a_checked_cell_and_loads_the_extension(
    server: Server, kept: Kept
) -> None:
    setup = SETUP.replace(
        "%load_ext pallas_magic", "%reload_ext pallas_magic\n%unload_ext pallas_magic"
    )
    opened = kept(
        [code_cell(setup, "setup"), code_cell(CHECKED_HISTOGRAM, "cell"), code_cell("x", "x")]
    )
    opened.run(0)
    opened.activate(2)
    opened.command("pallas-magic:check-kernel")
    expect(opened.card(2)).to_contain_text("no Pallas call was made")
    opened.activate(1)
    opened.command("pallas-magic:check-kernel")
    expect(opened.card(1).locator(".pm-status")).to_be_empty(timeout=DRAWN_MS)
    expect(opened.button(1, HISTOGRAM_FIX_1)).to_be_enabled()


@lab_only
def test_a_fix_in_an_imported_module_is_written_by_the_kernel(kept: Kept, server: Server) -> None:
    module = f"{IMPORTS}\n\n{HISTOGRAM}"
    file = server.folder / "histograms.py"
    file.write_text(module, encoding="utf-8")
    # Two versions of one size in one second are the same to a cache of bytecode.
    reload = f"""\
import importlib, sys
sys.dont_write_bytecode = True
sys.path.insert(0, {str(server.folder)!r})
importlib.invalidate_caches()
import histograms
histograms = importlib.reload(histograms)"""
    call = "%%pallas_check\nhistograms.counted(x)"
    opened = kept([code_cell(SETUP, "setup"), code_cell(reload, "reload"), code_cell(call, "call")])
    for index in range(3):
        opened.run(index)
    expect(opened.card(2).locator(".pm-status")).to_be_empty(timeout=DRAWN_MS)
    written = counts_in_vmem(module)
    show = "Show change to histograms.py: Move counts_ref to VMEM"
    _write(opened, show)
    undo = opened.button(2, "Undo fix 1: Move counts_ref to VMEM")
    expect(undo).to_be_visible()
    assert file.read_text(encoding="utf-8") == written
    undo.click()
    expect(opened.button(2, show)).to_be_visible()
    assert file.read_text(encoding="utf-8") == module
    _write(opened, show)
    expect(undo).to_be_visible()
    opened.run(1)
    opened.run(2)
    expect(opened.card(2).locator(".pm-kernel")).to_have_text(
        [re.compile(r"^histogram ✓ lowers for TPU v5e")], timeout=DRAWN_MS
    )
    file.write_text(module, encoding="utf-8")
    opened.run(1)
    opened.run(2)
    expect(opened.button(2, show)).to_be_enabled(timeout=DRAWN_MS)
    file.write_text(module + "# mine\n", encoding="utf-8")
    _write(opened, show)
    expect(opened.card(2).get_by_role("alert")).to_contain_text("histograms.py")
    assert file.read_text(encoding="utf-8") == module + "# mine\n"


def _write(opened: NotebookPage, show: str) -> None:
    opened.button(2, show).click()
    opened.page.locator(".jp-Dialog").get_by_role("button", name="Write").click()
