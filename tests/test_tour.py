"""The tour in notebooks/, executed as "Run All" does, and by the README's command."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import nbformat as untyped_nbformat
import pytest
from nbclient import NotebookClient

nbformat: Any = untyped_nbformat
ROOT = Path(__file__).parents[1]
TOUR = ROOT / "notebooks" / "tour.ipynb"
CARD = "application/vnd.pallas-magic.v1+json"
# The first release that can interpret a warp-level region, and so compare values.
INTERPRETS_WARPS = (0, 11)


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The executed cells of the tour, by id."""
    path = os.pathsep.join(p for p in (str(ROOT), os.environ.get("PYTHONPATH")) if p)
    notebook = nbformat.read(TOUR, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=300,
        kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path_factory.mktemp("tour"))}},
    )
    client.execute(env={**os.environ, "PYTHONPATH": path})
    return {cell["id"]: cell for cell in notebook["cells"]}


def card(cell: Any) -> Any:
    """The payload of the one card under a cell."""
    (payload,) = (o["data"][CARD] for o in cell["outputs"] if o.get("data", {}).get(CARD))
    return payload


def texts(cell: Any) -> list[str]:
    """What a front end without any extension shows."""
    return [
        output["text"] if "text" in output else "".join(output["data"].get("text/plain", ""))
        for output in cell["outputs"]
        if "text" in output or "data" in output
    ]


def failure(cell: Any) -> str:
    """The error that ended a cell, with its traceback."""
    (error,) = (output for output in cell["outputs"] if output["output_type"] == "error")
    return re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(error["traceback"]))


def marked(payload: Any, text: str) -> str:
    """The text under the first mark of the first diagnostic."""
    span = payload["diagnostics"][0]["primary"]
    line: str = text.split("\n")[span["start_line"] - 1]
    return line[span["start_col"] : span["end_col"]]


def codes(payload: Any) -> list[str]:
    return [diagnostic["code"] for diagnostic in payload["diagnostics"]]


def applicabilities(payload: Any) -> list[str]:
    return [f["applicability"] for d in payload["diagnostics"] for f in d["fixes"]]


def test_loading_says_nothing(cells: dict[str, Any]) -> None:
    assert cells["load"]["outputs"] == []


def test_clean_kernel_gets_one_line_and_its_value(cells: dict[str, Any]) -> None:
    shown = "\n".join(texts(cells["clean"]))
    assert "scale  ✓ lowers for TPU v5e" in shown
    assert "Array(" in shown
    assert codes(card(cells["clean"])) == []


def test_store_to_smem_is_found_with_safe_fixes(cells: dict[str, Any]) -> None:
    payload = card(cells["smem"])
    assert codes(payload) == ["PM101"]
    assert marked(payload, cells["smem"]["source"]) == "counts_ref[...]"
    assert applicabilities(payload)[0] == "safe"
    assert "jax/_src" not in failure(cells["smem"])


def test_plain_cell_is_explained(cells: dict[str, Any]) -> None:
    payload = card(cells["hook"])
    assert codes(payload) == ["PM103"]
    assert marked(payload, cells["hook"]["source"]) == "weights_ref[...]"
    assert "jax/_src" not in failure(cells["hook"])


def test_vector_store_in_a_warp_is_found(cells: dict[str, Any]) -> None:
    payload = card(cells["gpu"])
    assert codes(payload) == ["PM701"]
    assert marked(payload, cells["gpu"]["source"]) == "block[...]"
    newer = tuple(map(int, jax.__version__.split(".")[:2])) >= INTERPRETS_WARPS
    assert applicabilities(payload)[0] == ("safe" if newer else "unsafe")


def test_function_reports_the_same(cells: dict[str, Any]) -> None:
    report = " ".join("".join(texts(cells["function"])).split())
    assert report.startswith("error[PM101]: `counts_ref` is in SMEM")
    assert "lowering for TPU v5e and v6e" in report
    (listed,) = texts(cells["report"])
    assert listed.splitlines()[:2] == [
        "PM101 smem-vector-store for tpu:v5e, tpu:v6e",
        "  fix 1 (safe): move `counts_ref` to VMEM",
    ]


def check_notebook(path: Path) -> subprocess.CompletedProcess[str]:
    """``python -m pallas_magic check``."""
    return subprocess.run(
        [sys.executable, "-m", "pallas_magic", "check", str(path)],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_command_prints_what_it_finds() -> None:
    done = check_notebook(TOUR)
    assert done.returncode == 0, done.stderr
    found = re.findall(r"^error\[(PM\d+)\]", done.stdout, re.MULTILINE)
    assert found == ["PM101", "PM103", "PM701", "PM101"]
    assert "\x1b" not in done.stdout


def test_command_fails_with_the_cell_that_fails(tmp_path: Path) -> None:
    notebook = nbformat.v4.new_notebook()
    for source in ("print('first')", "1 / 0", "print('never')"):
        notebook.cells.append(nbformat.v4.new_code_cell(source))
    path = tmp_path / "failing.ipynb"
    nbformat.write(notebook, path)
    done = check_notebook(path)
    assert done.returncode == 1
    assert done.stderr.endswith("cell 2 failed; no later cell was run\n")
    assert "never" not in done.stdout
