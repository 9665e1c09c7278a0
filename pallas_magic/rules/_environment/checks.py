"""A kernel that was run or lowered where no chip is: a check is what can be had there."""

from __future__ import annotations

from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic, Span, TextEdit
from pallas_magic.source.document import Library

_VALUES = "the cell is checked, and its values come from interpret mode"


def diagnostic(
    failure: Failure, sources: Library, *, code: str, name: str, message: str, mark: str, note: str
) -> Diagnostic:
    """An error of the call, for no chip in particular."""
    return Diagnostic(
        code=code,
        name=name,
        severity="error",
        stage=failure.stage,
        targets=(),
        kernel=failure.kernel,
        message=message,
        primary=sources.span(failure.place) or sources.span(failure.call.build),
        primary_text=mark,
        notes=(note,),
        original=f"{failure.error_type}: {failure.text}",
    )


def check_instead(failure: Failure, sources: Library, title: str) -> Iterator[Candidate]:
    """``%%pallas_check`` on top of the cell the kernel was called in."""
    if edit := _magic_on_top(failure, sources):
        yield Candidate(title, (edit,), applicability="unsafe", why=_VALUES, shown_by="nature")


def _magic_on_top(failure: Failure, sources: Library) -> TextEdit | None:
    place = failure.call.applied or failure.place
    document = sources.find(place.filename) if place is not None else None
    if document is None or document.source.kind != "cell":
        return None
    if document.source.text.lstrip().startswith("%%pallas_check"):
        return None
    return TextEdit(Span(document.key, 1, 0, 1, 0), "%%pallas_check\n")
