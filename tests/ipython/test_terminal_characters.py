"""What a terminal with few characters shows."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.ipython.kernel import ROOT

SHOW = """
from pallas_magic.ipython.display import TerminalCard
from tests.render.chip_shapes import memory
TerminalCard(None).show(memory())
"""


@pytest.mark.parametrize(
    ("encoding", "bar"),
    [("ascii", b"###################. 15.1 of 16 MiB"), ("utf-8", "█░ 15.1 of 16 MiB".encode())],
)
def test_a_terminal_gets_what_its_encoding_has(encoding: str, bar: bytes) -> None:
    env = {**os.environ, "PYTHONIOENCODING": encoding}
    shown = subprocess.run(
        [sys.executable, "-c", SHOW], cwd=ROOT, env=env, capture_output=True, check=True
    )
    assert bar in shown.stdout
