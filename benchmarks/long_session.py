"""What a long session in one notebook costs its page: 200 checks and 50 insertions.

    python -m benchmarks.long_session

Needs JupyterLab, playwright and a Chromium, as the browser tests do. One cell is
checked again and again in a real kernel, every fourth time its fix is inserted
and taken back, and after each quarter the page's heap, nodes and listeners are
counted, garbage collected and JupyterLab's log of outputs emptied. Exits 1 where
the last quarter has grown over the first, which has what a page loads once, by
more than the limits. WIDGETS=0 leaves ipywidgets out, whose manager keeps most
of what the heap grows by: near 0.1 MB a check, against 0.03 MB without.
"""

from __future__ import annotations

import dataclasses
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import CDPSession, sync_playwright

from tests.browser.conftest import CHROMIUM_FLAGS
from tests.browser.engine_cells import CHECKED_HISTOGRAM, HISTOGRAM_FIX_1, SETUP, counts_in_vmem
from tests.browser.notebook_page import PANEL, NotebookPage
from tests.browser.server import code_cell, running_server

CHECKS = int(os.environ.get("CHECKS", "200"))
WIDGETS = os.environ.get("WIDGETS", "1") != "0"
QUARTERS = 4
INSERT_EVERY = 4
HEAP_LIMIT = 1.10
COUNT_LIMIT = 1.05
TIME_LIMIT = 1.5
CELL = 1
# JupyterLab's own log keeps the last 1000 outputs of a notebook, whoever made them.
FORGET_LOG = f"""async () => {{
    const tokens = [...window.jupyterapp.pluginRegistry._services.keys()];
    const token = tokens.find(({{name}}) => name.endsWith(':ILoggerRegistry'));
    const loggers = await window.jupyterapp.resolveRequiredService(token);
    loggers.getLogger({PANEL}.context.path).clear();
}}"""


@dataclasses.dataclass(frozen=True)
class Quarter:
    """What the page held after a quarter of the checks, and how long one took in it."""

    heap_mb: float
    nodes: int
    listeners: int
    check_ms: float
    insert_ms: float
    output_models: int

    def __str__(self) -> str:
        return (
            f"heap {self.heap_mb:6.1f} MB · {self.nodes} nodes · {self.listeners} listeners · "
            f"check {self.check_ms:.0f} ms · insert and undo {self.insert_ms:.0f} ms · "
            f"{self.output_models} outputs"
        )


def main() -> int:
    with tempfile.TemporaryDirectory() as folder, running_server(Path(folder)) as server:
        setup = SETUP if WIDGETS else f"import sys; sys.modules['ipywidgets'] = None\n{SETUP}"
        cells = [code_cell(setup, "setup"), code_cell(CHECKED_HISTOGRAM, "cell")]
        server.write_notebook("long.ipynb", cells)
        with sync_playwright() as playwright:
            executable = shutil.which("chromium") or shutil.which("google-chrome")
            chromium = playwright.chromium.launch(executable_path=executable, args=CHROMIUM_FLAGS)
            page = chromium.new_page(viewport={"width": 1280, "height": 1600})
            opened = NotebookPage.open(page, server, "lab", "long.ipynb")
            client = page.context.new_cdp_session(page)
            opened.run(0)
            check(opened)
            quarters = [quarter(opened, client) for _ in range(QUARTERS)]
            chromium.close()
        server.stop_kernels()
    return int(has_grown(quarters[0], quarters[-1]))


def quarter(opened: NotebookPage, client: CDPSession) -> Quarter:
    """A quarter of the checks, and what the page holds then."""
    checks, inserts = [], []
    for number in range(CHECKS // QUARTERS):
        checks.append(timed(check, opened))
        if number % INSERT_EVERY == INSERT_EVERY - 1:
            inserts.append(timed(insert_and_undo, opened))
    opened.page.evaluate(FORGET_LOG)
    client.send("HeapProfiler.collectGarbage")
    counted: dict[str, Any] = client.send("Memory.getDOMCounters")
    heap = client.send("Runtime.getHeapUsage")
    outputs = opened.page.evaluate(f"() => {PANEL}.content.widgets[{CELL}].model.outputs.length")
    found = Quarter(
        heap["usedSize"] / 1e6,
        counted["nodes"],
        counted["jsEventListeners"],
        statistics.median(checks) * 1e3,
        statistics.median(inserts) * 1e3,
        outputs,
    )
    print(found, flush=True)
    return found


def check(opened: NotebookPage) -> None:
    """Run the cell until its card offers its fix."""
    opened.run(CELL)
    opened.button(CELL, HISTOGRAM_FIX_1).wait_for()
    opened.page.wait_for_function(
        f"() => !{PANEL}.content.widgets[{CELL}].node.querySelector('.pm-insert').disabled"
    )


def insert_and_undo(opened: NotebookPage) -> None:
    """Insert the fix and take it back on the card; the text must be right each time."""
    opened.button(CELL, HISTOGRAM_FIX_1).click()
    if opened.cell_text(CELL) != counts_in_vmem(CHECKED_HISTOGRAM):
        raise AssertionError("the fix is not in")
    opened.button(CELL, "Undo fix 1").click()
    if opened.cell_text(CELL) != CHECKED_HISTOGRAM:
        raise AssertionError("the fix was not taken back")


def timed(act: Any, opened: NotebookPage) -> float:
    started = time.perf_counter()
    act(opened)
    return time.perf_counter() - started


def has_grown(first: Quarter, last: Quarter) -> bool:
    limits = {
        "heap": (first.heap_mb, last.heap_mb, HEAP_LIMIT),
        "nodes": (first.nodes, last.nodes, COUNT_LIMIT),
        "listeners": (first.listeners, last.listeners, COUNT_LIMIT),
        "a check": (first.check_ms, last.check_ms, TIME_LIMIT),
        "an insertion": (first.insert_ms, last.insert_ms, TIME_LIMIT),
    }
    over = [name for name, (before, after, limit) in limits.items() if after > before * limit]
    print("grown: " + ", ".join(over) if over else "flat")
    return bool(over)


if __name__ == "__main__":
    sys.exit(main())
