"""``python -m pallas_magic``: what can be done from a shell's command line."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def main(arguments: list[str]) -> int:
    """The exit status: 1 where a cell failed that should not have."""
    parser = argparse.ArgumentParser(prog="python -m pallas_magic")
    commands = parser.add_subparsers(dest="command", required=True)
    check = commands.add_parser(
        "check", help="run a notebook here, with the extension loaded, and print what is found"
    )
    check.add_argument("notebook", type=Path)
    compilers = commands.add_parser(
        "compilers", help="list, install and remove the compilers of the compile stage"
    )
    compilers.add_argument("words", nargs="*", metavar="install|remove tpu|gpu")
    options = parser.parse_args(arguments)
    if options.command == "compilers":
        from pallas_magic.aot.command import run_command

        return run_command(options.words, _say)
    from pallas_magic.ipython.notebook_file import run_notebook

    return 0 if run_notebook(options.notebook) else 1


def _say(line: str) -> None:
    print(line, end="" if line.endswith("\r") else "\n", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
