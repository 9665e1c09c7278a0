"""Cells that are compiled, kept in Markdown as those of the rules are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pallas_magic
from pallas_magic.report import Report

CELLS = Path(__file__).parent / "cells"


def check_cell(code: str, path: Path, target: str = "") -> tuple[Report, str]:
    """The report on ``code`` run as the file ``path``, and the key of its source."""
    path.write_text(code)
    names: dict[str, Any] = {"__name__": path.stem, "__file__": str(path)}
    exec(compile(code, str(path), "exec"), names)
    if not target:
        target = "gpu" if "mosaic_gpu" in code or "triton" in code else "tpu"
    return pallas_magic.check(names["fn"], *names["args"], target=target), str(path)
