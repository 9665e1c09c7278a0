"""IPython at a real terminal."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pexpect.fdpexpect import fdspawn

from tests.ipython.kernel import IMPORTS, ROOT

TIMEOUT = 60
PROMPT = r"In \[(\d+)\]: $"
# Makes its standard input its terminal, for Ctrl-C to arrive, and becomes the program it is given.
AT_TERMINAL = (
    "import fcntl, os, sys, termios; "
    "fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
)


class Terminal:
    """An IPython prompt; cells of several lines are handed over in a file."""

    def __init__(self, folder: Path) -> None:
        env = {
            **os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu",
            "IPYTHONDIR": str(folder), "TERM": "xterm-256color", "PAGER": "cat",
            "IPY_TEST_SIMPLE_PROMPT": "1",
        }  # fmt: skip
        env.pop("NO_COLOR", None)
        # `pexpect.spawn` forks, and a fork of a process in which JAX has threads can hang.
        ours, its = pty.openpty()
        termios.tcsetwinsize(its, (50, 120))
        self._process = subprocess.Popen(
            [
                sys.executable, "-c", AT_TERMINAL, sys.executable,
                "-m", "IPython", "--no-banner", "--simple-prompt", "--no-confirm-exit",
            ],
            env=env, stdin=its, stdout=its, stderr=its, start_new_session=True,
        )  # fmt: skip
        os.close(its)
        self._child = fdspawn(ours, encoding="utf-8", timeout=TIMEOUT)
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
        self._process.kill()
        self._process.wait()
        self._child.close()

    def complete(self, line: str) -> str:
        """What Tab would offer behind ``line``."""
        asked = "get_ipython().Completer.complete(line_buffer={0!r}, cursor_pos={1})"
        return self.type(f"print({asked.format(line, len(line))}[1])").strip()


@contextmanager
def running_terminal(folder: Path) -> Iterator[Terminal]:
    """A terminal with the extension loaded and JAX imported."""
    opened = Terminal(folder)
    try:
        opened.type("%load_ext pallas_magic")
        opened.run(IMPORTS)
        yield opened
    finally:
        opened.close()


def plain(text: str) -> str:
    """``text`` as it stands at the end: no colours, no lines that were erased."""
    lasting = re.sub(r"[^\n]*\r\x1b\[K", "", text)
    return re.sub(r"\x1b\[[0-9;]*[a-zA-Z]", "", lasting)
