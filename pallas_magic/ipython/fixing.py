"""``--fix``: the cell's text with a fix, or all of them, in it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from pallas_magic.ipython.options import ALL, without_fix
from pallas_magic.report import Applicability, Report, Source, TextEdit
from pallas_magic.source.edits import apply_edits


class NoFix(Exception):
    """The fix that was asked for cannot be put into this cell; the text says why."""


@dataclasses.dataclass(frozen=True)
class FixedCell:
    """The new text of a cell, and what changed in a sentence."""

    text: str
    said: str


@dataclasses.dataclass(frozen=True)
class FixedFiles:
    """The files that a fix changes: their sources and texts after it, by key."""

    name: str
    edits: tuple[TextEdit, ...]
    sources: Mapping[str, Source]
    texts: Mapping[str, str]
    proved: str


@dataclasses.dataclass(frozen=True)
class _Wanted:
    edits: tuple[TextEdit, ...]
    applicability: Applicability
    name: str


def fixed_cell(report: Report, wanted: int | str, key: str) -> FixedCell:
    """The text of the cell ``key`` with the wanted fix; raises :class:`NoFix`.

    The magic's line stays, without its ``--fix``: running the new text checks it.
    """
    fix = _found(report, wanted)
    elsewhere = sorted({edit.span.source for edit in fix.edits} - {key})
    if elsewhere:
        labels = _labels(report, elsewhere)
        raise NoFix(f"{fix.name} changes {labels}, which is not the cell that ran")
    return _fixed(report, fix, key, "Run the cell again.")


def fixed_anywhere(report: Report, wanted: int | str) -> FixedCell:
    """The text of whichever one cell the wanted fix changes; raises :class:`NoFix`."""
    fix = _found(report, wanted)
    keys = sorted({edit.span.source for edit in fix.edits})
    if len(keys) > 1:
        raise NoFix(f"{fix.name} changes {_labels(report, keys)}; a prompt holds one of them")
    source = report.sources[keys[0]]
    return _fixed(report, fix, keys[0], f"{source.label} with it is at the next prompt.")


def fixed_files(report: Report, wanted: int | str) -> FixedFiles | None:
    """The files of a fix that changes nothing else, ``None`` for any other; may raise `NoFix`."""
    fix = _found(report, wanted)
    sources = {edit.span.source: report.sources[edit.span.source] for edit in fix.edits}
    if any(source.kind != "file" for source in sources.values()):
        return None
    for source in sources.values():
        if not source.editable:
            raise NoFix(f"{fix.name} changes {source.label}, which cannot be written to")
    own = {key: [e for e in fix.edits if e.span.source == key] for key in sources}
    texts = {key: apply_edits(source.text, own[key]) for key, source in sources.items()}
    return FixedFiles(fix.name, fix.edits, sources, texts, _said_of(fix))


def _found(report: Report, wanted: int | str) -> _Wanted:
    fix = _all(report) if wanted == ALL else _one(report, int(wanted))
    if fix.applicability == "display":
        why = "was not proved" if fix.edits else "is a suggestion without an edit"
        raise NoFix(f"{fix.name} {why}")
    return fix


def _labels(report: Report, keys: Sequence[str]) -> str:
    return " and ".join(report.sources[key].label for key in keys)


def _fixed(report: Report, fix: _Wanted, key: str, now: str) -> FixedCell:
    text = apply_edits(report.sources[key].text, fix.edits)
    return FixedCell(_without_option(text), f"Inserted {fix.name}{_said_of(fix)}. {now}")


def _said_of(fix: _Wanted) -> str:
    return "" if fix.applicability == "safe" else " (not proved to keep the values)"


def _one(report: Report, number: int) -> _Wanted:
    fixes = {fix.id: fix for fix in report.fixes()}
    if number not in fixes:
        known = ", ".join(map(str, fixes)) or "none"
        raise NoFix(f"there is no fix {number}; the fixes of this cell: {known}")
    fix = fixes[number]
    return _Wanted(fix.edits, fix.applicability, f"fix {number}: {fix.title}")


def _all(report: Report) -> _Wanted:
    if report.combined is not None:
        numbers = " and ".join(map(str, report.combined.ids))
        return _Wanted(report.combined.edits, report.combined.applicability, f"fixes {numbers}")
    firsts = [found.fixes[0].id for found in report.diagnostics if found.fixes]
    if not firsts:
        raise NoFix("no fix is known for what was found")
    if len(firsts) > 1:
        numbers = ", ".join(map(str, firsts))
        raise NoFix(f"the fixes {numbers} cannot go in together; choose one: `--fix {firsts[0]}`")
    return _one(report, firsts[0])


def _without_option(text: str) -> str:
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if "%%pallas_check" in line:
            lines[number] = without_fix(line)
            break
    return "\n".join(lines)
