"""The options of ``%%pallas_check`` and ``%pallas_check``."""

from __future__ import annotations

import dataclasses
import re

from IPython.core.error import UsageError
from IPython.core.magic_arguments import MagicArgumentParser

from pallas_magic.targets import UnknownTarget, known_names, parse_targets

_LEADING = re.compile(r"\s*(--(?:target|no-run|no-verify|fix)\b(?:(?<=target)[=\s]\s*\S+)?)(?=\s|$)")


@dataclasses.dataclass(frozen=True)
class CheckOptions:
    """``fix`` is the number of the fix to insert, ``"all"`` for all of them."""

    target: str = "auto"
    fix: int | str | None = None
    run: bool = True
    verify: bool = True


def parse_options(line: str) -> CheckOptions:
    """The options in ``line``; raises ``UsageError`` that says what is wrong with them."""
    found = _parser().parse_argstring(line)
    return CheckOptions(
        _known_target(found.target), _fix(found.fix), not found.no_run, not found.no_verify
    )


def split_options(line: str) -> tuple[CheckOptions, str]:
    """The options at the front of ``line`` and the expression behind them."""
    taken = []
    rest = line
    while match := _LEADING.match(rest):
        taken.append(match[1])
        rest = rest[match.end() :]
    options = parse_options(" ".join(taken))
    if options.fix is not None:
        raise UsageError("--fix changes a cell: use it with `%%pallas_check` on its first line")
    return options, rest.strip()


def _parser() -> MagicArgumentParser:
    parser = MagicArgumentParser("%%pallas_check", add_help=False)
    add_arguments(parser)
    return parser
