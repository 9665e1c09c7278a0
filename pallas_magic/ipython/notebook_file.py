"""Run the cells of a notebook file in a shell of this process, in a terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

EXPECTED_TO_FAIL = "raises-exception"


def run_notebook(path: Path) -> bool:
    """Run every code cell of ``path`` with the extension loaded; whether all went as meant.

    A failed cell that is not tagged ``raises-exception`` is the last one that is run.
    """
    from IPython.core.interactiveshell import InteractiveShell

    from pallas_magic.ipython.extension import load

    shell: Any = InteractiveShell.instance()
    if not sys.stdout.isatty():
        shell.run_line_magic("colors", "nocolor")
    load(shell)
    for number, (text, tags) in enumerate(code_cells(path), 1):
        print(f"\n----- cell {number} {'-' * 60}", flush=True)
        result = shell.run_cell(text, store_history=True)
        sys.stdout.flush()
        if not result.success and EXPECTED_TO_FAIL not in tags:
            print(f"\ncell {number} failed; no later cell was run", file=sys.stderr)
            return False
    return True


def code_cells(path: Path) -> Iterator[tuple[str, list[str]]]:
    """The text and the tags of each code cell of a notebook of format 4."""
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            source = cell["source"]
            text = source if isinstance(source, str) else "".join(source)
            yield text, cell.get("metadata", {}).get("tags", [])
