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
    options = parser.parse_args(arguments)
    from pallas_magic.ipython.notebook_file import run_notebook

    return 0 if run_notebook(options.notebook) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
