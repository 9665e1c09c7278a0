"""The options of ``%%pallas_check`` and ``%pallas_check``."""

from __future__ import annotations

import dataclasses
import functools
import re
from argparse import ArgumentTypeError

from IPython.core.error import UsageError
from IPython.core.magic_arguments import MagicArgumentParser

from pallas_magic.targets import UnknownTarget, parse_targets

ALL = "all"
_LEADING = re.compile(
    r"\s*(--target(?:\s*=\s*|\s+)\S+|--fix(?:(?:\s*=\s*|\s+)\d+)?|--no-run|--no-verify)(?=\s|$)"
)
_FIX = re.compile(r"\s+--fix(?:(?:\s*=\s*|\s+)\d+)?(?=\s|$)")


_DESCRIPTION = """
Check the Pallas calls of a cell, or of an expression, for an accelerator.

`%%pallas_check` stands on top of a cell. The cell runs once, as if that line
were not there; under it stands what was found in its kernels: where, why, and
fixes that were proved.

`%pallas_check f(x)` checks one expression and returns its value.
"""


@dataclasses.dataclass(frozen=True)
class CheckOptions:
    """``fix`` is the number of the fix to insert, :data:`ALL`, or ``None``."""

    target: str = "auto"
    fix: int | str | None = None
    run: bool = True
    verify: bool = True


def parse_options(line: str) -> CheckOptions:
    """The options in ``line``; raises ``UsageError`` that says what is wrong with them."""
    try:
        found, unknown = _parser().parse_known_args(line.split())
        if unknown:
            raise UsageError(f"no option {unknown[0]!r}")
        if found.target != "auto":
            parse_targets(found.target)
    except (UnknownTarget, UsageError) as error:
        raise UsageError(
            f"pallas_check: {error}. Options: --target T, --fix [N], --no-run, --no-verify. "
            "Nothing was run."
        ) from None
    return CheckOptions(found.target, found.fix, not found.no_run, not found.no_verify)


def help_text() -> str:
    """What ``%%pallas_check?`` shows."""
    return str(_parser().format_help())


@functools.cache
def _parser() -> MagicArgumentParser:
    parser = MagicArgumentParser(  # type: ignore[no-untyped-call]
        "%pallas_check", description=_DESCRIPTION
    )
    parser.add_argument(
        "--target",
        metavar="T",
        default="auto",
        help="chips to check for, commas between them: tpu:v5e, gpu:h100, tpu, gpu; auto is "
        "this machine's accelerator, else the usual chip of the kernel's back end",
    )
    parser.add_argument(
        "--fix",
        metavar="N",
        nargs="?",
        const=ALL,
        type=_fix_number,
        help="put fix N, or all fixes, into the cell: it runs once, as it stands, ends ok and "
        "is replaced by the mended cell, to be run again",
    )
    parser.add_argument(
        "--no-run",
        action="store_true",
        help="stop the cell after its first Pallas call, which is checked and not executed",
    )
    parser.add_argument("--no-verify", action="store_true", help="show fixes without proving them")
    return parser


def _fix_number(text: str) -> int | str:
    if text != ALL and not text.isdecimal():
        raise ArgumentTypeError(f"{text!r} is not the number of a fix")
    return text if text == ALL else int(text)


def split_options(line: str) -> tuple[str, str]:
    """The options at the front of ``line``, and the expression behind them."""
    taken = []
    rest = line
    while match := _LEADING.match(rest):
        taken.append(match[1])
        rest = rest[match.end() :]
    return " ".join(taken), rest.strip()


def without_fix(line: str) -> str:
    """The magic's line as it is once the fix is in the cell."""
    return _FIX.sub("", line)
