"""The sample payload in notebooks: the card of a histogram kernel with two findings."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

from tests.browser.server import ROOT, code_cell, display_output

MIME = "application/vnd.pallas-magic.v1+json"
SAMPLE = ROOT / "labextension" / "test-payloads" / "histogram.json"

Payload = dict[str, Any]
Change = Callable[[Payload], object]

FIX_1 = "Insert fix 1: Move counts_ref to VMEM"
FIX_2 = "Insert fix 2: Store the 128 counts one scalar at a time"
FIX_3 = "Insert fix 3: Move total_ref to SMEM"
FIX_ALL = "Insert all 2 fixes: 1, 3"


def sample(change: Change | None = None) -> Payload:
    """The sample payload, its own copy, after ``change``."""
    payload: Payload = json.loads(SAMPLE.read_text())
    if change is not None:
        change(payload)
    return payload


def source_of(payload: Payload) -> dict[str, Any]:
    """The one source of a payload."""
    [source] = payload["sources"].values()
    found: dict[str, Any] = source
    return found


TEXT: str = source_of(sample())["text"]
CELL_ID: str = source_of(sample())["cell_id"]


def counts_fixed(text: str) -> str:
    """``text`` with fix 1, which moves the counts to VMEM."""
    return text.replace(
        "=(pl.BlockSpec(memory_space=pltpu.SMEM)", "=(pl.BlockSpec(memory_space=pltpu.VMEM)"
    )


def total_fixed(text: str) -> str:
    """``text`` with fix 3, which moves the total to SMEM."""
    return text.replace(
        ", pl.BlockSpec(memory_space=pltpu.VMEM)", ", pl.BlockSpec(memory_space=pltpu.SMEM)"
    )


def card_cell(
    payload: Payload | None = None, text: str = TEXT, cell_id: str = CELL_ID, **metadata: Any
) -> dict[str, Any]:
    """A cell as it is saved after a check: the card stands in its output."""
    shown = sample() if payload is None else copy.deepcopy(payload)
    bundle = {MIME: shown, "text/plain": "2 errors in 1 kernel"}
    return code_cell(text, cell_id, [display_output(bundle)], **metadata)
