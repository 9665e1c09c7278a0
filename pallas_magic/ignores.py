"""``# pallas: ignore[PM101]``: diagnostics that the user does not want to see."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Literal

from pallas_magic.report import Diagnostic, Source

By = Literal["", "comment", "setting"]

# A comment is a `#` that no string of its line holds.
_IGNORE = re.compile(
    r"""^(?:[^#"']|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')*"""
    r"""\#[^\n]*?(?<!\w)pallas:[ ]*ignore(?![\w-])[ ]*(?:\[(?P<codes>[^\]\n]*)\])?"""
)
_SAID: Mapping[By, str] = {"comment": "# pallas: ignore", "setting": "PallasMagic.ignore"}


@dataclasses.dataclass(frozen=True)
class Ignored:
    """A diagnostic that was left out, and what left it out."""

    diagnostic: Diagnostic
    by: By


def ignored_by(
    diagnostic: Diagnostic, sources: Mapping[str, Source], codes: Collection[str] = ()
) -> By:
    """What leaves ``diagnostic`` out, if anything.

    ``codes`` are codes or names of rules that the user has set; a comment on a
    line of the primary span names its own, or none to leave out all.
    """
    if _named(diagnostic, codes):
        return "setting"
    primary = diagnostic.primary
    source = sources.get(primary.source) if primary is not None else None
    if primary is None or source is None:
        return ""
    lines = source.text.split("\n")[primary.start_line - 1 : primary.end_line]
    return "comment" if any(_leaves_out(line, diagnostic) for line in lines) else ""


def ignored_notes(ignored: Iterable[Ignored]) -> tuple[str, ...]:
    """One sentence for each way in which diagnostics were left out."""
    found = list(ignored)
    return tuple(
        _note(by, [one.diagnostic.code for one in found if one.by == by])
        for by in dict.fromkeys(one.by for one in found)
    )


def _note(by: By, codes: list[str]) -> str:
    plural = "" if len(codes) == 1 else "s"
    named = ", ".join(sorted(set(codes)))
    return f"`{_SAID[by]}` leaves out {len(codes)} diagnostic{plural}: {named}"


def _leaves_out(line: str, diagnostic: Diagnostic) -> bool:
    found = _IGNORE.match(line)
    if found is None:
        return False
    return found["codes"] is None or _named(diagnostic, found["codes"].split(","))


def _named(diagnostic: Diagnostic, codes: Collection[str]) -> bool:
    wanted = {code.strip().lower() for code in codes}
    return not wanted.isdisjoint({diagnostic.code.lower(), diagnostic.name.lower()})
