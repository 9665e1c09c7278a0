"""Fixes in files: the change is shown, then the kernel is asked. A stand-in answers for it."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.across_payloads import CALL, IN_KERNEL, across, call_cell, kernel_cell
from tests.browser.across_payloads import KERNEL as CELL_TEXT
from tests.browser.conftest import OpenNotebook, lab_only
from tests.browser.notebook_page import NotebookPage
from tests.browser.payloads import Payload
from tests.browser.server import Server, code_cell

PATH = "/srv/<b>kernels</b>/specs.py"
TEXT = """\
def specs():  # 🎯 <img src=x onerror='window.hacked=1'>
    return pl.BlockSpec(pltpu.SMEM)
"""
SHOW = "Show change to specs.py"

# Answers as the kernel does, and keeps what it was asked; `answer` is what it says next.
STAND_IN = """
from ipykernel.comm import Comm
asked = []
answer = {"ok": True, "files": ["specs.py"], "token": "taken"}

def opened(comm, message):
    asked.append(message["content"]["data"])
    comm.send(answer)
    comm.close()

get_ipython().kernel.comm_manager.register_target("pallas_magic.fix", opened)
"""


def _in_file(payload: Payload) -> None:
    """The spec lies in a file: fix 2 changes it alone, fix 3 the kernel's cell too."""
    del payload["sources"]["In[5]"]
    source = {"kind": "file", "label": "specs.py", "text": TEXT, "editable": True}
    payload["sources"][PATH] = source
    span = {"source": PATH, "start_line": 2, "start_col": 30, "end_line": 2, "end_col": 34}
    edits = [fix["edits"] for item in payload["diagnostics"] for fix in item["fixes"]]
    for edit in [edit for each in edits for edit in each] + payload["combined"]["edits"]:
        if edit["span"]["source"] == "In[5]":
            edit["span"] = span
    payload["diagnostics"][1]["primary"] = span


@pytest.fixture
def opened(server: Server, open_notebook: OpenNotebook) -> NotebookPage:
    cells = [kernel_cell(), code_cell(STAND_IN, "stand-in"), call_cell(across(_in_file))]
    server.write_notebook("files.ipynb", cells)
    opened = open_notebook("files.ipynb")
    opened.run(1)
    return opened


def dialog(opened: NotebookPage) -> Locator:
    return opened.page.locator(".jp-Dialog")


def agree(opened: NotebookPage, fix: str) -> None:
    opened.button(2, fix).click()
    dialog(opened).get_by_role("button", name="Write").click()


def asked(opened: NotebookPage) -> list[dict[str, Any]]:
    opened.set_cell_text(1, "import json; print(json.dumps(asked))")
    opened.run(1)
    output = opened.cell(1).locator(".jp-OutputArea-output")
    expect(output).to_contain_text("[")
    found: list[dict[str, Any]] = json.loads(output.inner_text())
    return found


def test_the_change_is_shown_then_written_then_undone(opened: NotebookPage) -> None:
    opened.button(2, f"{SHOW}: Move o_ref to VMEM").click()
    expect(dialog(opened).locator(".pm-path")).to_have_text(PATH)
    expect(dialog(opened).locator(".pm-row")).to_have_text(
        [
            f"  {TEXT.splitlines()[0]}",
            "-     return pl.BlockSpec(pltpu.SMEM)",
            "+     return pl.BlockSpec(pltpu.VMEM)",
            "  ",
        ]
    )
    assert opened.page.evaluate("window.hacked") is None
    opened.screenshot("file-dialog")
    dialog(opened).get_by_role("button", name="Write").click()
    undo = opened.button(2, "Undo fix 2: Move o_ref to VMEM")
    expect(undo).to_be_visible()
    expect(opened.card(2).locator(".pm-status")).to_have_text(
        "written: reload specs.py, then run again"
    )
    opened.screenshot("file-written")
    undo.click()
    expect(opened.announced()).to_have_text("Fix undone")
    write, back = asked(opened)
    assert write == {
        "version": 1,
        "request": "write",
        "report": None,
        "edits": [
            {
                "path": PATH,
                "old_text_sha256": hashlib.sha256(TEXT.encode()).hexdigest(),
                "edits": [
                    {
                        "start_line": 2,
                        "start_col": 30,
                        "end_line": 2,
                        "end_col": 34,
                        "new_text": "VMEM",
                    }
                ],
            }
        ],
    }
    assert back == {"version": 1, "request": "undo", "token": "taken"}


@lab_only
def test_nothing_is_asked_of_the_kernel_unless_agreed_to(opened: NotebookPage) -> None:
    opened.button(2, f"{SHOW}: Move o_ref to VMEM").click()
    dialog(opened).get_by_role("button", name="Cancel").click()
    expect(dialog(opened)).to_have_count(0)
    expect(opened.button(2, f"{SHOW}: Move o_ref to VMEM")).to_be_enabled()
    assert asked(opened) == []


@lab_only
def test_a_file_and_a_cell_go_together(opened: NotebookPage) -> None:
    agree(opened, f"{SHOW}: Change both")
    expect(opened.button(2, "Undo fix 3: Change both")).to_be_visible()
    assert opened.cell_text(0) == CELL_TEXT.replace("o_ref[...]", "o_ref[:]")
    opened.button(2, "Undo fix 3: Change both").click()
    expect(opened.announced()).to_have_text("Fix undone")
    assert (opened.cell_text(0), opened.cell_text(2)) == (CELL_TEXT, CALL)
    assert [request["request"] for request in asked(opened)] == ["write", "undo"]


@lab_only
def test_a_cell_that_changed_while_the_dialog_stood_refuses_both(opened: NotebookPage) -> None:
    opened.button(2, f"{SHOW}: Change both").click()
    opened.set_cell_text(0, CELL_TEXT + "\n")
    dialog(opened).get_by_role("button", name="Write").click()
    expect(opened.card(2).get_by_role("alert")).to_have_text(
        "Not inserted: In[3] has changed since it was checked: run again"
    )
    assert asked(opened) == []


@lab_only
def test_the_kernels_reason_is_told(opened: NotebookPage) -> None:
    opened.update_from_kernel("answer = {'ok': False, 'reason': 'specs.py was changed <b>'}")
    agree(opened, f"{SHOW}: Change both")
    alert = opened.card(2).get_by_role("alert")
    expect(alert).to_have_text("Not inserted: specs.py was changed <b>")
    assert opened.cell_text(0) == CELL_TEXT
    opened.update_from_kernel(
        "get_ipython().kernel.comm_manager.unregister_target('pallas_magic.fix', opened)"
    )
    agree(opened, f"{SHOW}: Change both")
    expect(alert).to_have_text("Not inserted: the kernel does not have pallas_magic loaded")
    opened.kill_kernel()
    agree(opened, f"{SHOW}: Change both")
    expect(alert).to_have_text("Not inserted: there is no kernel to write the file")
    opened.button(2, IN_KERNEL).click()
    assert opened.cell_text(0) == CELL_TEXT.replace("o_ref[...]", "o_ref[:]")
