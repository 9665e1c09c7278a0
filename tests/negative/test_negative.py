"""What JAX's own tests expect to be refused is told as the user's version of it is.

Each section of ``cells.md`` is named after a test in JAX's ``tests/pallas`` and
gives the code that the check must come to, ``PM999`` where no rule knows it yet.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jax
import pytest

import pallas_magic

TEXT = Path(__file__).with_name("cells.md").read_text()
SECTION = re.compile(
    r"^## (\S+), (PM\d+)(?:, from JAX ([\d.]+))?\n\n```python\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
COMMON = re.search(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
CELLS = SECTION.findall(TEXT)


def is_old(release: str) -> bool:
    return bool(release) and jax.__version_info__ < tuple(map(int, release.split(".")))


def test_every_section_is_read() -> None:
    assert len(CELLS) == len(re.findall(r"^## ", TEXT, re.MULTILINE))


@pytest.mark.parametrize(("name", "code", "release", "cell"), CELLS, ids=[one[0] for one in CELLS])
def test_refused(name: str, code: str, release: str, cell: str, tmp_path: Path) -> None:
    if is_old(release):
        pytest.skip(f"for JAX {release} and newer")
    assert COMMON is not None
    path = tmp_path / "cell.py"
    path.write_text(COMMON[1] + cell)
    names: dict[str, Any] = {"__name__": "cell"}
    exec(compile(path.read_text(), str(path), "exec"), names)
    target = "gpu" if "plgpu" in cell or "gpu" in cell else "tpu"
    report = pallas_magic.check(names["fn"], *names["args"], target=target, verify=False)
    assert [one.code for one in report.diagnostics] == [code], report.diagnostics
    assert all(one.primary is not None for one in report.diagnostics)
