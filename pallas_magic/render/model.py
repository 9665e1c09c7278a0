"""The card: what every front end shows of a report, decided once and here.

A :class:`Card` is plain data. HTML, text and the notebook extension draw it;
none of them decides what a title says or which lines stand round a mark.
"""

from __future__ import annotations

import dataclasses
from typing import Literal

InlineKind = Literal["text", "code"]
Inline = tuple[tuple[InlineKind, str], ...]

MarkRole = Literal["primary", "effect", "cause"]
LineKind = Literal["code", "gap", "label"]
DiffKind = Literal["del", "add", "same"]
ProofState = Literal["ok", "part", "no", "wait"]
ProofWords = tuple[tuple[ProofState, str], ...]

Token = tuple[str, str]
"""A Pygments short class, "" for plain, and its text."""

Segment = tuple[str, str, int | None]
"""A token and the number of the mark it stands under."""


@dataclasses.dataclass(frozen=True)
class Mark:
    """A marked stretch of a diagnostic; its number is its place in ``marks``.

    ``text`` is the label without backticks, ``inline`` the label with them told.
    """

    role: MarkRole
    text: str
    inline: Inline


@dataclasses.dataclass(frozen=True)
class Line:
    """One line of a window.

    A "label" stands under the code line it belongs to, ``indent`` display
    columns in, and says what mark ``mark`` says.
    """

    kind: LineKind
    number: int | None = None
    segments: tuple[Segment, ...] = ()
    mark: int | None = None
    indent: int = 0


@dataclasses.dataclass(frozen=True)
class Window:
    """The lines of one source that a diagnostic is about."""

    source: str
    label: str
    lines: tuple[Line, ...]


@dataclasses.dataclass(frozen=True)
class DiffLine:
    """One line of a diff.

    ``number`` is that of the old text for "del" and "same", of the new text
    for "add". ``changed`` are the code point ranges of the line that differ
    from its counterpart. A "same" line without a number is none of the source's:
    it stands between hunks, or says which source the lines after it are from.
    """

    kind: DiffKind
    number: int | None
    segments: tuple[Token, ...]
    changed: tuple[tuple[int, int], ...] = ()


@dataclasses.dataclass(frozen=True)
class CardFix:
    """One fix as shown.

    ``elsewhere`` names the file or the other cell that it edits, "" when all
    edits lie in the cell that was executed. ``insertable`` says that there may
    be a button: it was proved, is more than an idea, and edits that cell alone.
    """

    id: int
    title: Inline
    name: str
    applicability: str
    proof: ProofWords
    diff: tuple[DiffLine, ...]
    folded: bool
    elsewhere: str
    insertable: bool


@dataclasses.dataclass(frozen=True)
class CardDiagnostic:
    """One diagnostic as shown."""

    code: str
    name: str
    severity: str
    message: Inline
    where: str
    marks: tuple[Mark, ...]
    windows: tuple[Window, ...]
    notes: tuple[Inline, ...]
    fixes: tuple[CardFix, ...]
    page: str
    original: str
    bug_report: str


@dataclasses.dataclass(frozen=True)
class Combined:
    """All first fixes as one; ``elsewhere`` and ``insertable`` as for a single one."""

    ids: tuple[int, ...]
    name: str
    proof: ProofWords
    elsewhere: str
    insertable: bool


@dataclasses.dataclass(frozen=True)
class Card:
    """Everything shown of one report."""

    state: Literal["proving", "done"]
    title: str
    subtitle: Inline
    notes: tuple[Inline, ...]
    kernels: tuple[Inline, ...]
    diagnostics: tuple[CardDiagnostic, ...]
    combined: Combined | None
