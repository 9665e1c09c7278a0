"""IPython in a real terminal: printed once, in colour, and the next prompt holds the fix."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest

from tests.ipython.cells import BAD, BAD_TRACE
from tests.ipython.kernel import IMPORTS, ROOT

TIMEOUT = 60
PROMPT = r"In \[(\d+)\]: $"


class Terminal:
    """An IPython prompt; cells of several lines are handed over in a file."""

    def __init__(self, folder: Path) -> None:
        env = {
            **os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu",
            "IPYTHONDIR": str(folder), "TERM": "xterm-256color", "IPY_TEST_SIMPLE_PROMPT": "1",
        }  # fmt: skip
        env.pop("NO_COLOR", None)
        self._child = pexpect.spawn(
            sys.executable,
            ["-m", "IPython", "--no-banner", "--simple-prompt", "--no-confirm-exit"],
            env=env, encoding="utf-8", timeout=TIMEOUT, dimensions=(50, 120),
        )  # fmt: skip
        self._folder = folder
        self._child.expect(PROMPT)

    def run(self, code: str, prompt: str = PROMPT) -> str:
        """Run ``code`` as one cell and give what the terminal shows until ``prompt``."""
        path = self._folder / "cell.txt"
        path.write_text(code)
        return self.type(f"get_ipython().run_cell(open({str(path)!r}).read()); None", prompt)

    def type(self, line: str, prompt: str = PROMPT) -> str:
        self._child.sendline(line)
        self._child.expect(prompt)
        shown = str(self._child.before)
        return shown.partition("\n")[2].replace("\r\n", "\n")

    def close(self) -> None:
        self._child.close(force=True)


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    opened = Terminal(tmp_path_factory.mktemp("ipython"))
    opened.type("%load_ext pallas_magic")
    opened.run(IMPORTS)
    yield opened
    opened.close()


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*[a-zA-Z]", "", text)


def test_the_report_is_printed_once_after_proving(terminal: Terminal) -> None:
    shown = plain(terminal.run(f"%%pallas_check\n{BAD}"))
    assert shown.count("error[PM101]") == 1
    assert "proving" not in shown
    assert "same values ✓" in shown
    assert "PallasCheckError: 1 error in 1 kernel: see the report above" in shown


def test_the_report_is_in_colour(terminal: Terminal) -> None:
    assert "\x1b[" in terminal.run(f"%%pallas_check\n{BAD}").partition("PallasCheckError")[0]


def test_debug_opens_at_jax_s_own_error(terminal: Terminal) -> None:
    terminal.run(f"%%pallas_check\n{BAD_TRACE}")
    assert "_compute_newshape" in plain(terminal.type("%debug", r"ipdb> $"))
    terminal.type("q")


def test_pdb_opens_after_the_report(terminal: Terminal) -> None:
    terminal.type("%pdb on")
    shown = plain(terminal.run(f"%%pallas_check\n{BAD_TRACE}", r"ipdb> $"))
    terminal.type("q")
    assert shown.index("PM999") < shown.index("PallasCheckError") < shown.index("_compute_newshape")
    plain_cell = plain(terminal.run(BAD_TRACE, r"ipdb> $"))
    terminal.type("q")
    assert "Cut to your own lines" in plain_cell
    terminal.type("%pdb off")


def test_pdb_stays_shut_where_nothing_was_raised(terminal: Terminal) -> None:
    terminal.type("%pdb on")
    shown = terminal.run(f"%%pallas_check\n{BAD}")
    terminal.type("%pdb off")
    assert "ipdb" not in shown


def test_the_fix_waits_at_the_next_prompt(terminal: Terminal) -> None:
    shown = terminal.run(f"%%pallas_check --fix\n{BAD}")
    assert "Inserted fix 1" in shown
    waiting = terminal.type("print(get_ipython().rl_next_input)")
    assert "%%pallas_check\n" in waiting
    assert "memory_space=pltpu.VMEM" in waiting


def test_a_typed_magic_lets_its_body_be_typed(terminal: Terminal) -> None:
    terminal.type("%%pallas_check", r"\.\.\.: $")
    terminal.type("typed = 5", r"\.\.\.: $")
    terminal.type("", r"\.\.\.: $")
    assert "no Pallas call was made" in terminal.type("")
    assert terminal.type("typed").strip().endswith("5")
