"""Cases of the rules, read from Markdown and run for real.

A file begins with the code that all its cells start with. Each ``##`` section is
one cell, a ``python`` block that defines ``fn`` and ``args``; a cell with imports
of its own stands alone. A line of carets marks the code above it: ``^^^`` for the
diagnostic and its further places, ``---`` for a cause, each followed by its text.
What the check must say follows in a ``text`` block, and each fix in a ``diff``
block that begins with its number, applicability and title. A cell that is
followed by neither must be clean. A line `- jax: 0.12` says from which release
on the cell is told as it stands, a line `- target: gpu:b200` for which chip.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax

import pallas_magic
from pallas_magic.report import Diagnostic, Fix, Label, Report, Span

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_MARK = re.compile(r"^ *(\^+|-+) (.+)$")


@dataclasses.dataclass(frozen=True)
class Case:
    """One cell and what a check must make of it."""

    file: str
    title: str
    code: str
    marked: str
    text: str
    fixes: tuple[str, ...]
    target: str = ""

    def __str__(self) -> str:
        return f"{self.file}: {self.title}"


def read_cases(folder: Path) -> Iterator[Case]:
    """The cases of every Markdown file in ``folder``."""
    for path in sorted(folder.glob("*.md")):
        yield from cases_of(path)


def cases_of(path: Path) -> Iterator[Case]:
    """The cases of one Markdown file."""
    preamble, *sections = re.split(r"^## ", path.read_text(), flags=re.MULTILINE)
    common = "".join(body for kind, body in _BLOCK.findall(preamble) if kind == "python")
    for section in sections:
        title, _, body = section.partition("\n")
        if not _is_told_here(body):
            continue
        blocks = [(kind, text) for kind, text in _BLOCK.findall(body)]
        marked = next(text for kind, text in blocks if kind == "python")
        if not marked.startswith(("import ", "from ")):
            marked = common + "\n" + marked
        yield Case(
            path.stem,
            title,
            "".join(line + "\n" for line in marked.splitlines() if not _MARK.match(line)),
            marked,
            "".join(text for kind, text in blocks if kind == "text"),
            tuple(_told_here(text, marked) for kind, text in blocks if kind == "diff"),
            _target(body),
        )


def _is_told_here(section: str) -> bool:
    oldest = re.search(r"^- jax: ([\d.]+)$", section, re.MULTILINE)
    return oldest is None or tuple(map(int, oldest[1].split("."))) <= jax.__version_info__


def _target(section: str) -> str:
    chosen = re.search(r"^- target: (\S+)$", section, re.MULTILINE)
    return chosen[1] if chosen is not None else ""


def _told_here(fix: str, code: str) -> str:
    """A fix as it is told where JAX cannot interpret the warp-level region it is about."""
    has_region = "warp_map" in code or "WarpMesh" in code
    if not has_region or jax.__version_info__ >= (0, 11):
        return fix
    heading, *lines = fix.splitlines()
    why = f"  = JAX {jax.__version__} cannot interpret a warp-level region"
    changes = [line for line in lines if not line.startswith("  = ")]
    told = [heading.replace(", safe:", ", unsafe:"), why, *changes]
    return "".join(line + "\n" for line in told)


def check_code(code: str, path: Path, target: str = "") -> tuple[Report, str]:
    """The report on ``code`` run as the file ``path``, and the key of its source."""
    path.write_text(code)
    names: dict[str, Any] = {"__name__": path.stem, "__file__": str(path)}
    exec(compile(code, str(path), "exec"), names)
    if not target:
        target = "gpu" if "mosaic_gpu" in code or "triton" in code else "tpu"
    return pallas_magic.check(names["fn"], *names["args"], target=target), str(path)


def with_marks(code: str, report: Report, key: str) -> str:
    """``code`` with a line of carets under each mark of the report, as a case has them."""
    marks = sorted({mark for one in report.diagnostics for mark in _marks(one)})
    lines = []
    for number, line in enumerate(code.splitlines(), start=1):
        lines.append(line)
        for span, sign, text in marks:
            if span.source == key and span.start_line == number:
                end = span.end_col if span.end_line == number else len(line)
                lines.append(" " * span.start_col + sign * (end - span.start_col) + " " + text)
    return "".join(line + "\n" for line in lines)


def messages(report: Report) -> str:
    """The diagnostics of a report, one line each, notes and causes included."""
    lines = []
    for one in report.diagnostics:
        lines.append(f"{one.severity}[{one.code}] {one.kernel}: {one.message}")
        lines += [f"  = {note}" for note in one.notes]
    return "".join(line + "\n" for line in lines)


def fix_text(fix: Fix, code: str) -> str:
    """A fix as a case tells it: its heading and the lines it takes away and puts in."""
    heading = f"fix {fix.id}, {fix.applicability}: {fix.title}"
    if fix.proof is not None and fix.proof.why:
        heading += f"\n  = {fix.proof.why}"
    changed = difflib.unified_diff(
        code.splitlines(), fix.apply(code).splitlines(), lineterm="", n=0
    )
    lines = [line for line in list(changed)[2:] if not line.startswith("@@")]
    return "".join(line + "\n" for line in [heading, *lines])


def _marks(one: Diagnostic) -> Iterator[tuple[Span, str, str]]:
    if one.primary is not None:
        yield one.primary, "^", one.primary_text
    for label in one.labels:
        yield label.span, _sign(label), label.text


def _sign(label: Label) -> str:
    return "^" if label.role == "effect" else "-"


def kinds_of(report: Report) -> list[tuple[str, str]]:
    """What is wrong, without where."""
    return sorted((one.code, one.message) for one in report.diagnostics)
