"""Whole notebooks: what stops, what goes on, and what is saved."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import nbformat as untyped_nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from tests.ipython.cells import BAD, GOOD, checked
from tests.ipython.kernel import CARD, IMPORTS, LOAD, ROOT, WIDGET

nbformat: Any = untyped_nbformat
FAILED = "1 error in 1 kernel: see the card above"


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = os.pathsep.join(p for p in (str(ROOT), os.environ.get("PYTHONPATH")) if p)
    for name, value in {
        "PYTHONPATH": path,
        "JAX_PLATFORMS": "cpu",
        "IPYTHONDIR": str(tmp_path),
    }.items():
        monkeypatch.setenv(name, value)


def notebook(*cells: str, tags: tuple[str, ...] = ()) -> Any:
    """A notebook; ``tags`` are those of the third cell."""
    made = nbformat.v4.new_notebook()
    made.metadata["kernelspec"] = {
        "name": "python3",
        "display_name": "Python",
        "language": "python",
    }
    made.cells = [nbformat.v4.new_code_cell(text) for text in (LOAD, IMPORTS, *cells)]
    made.cells[2].metadata["tags"] = list(tags)
    return made


def outputs(cell: Any, kind: str) -> list[Any]:
    return [output for output in cell.outputs if output.output_type == kind]


def test_a_cell_with_errors_stops_run_all() -> None:
    made = notebook(checked(BAD), "after = 1")
    with pytest.raises(CellExecutionError) as raised:
        NotebookClient(made).execute()
    assert (raised.value.ename, raised.value.evalue) == ("PallasCheckError", FAILED)
    assert made.cells[3].execution_count is None


def test_what_is_saved_is_the_proved_card() -> None:
    made = notebook(checked(BAD), tags=("raises-exception",))
    NotebookClient(made).execute()
    (card,) = outputs(made.cells[2], "display_data")
    assert card.data[CARD]["card"]["state"] == "done"
    assert "PM101" in card.data["text/html"]
    assert "PM101" in card.data["text/plain"]
    assert list(card.data).count(WIDGET) == 0
    nbformat.validate(made)


def test_raises_exception_is_honoured() -> None:
    made = notebook(checked(BAD), "print('went on')", tags=("raises-exception",))
    NotebookClient(made).execute()
    (error,) = outputs(made.cells[2], "error")
    assert (error.ename, error.evalue) == ("PallasCheckError", FAILED)
    assert error.traceback == [f"PallasCheckError: {FAILED}"]
    (stream,) = outputs(made.cells[3], "stream")
    assert stream.text == "went on\n"


def test_a_clean_notebook_runs_through() -> None:
    made = notebook(checked(GOOD), checked("1 + 1"), "float(result[0, 0])")
    NotebookClient(made).execute()
    assert outputs(made.cells[4], "execute_result")[0].data["text/plain"] == "2.0"


def test_two_cells_of_one_text_keep_their_own_identities() -> None:
    made = notebook(checked(GOOD), checked(BAD), checked(BAD), tags=("raises-exception",))
    for cell in made.cells:
        cell.metadata["tags"] = ["raises-exception"]
    NotebookClient(made).execute()
    for cell in made.cells[3:]:
        payload = outputs(cell, "display_data")[0].data[CARD]
        (source,) = payload["sources"].values()
        assert source["label"] == f"In[{cell.execution_count}]"


def test_papermill_stops_too(tmp_path: Path) -> None:
    papermill = pytest.importorskip("papermill")
    source, target = tmp_path / "in.ipynb", tmp_path / "out.ipynb"
    nbformat.write(notebook(checked(BAD), "after = 1"), source)
    with pytest.raises(papermill.PapermillExecutionError) as raised:
        papermill.execute_notebook(source, target, progress_bar=False, log_output=False)
    assert (raised.value.ename, raised.value.evalue) == ("PallasCheckError", FAILED)
    written = nbformat.read(target, as_version=4)
    assert not [cell for cell in written.cells if cell.source == "after = 1" and cell.outputs]
