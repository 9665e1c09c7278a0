"""A payload whose marks and fixes lie in two cells that did not run: a kernel and its spec."""

from __future__ import annotations

import copy
from typing import Any

from tests.browser.payloads import MIME, Change, Payload
from tests.browser.server import code_cell, display_output

KERNEL = "def kernel(x_ref, o_ref):\n    mark = '🎯'; o_ref[...] = x_ref[...]"
SPECS = "def specs():\n    return pl.BlockSpec(memory_space=pltpu.SMEM)"
CALL = "%%pallas_check\nrun(kernel, specs())"

IN_KERNEL = "Insert fix 1: Store in the kernel"
IN_SPECS = "Insert fix 2: Move o_ref to VMEM"
IN_BOTH = "Insert fix 3: Change both"
IN_ALL = "Insert all 2 fixes: 1, 4"

_STORE = ("In[3]", 2, 16, 26)
_SPACE = ("In[5]", 2, 43, 47)


def _span(source: str, line: int, start: int, end: int) -> dict[str, Any]:
    place = {"start_line": line, "start_col": start, "end_line": line, "end_col": end}
    return {"source": source, **place}


def _edit(place: tuple[str, int, int, int], new_text: str) -> dict[str, Any]:
    return {"span": _span(*place), "new_text": new_text}


STORED = _edit(_STORE, "o_ref[:]")
MOVED = _edit(_SPACE, "VMEM")


def kernel_fixed(text: str = KERNEL) -> str:
    """The kernel's cell after fix 1."""
    return text.replace("o_ref[...]", "o_ref[:]")


def specs_fixed(text: str = SPECS) -> str:
    """The cell of the specs after fix 2."""
    return text.replace("SMEM", "VMEM")


def _fix(number: int, title: str, *edits: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A fix of the report, and what the card shows of it."""
    proof = {"gone": True, "lowers": True}
    common = {"id": number, "applicability": "safe"}
    elsewhere = " and ".join(dict.fromkeys(edit["span"]["source"] for edit in edits))
    line = {"kind": "same", "number": None, "segments": [["", elsewhere]], "changed": []}
    shown = {
        "title": [["text", title]],
        "name": title,
        "proof": [["ok", "lowers"]],
        "diff": [line],
        "folded": False,
        "elsewhere": elsewhere,
        "insertable": False,
    }
    return {**common, "edits": list(edits), "proof": proof}, {**common, **shown}


def _diagnostic(
    code: str, place: tuple[str, int, int, int], *fixes: tuple[dict[str, Any], dict[str, Any]]
) -> tuple[dict[str, Any], dict[str, Any]]:
    mark = {"role": "primary", "text": code, "inline": None}
    source, line, _, _ = place
    text = {"In[3]": KERNEL, "In[5]": SPECS}[source].split("\n")[line - 1]
    segments = [
        ["", text[: place[2]], None],
        ["", text[place[2] : place[3]], 0],
        ["", text[place[3] :], None],
    ]
    row = {"kind": "code", "number": line, "segments": segments, "mark": None, "indent": 0}
    found = {
        "code": code,
        "severity": "error",
        "message": f"{code} is wrong",
        "primary": _span(*place),
        "primary_text": code,
        "labels": [],
        "fixes": [fix for fix, _ in fixes],
    }
    shown = {
        "code": code,
        "name": code,
        "severity": "error",
        "message": [["text", f"{code} is wrong"]],
        "where": f"{source}, line {line}",
        "windows": [{"source": source, "label": source, "lines": [row]}],
        "marks": [mark],
        "notes": [],
        "fixes": [fix for _, fix in fixes],
    }
    return found, shown


def across(change: Change | None = None) -> Payload:
    """The payload of the call's cell, its own copy, after ``change``."""
    found = [
        _diagnostic(
            "PM101",
            _STORE,
            _fix(1, "Store in the kernel", STORED),
            _fix(2, "Move o_ref to VMEM", MOVED),
            _fix(3, "Change both", STORED, MOVED),
        ),
        _diagnostic("PM102", _SPACE, _fix(4, "Move it", MOVED)),
    ]
    sources = {"In[3]": (KERNEL, "kernel"), "In[5]": (SPECS, "specs")}
    payload = {
        "version": 1,
        "diagnostics": [diagnostic for diagnostic, _ in found],
        "sources": {
            key: {"kind": "cell", "label": key, "text": text, "cell_id": cell_id}
            for key, (text, cell_id) in sources.items()
        },
        "combined": {"ids": [1, 4], "edits": [STORED, MOVED]},
        "card": {
            "state": "done",
            "title": "2 errors in 1 kernel",
            "subtitle": [["code", "kernel"]],
            "notes": [],
            "kernels": [],
            "diagnostics": [shown for _, shown in found],
            "combined": {"ids": [1, 4], "name": "Insert all 2 fixes", "proof": []},
        },
    }
    own: Payload = copy.deepcopy(payload)
    if change is not None:
        change(own)
    return own


def kernel_cell(text: str = KERNEL, **metadata: Any) -> dict[str, Any]:
    """The kernel's cell."""
    return code_cell(text, "kernel", **metadata)


def specs_cell(text: str = SPECS, **metadata: Any) -> dict[str, Any]:
    """The cell of the specs."""
    return code_cell(text, "specs", **metadata)


def call_cell(payload: Payload | None = None) -> dict[str, Any]:
    """The call's cell with its card, as it is saved after the check."""
    bundle = {MIME: across() if payload is None else payload, "text/plain": "2 errors"}
    return code_cell(CALL, "call", [display_output(bundle)])
