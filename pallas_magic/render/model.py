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
CellStatus = Literal["ok", "failed", "skipped", "waiting", "none"]
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
    """One diagnostic as shown.

    ``reference`` is what the chip matrix calls it, its code or "PM302 [2]".
    ``chips`` says which chips it is of, where the report is of several.
    """

    code: str
    reference: str
    name: str
    severity: str
    message: Inline
    where: str
    chips: str
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
class ChipCell:
    """How a stage of a kernel ended on one chip, "none" where it was not tried.

    "waiting" is one that is going on.

    ``found`` are the places of diagnostics in the card's list, ``about`` tells
    every stage in words.
    """

    status: CellStatus
    found: tuple[int, ...]
    about: str


@dataclasses.dataclass(frozen=True)
class ChipRow:
    """One stage of one kernel, a cell for each chip."""

    stage: str
    cells: tuple[ChipCell, ...]


@dataclasses.dataclass(frozen=True)
class KernelRows:
    """One kernel, or those of its calls that ended alike; ``lines`` say the same in words."""

    name: str
    calls: str
    rows: tuple[ChipRow, ...]
    lines: tuple[Inline, ...]


@dataclasses.dataclass(frozen=True)
class ChipMatrix:
    """A cell for each kernel, stage and chip; ``reasons`` say why some are empty."""

    caption: str
    chips: tuple[str, ...]
    kernels: tuple[KernelRows, ...]
    reasons: tuple[Inline, ...]


@dataclasses.dataclass(frozen=True)
class MemoryBar:
    """What a kernel takes of one memory on ``chips``.

    ``parts`` are its buffers' amounts in order, ``rest`` is what the compiler
    takes besides. ``words`` are "4.3 of 128 MiB".
    """

    chips: str
    used: int
    limit: int
    parts: tuple[int, ...]
    rest: int
    words: str
    rest_words: str


@dataclasses.dataclass(frozen=True)
class MemoryBuffer:
    """One buffer in words; ``copies`` is the size of one, and how many there are."""

    name: str
    type: str
    copies: str
    total: str


@dataclasses.dataclass(frozen=True)
class BufferTable:
    """The buffers that specs ask for on ``chips``."""

    chips: str
    buffers: tuple[MemoryBuffer, ...]


@dataclasses.dataclass(frozen=True)
class KernelMemory:
    """One memory and one kernel."""

    kernel: str
    calls: str
    space: str
    bars: tuple[MemoryBar, ...]
    tables: tuple[BufferTable, ...]


@dataclasses.dataclass(frozen=True)
class CardMemory:
    """The on-chip memory of all kernels; ``gist`` tells the fullest of it."""

    gist: str
    kernels: tuple[KernelMemory, ...]


@dataclasses.dataclass(frozen=True)
class Card:
    """Everything shown of one report.

    ``progress`` says what is going on while the state is "proving", "" after it.
    ``kernels`` has a line for each kernel that no diagnostic tells of, unless the
    matrix ``chips`` tells of all.
    """

    state: Literal["proving", "done"]
    progress: str
    title: str
    subtitle: Inline
    notes: tuple[Inline, ...]
    kernels: tuple[Inline, ...]
    chips: ChipMatrix | None
    memory: CardMemory | None
    diagnostics: tuple[CardDiagnostic, ...]
    combined: Combined | None
