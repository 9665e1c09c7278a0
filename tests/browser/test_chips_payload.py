"""The chip matrix, on-chip memory and progress on the card of a saved notebook."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenNotebook, lab_only
from tests.browser.notebook_page import NotebookPage
from tests.browser.payloads import MIME, SAMPLE, card_cell
from tests.browser.server import Server, code_cell, display_output

HOSTILE = '<img src=x onerror="window.hacked=1">'


def payload(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((SAMPLE.parent / f"{name}.json").read_text())
    return found


def _cell(shown: dict[str, Any], cell_id: str = "other") -> dict[str, Any]:
    return code_cell("check()", cell_id, [display_output({MIME: shown, "text/plain": "a card"})])


@pytest.fixture
def opened(server: Server, open_notebook: OpenNotebook) -> NotebookPage:
    cells = [card_cell(payload("chips")), _cell(payload("clean_chips"))]
    server.write_notebook("chips.ipynb", cells)
    return open_notebook("chips.ipynb")


def test_the_matrix_leads_to_findings(opened: NotebookPage) -> None:
    card = opened.card(0)
    rows = card.locator(".pm-chips tbody tr")
    expect(card.locator(".pm-chips caption")).to_have_text("3 kernels on 6 chips")
    expect(rows).to_have_text(
        [
            "productcompile✗ PM403✓✓✓––",  # noqa: RUF001
            "histogram_kernellower" + "✗ PM101 [2] PM101 [3]" * 4 + "––",  # noqa: RUF001
            "softmax 2 callscompile✓✓ PM803",
        ]
    )
    opened.screenshot("chips-light")
    third = card.locator(".pm-diagnostic").nth(2)
    expect(third).not_to_have_attribute("open", "")
    opened.button(0, "PM101 [3]: show it").first.click()
    expect(third).to_have_attribute("open", "")
    expect(third.locator("summary").first).to_be_focused()
    expect(third.locator("summary").first).to_be_in_viewport()


@lab_only
def test_the_matrix_is_worked_by_keys(opened: NotebookPage) -> None:
    link = opened.button(0, "PM803: show it")
    link.focus()
    opened.page.keyboard.press("Enter")
    fourth = opened.card(0).locator(".pm-diagnostic").nth(3)
    expect(fourth).to_have_attribute("open", "")
    expect(fourth.locator("summary").first).to_be_focused()


@lab_only
def test_cells_say_in_words_what_their_signs_mean(opened: NotebookPage) -> None:
    cells = opened.card(0).locator(".pm-chips tbody").first.locator("td")
    assert [cell.get_by_role("img").get_attribute("aria-label") for cell in cells.all()] == [
        "failed",
        "ok",
        "ok",
        "ok",
        "skipped",
        "skipped",
    ]
    expect(cells.nth(4)).to_have_attribute(
        "title", "trace ok, lower skipped: it is written for TPUs"
    )


@lab_only
def test_memory_is_folded_and_drawn_to_scale(opened: NotebookPage) -> None:
    card = opened.card(1)
    bar = card.get_by_role("img", name="VMEM on TPU v4: 2.3 of 16 MiB")
    expect(bar).to_be_hidden()
    card.get_by_text("On-chip memory").click()
    expect(bar).to_be_visible()
    free, *parts = (part.bounding_box() for part in bar.locator("rect").all())
    assert free is not None
    widths = [part["width"] / free["width"] for part in parts if part is not None]
    assert widths == pytest.approx([1 / 16, 1 / 16, 300_000 / (16 << 20)], abs=0.002)
    expect(card.locator(".pm-memory table").nth(1).locator("tbody tr")).to_have_text(
        ["x_tile_reffloat32[512, 512]512 KiB × 21 MiB", "acc_reffloat32[512, 512]1 MiB1 MiB"]  # noqa: RUF001
    )
    opened.screenshot("memory-light", card)


def test_dark_and_narrow(opened: NotebookPage) -> None:
    opened.theme("JupyterLab Dark")
    opened.screenshot("chips-dark")
    opened.page.set_viewport_size({"width": 400, "height": 1400})
    if opened.host == "lab":
        opened.command("application:toggle-left-area")
    opened.card(0).get_by_text("On-chip memory").click()
    for index in range(2):
        overflow = opened.card(index).evaluate("card => card.scrollWidth - card.clientWidth")
        assert overflow <= 0, "only the table may scroll sideways"
    scrolled = opened.card(0).locator(".pm-chips .pm-scrolled")
    assert scrolled.evaluate("table => table.scrollWidth > table.clientWidth")
    opened.screenshot("chips-dark-narrow")
    opened.theme("JupyterLab Light")
    opened.screenshot("chips-light-narrow")


@lab_only
def test_texts_of_a_matrix_are_never_markup(server: Server, open_notebook: OpenNotebook) -> None:
    shown = payload("chips")
    chips, memory = shown["card"]["chips"], shown["card"]["memory"]
    chips.update(caption=HOSTILE, chips=[HOSTILE] * 6, reasons=[[["code", HOSTILE]]])
    chips["kernels"][0].update(name=HOSTILE, calls=HOSTILE)
    chips["kernels"][0]["rows"][0].update(stage=HOSTILE)
    chips["kernels"][0]["rows"][0]["cells"][0].update(about=HOSTILE)
    memory.update(gist=HOSTILE)
    memory["kernels"][0].update(kernel=HOSTILE, calls=HOSTILE, space=HOSTILE)
    memory["kernels"][0]["bars"][0].update(chips=HOSTILE, words=HOSTILE, rest_words=HOSTILE)
    server.write_notebook("hostile-chips.ipynb", [_cell(shown)])
    opened = open_notebook("hostile-chips.ipynb")
    expect(opened.card(0).locator(".pm-chips caption")).to_have_text(HOSTILE)
    opened.card(0).locator(".pm-memory summary").click()
    expect(opened.card(0).locator(".pm-bars caption")).to_contain_text(HOSTILE)
    assert opened.card(0).locator("img, script").count() == 0
    assert opened.page.evaluate("window.hacked") is None


@lab_only
def test_what_is_going_on_is_said(server: Server, open_notebook: OpenNotebook) -> None:
    clean, proving = payload("clean"), payload("proving")
    for shown in (clean, proving):
        shown["card"].update(state="proving", progress="compiling 3 of 9…")
    server.write_notebook("progress.ipynb", [_cell(clean), card_cell(proving)])
    opened = open_notebook("progress.ipynb")
    for index in range(2):
        expect(opened.card(index).locator(".pm-status")).to_have_text("compiling 3 of 9…")
    opened.screenshot("progress")
