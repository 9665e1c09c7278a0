"""The extension driven by a payload in a saved notebook: no engine and, mostly, no kernel."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenNotebook
from tests.browser.notebook_page import NotebookPage
from tests.browser.server import ROOT, Server, code_cell, display_output

MIME = "application/vnd.pallas-magic.v1+json"
PAYLOAD: dict[str, Any] = json.loads(
    (ROOT / "labextension" / "test-payloads" / "histogram.json").read_text()
)
[SOURCE] = PAYLOAD["sources"].values()
TEXT: str = SOURCE["text"]
FIX_1 = TEXT.replace("(pl.BlockSpec(memory_space=pltpu.SMEM)", "(pl.BlockSpec(memory_space=pltpu.VMEM)")
FIX_3 = TEXT.replace(" pl.BlockSpec(memory_space=pltpu.VMEM)", " pl.BlockSpec(memory_space=pltpu.SMEM)")


def card_cell(payload: Any = PAYLOAD, source: str = TEXT, **metadata: Any) -> dict[str, Any]:
    output = display_output({MIME: payload, "text/plain": "the card"})
    return code_cell(source, SOURCE["cell_id"], [output], **metadata)


@pytest.fixture
def opened(server: Server, open_notebook: OpenNotebook) -> NotebookPage:
    server.write_notebook("card.ipynb", [card_cell()])
    return open_notebook("card.ipynb")


def test_card_is_drawn_from_json(opened: NotebookPage) -> None:
    card = opened.card(0)
    expect(card.locator(".pm-head b")).to_have_text("2 errors in 1 kernel")
    marks = card.locator("mark")
    expect(marks.first).to_have_text("counts_ref[...]")
    opened.screenshot("card")


def test_insert_and_undo(opened: NotebookPage) -> None:
    opened.button(0, "Insert fix 1: Move counts_ref to VMEM").click()
    assert opened.cell_text(0) == FIX_1
    opened.undo()
    assert opened.cell_text(0) == TEXT
