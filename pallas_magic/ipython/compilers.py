"""``%pallas_compilers``, and its name in the lines that say how to get a compiler."""

from __future__ import annotations

import re
import sys

from IPython.core.error import UsageError

MAGIC = "%pallas_compilers"
_MODULE = "pallas_magic.aot.compilers"
_NOT_DONE = {3: "it was not done", 2: "it takes one of the forms above", 130: "interrupted"}


class _Before:
    """How a compiler was asked for before the magic was there."""

    command = ""


def name_the_magic() -> None:
    """Let notes say ``%pallas_compilers install tpu``."""
    from pallas_magic.aot import compilers

    _Before.command = _Before.command or compilers.install_command
    compilers.install_command = f"{MAGIC} install"


def name_the_command() -> None:
    """Let notes say again what is typed outside IPython."""
    if _Before.command:
        vars(sys.modules[_MODULE])["install_command"] = _Before.command


def run_compilers(line: str) -> None:
    """Do what ``line`` asks for; raises ``UsageError`` where that cannot be."""
    from pallas_magic.aot.command import run_command

    name_the_magic()
    status = run_command(line.split(), _say)
    if status:
        raise UsageError(f"{MAGIC}: {_NOT_DONE.get(status, 'it failed')}")


def _say(text: str) -> None:
    shown = re.sub(r"^compilers\b", MAGIC, text, flags=re.MULTILINE)
    print(shown, end="" if text.endswith("\r") else "\n", flush=True)
