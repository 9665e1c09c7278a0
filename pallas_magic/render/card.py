"""From a report to its card: pure, the same for every front end."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping, Sequence

from pallas_magic.render import words
from pallas_magic.render.bug_report import bug_report
from pallas_magic.render.characters import shown_text
from pallas_magic.render.chips import chips_of, listed
from pallas_magic.render.diff import FOLD_OVER, diff
from pallas_magic.render.inline import inline, plain
from pallas_magic.render.matrix import chip_matrix
from pallas_magic.render.memory import card_memory
from pallas_magic.render.model import (
    Card,
    CardDiagnostic,
    CardFix,
    Combined,
    DiffLine,
    Mark,
    MarkRole,
)
from pallas_magic.render.windows import windows
from pallas_magic.report import Diagnostic, Fix, FixSet, Report, Source, Span

COLUMNS = 100
UNKNOWN = "PM999"
LONGEST_ORIGINAL = 50_000
MOST_LABELS = 50
_PROMPT = re.compile(r"In\[(\d+)\]")


def build_card(
    report: Report,
    pages: Mapping[str, str] | None = None,
    here: str | None = None,
    columns: int = COLUMNS,
    progress: str = "",
) -> Card:
    """The card of ``report``.

    ``pages`` are the rules' pages by code, those of the rules found here by
    default. ``here`` is the key of the executed cell's source, by default the
    cell with the highest prompt number. No line of a window is wider than
    ``columns``. ``progress`` is what is going on, "compiling 3 of 9", where more
    than a proof is to come.
    """
    pages = rule_pages() if pages is None else pages
    here = executed_cell(report.sources) if here is None else here
    references = words.references(report)
    counted_notes = report.notes if report.kernels or report.diagnostics else report.notes[1:]
    return Card(
        state="proving" if report.proving or progress else "done",
        progress=words.progress(progress, report.proving),
        title=words.title(report),
        subtitle=inline(words.head(report)),
        notes=tuple(map(inline, counted_notes)),
        kernels=tuple(map(inline, words.kernel_lines(report))),
        chips=chip_matrix(report, references),
        memory=card_memory(report),
        diagnostics=tuple(
            _diagnostic(one, reference, report, pages.get(one.code, ""), here, columns)
            for one, reference in zip(report.diagnostics, references, strict=True)
        ),
        combined=_combined(report, here),
    )


def rule_pages() -> Mapping[str, str]:
    """The Markdown pages of all rules by code; none where the rules cannot be had."""
    try:
        pages: Mapping[str, str] = importlib.import_module("pallas_magic.rules").pages()
    except (ImportError, AttributeError):
        return {}
    return pages


def executed_cell(sources: Mapping[str, Source]) -> str | None:
    """The key of the cell that ran last among ``sources``."""
    numbered = [
        (int(match[1]), key)
        for key, source in sources.items()
        if source.kind == "cell" and (match := _PROMPT.search(source.label))
    ]
    cells = [key for key, source in sources.items() if source.kind == "cell"]
    return max(numbered)[1] if numbered else next(iter(cells), None)


def _diagnostic(
    diagnostic: Diagnostic,
    reference: str,
    report: Report,
    page: str,
    here: str | None,
    columns: int,
) -> CardDiagnostic:
    roles, spans, texts, lost = _marks(diagnostic, report.sources)
    marks = tuple(
        Mark(role, plain(inline(text)), inline(text))
        for role, text in zip(roles, texts, strict=True)
    )
    where = _where(diagnostic, report)
    shown = windows(spans, marks, report.sources, columns)
    original = _shortened(shown_text(diagnostic.original))
    unknown = diagnostic.code == UNKNOWN
    return CardDiagnostic(
        code=shown_text(diagnostic.code),
        reference=reference,
        name=shown_text(diagnostic.name),
        severity=shown_text(diagnostic.severity),
        message=inline(diagnostic.message),
        where=where,
        chips=chips_of(diagnostic, report),
        marks=marks,
        windows=shown,
        notes=tuple(map(inline, (*diagnostic.notes, *lost))),
        fixes=tuple(_fix(fix, diagnostic, report, here) for fix in diagnostic.fixes),
        page=page,
        original=original,
        bug_report=bug_report(diagnostic, where, shown, original) if unknown else "",
    )


def _shortened(text: str) -> str:
    # A compiler may print its whole module; the report itself keeps all of it.
    more = len(text) - LONGEST_ORIGINAL
    return text if more <= 0 else f"{text[:LONGEST_ORIGINAL]}\n… {more} more characters"


def _marks(
    diagnostic: Diagnostic, sources: Mapping[str, Source]
) -> tuple[list[MarkRole], list[Span], list[str], list[str]]:
    # A label whose source is not known cannot be a mark and becomes a note.
    roles: list[MarkRole] = []
    spans: list[Span] = []
    texts: list[str] = []
    lost: list[str] = []
    if diagnostic.primary is not None and diagnostic.primary.source in sources:
        roles.append("primary")
        spans.append(diagnostic.primary)
        texts.append(diagnostic.primary_text)
    for label in diagnostic.labels[:MOST_LABELS]:
        if label.span.source not in sources:
            lost.append(label.text)
            continue
        roles.append(label.role)
        spans.append(label.span)
        texts.append(label.text)
    if (more := len(diagnostic.labels) - MOST_LABELS) > 0:
        lost.append(f"{words.count(more, 'more place')} of the same diagnostic")
    return roles, spans, texts, lost


def _where(diagnostic: Diagnostic, report: Report) -> str:
    primary = diagnostic.primary
    if primary is None or primary.source not in report.sources:
        parts = ["line not known"]
    else:
        parts = [f"{report.sources[primary.source].label}, line {primary.start_line}"]
    if len({other.kernel for other in report.diagnostics}) > 1 and diagnostic.kernel:
        parts.append(diagnostic.kernel)
    if chips := chips_of(diagnostic, report):
        parts.append(chips)
    return shown_text(" · ".join(parts))


def _fix(fix: Fix, diagnostic: Diagnostic, report: Report, here: str | None) -> CardFix:
    lines: tuple[DiffLine, ...] = diff(
        fix, report.sources, diagnostic.primary.source if diagnostic.primary else None
    )
    title = inline(fix.title)
    return CardFix(
        id=fix.id,
        title=title,
        name=plain(title),
        applicability=fix.applicability,
        proof=words.proof_words(fix.proof, fix.applicability, report.proving),
        diff=lines,
        folded=sum(line.number is not None for line in lines) > FOLD_OVER,
        elsewhere=_elsewhere(fix.sources(), report.sources, here),
        insertable=bool(lines) and _insertable(fix, report.sources, here),
    )


def _elsewhere(keys: Sequence[str], sources: Mapping[str, Source], here: str | None) -> str:
    labels = [sources[key].label if key in sources else key for key in keys if key != here]
    return shown_text(listed(labels))


def _combined(report: Report, here: str | None) -> Combined | None:
    together = report.combined
    if together is None or len(together.ids) < 2:
        return None
    keys = list(dict.fromkeys(edit.span.source for edit in together.edits))
    return Combined(
        ids=together.ids,
        name=f"Insert all {len(together.ids)} fixes",
        proof=words.proof_words(together.proof, together.applicability, report.proving),
        elsewhere=_elsewhere(keys, report.sources, here),
        insertable=_insertable(together, report.sources, here),
    )


def _insertable(fix: Fix | FixSet, sources: Mapping[str, Source], here: str | None) -> bool:
    if here is None or here not in sources or sources[here].kind != "cell":
        return False
    proved = fix.proof is not None and fix.proof.gone is not False
    here_only = {edit.span.source for edit in fix.edits} == {here}
    return proved and here_only and fix.applicability != "display"
