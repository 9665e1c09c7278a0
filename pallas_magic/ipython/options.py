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


@dataclasses.dataclass(frozen=True)
class CheckOptions:
    """What a magic's line and, where it says nothing, the settings ask for.

    ``fix`` is the number of the fix to insert, :data:`ALL`, or ``None``;
    ``goes_on`` lets a cell with errors end as one without.
    """

    target: str = "auto"
    fix: int | str | None = None
    run: bool = True
    verify: bool = True
    compile: str | bool = "auto"
    ignored: tuple[str, ...] = ()
    goes_on: bool = False


NO_SETTINGS = CheckOptions()


def parse_options(line: str, settings: CheckOptions = NO_SETTINGS) -> CheckOptions:
    """``settings`` with the options in ``line``; raises ``UsageError`` that says what is wrong."""
    try:
        found, unknown = _parser().parse_known_args(line.split())
        if unknown:
            raise UsageError(f"no option {unknown[0]!r}")
        target = found.target or settings.target
        if target != "auto":
            parse_targets(target)
    except (UnknownTarget, UsageError) as error:
        raise UsageError(
            f"pallas_check: {error}. Options: --target T, --fix [N], --no-run, --no-verify. "
            "Nothing was run."
        ) from None
    return dataclasses.replace(
        settings,
        target=target,
        fix=found.fix,
        run=not found.no_run,
        verify=settings.verify and not found.no_verify,
    )


@functools.cache
def _parser() -> MagicArgumentParser:
    parser = MagicArgumentParser("%pallas_check")  # type: ignore[no-untyped-call]
    parser.add_argument("--target")
    parser.add_argument("--fix", nargs="?", const=ALL, type=_fix_number)
    parser.add_argument("--no-run", action="store_true")
    parser.add_argument("--no-verify", action="store_true")
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
