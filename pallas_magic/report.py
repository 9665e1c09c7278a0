"""The vocabulary of a check: what every room hands on and what the front ends show.

Positions are those of the text the user sees (a cell with its ``%%`` line, a
file as it lies on disk): lines count from 1, columns from 0 in code points,
ends are exclusive.

Message texts are plain text with identifiers in backticks; renderers turn the
backticks into code.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal

Severity = Literal["error", "warning", "note"]
Stage = Literal["trace", "lower", "compile"]
Status = Literal["ok", "failed", "skipped"]
Applicability = Literal["safe", "unsafe", "display"]
LabelRole = Literal["effect", "cause"]

PAYLOAD_VERSION = 1
STAGES: tuple[Stage, ...] = ("trace", "lower", "compile")


@dataclasses.dataclass(frozen=True, order=True)
class Span:
    """A stretch of one source's text, ``source`` being its key in the report."""

    source: str
    start_line: int
    start_col: int
    end_line: int
    end_col: int


@dataclasses.dataclass(frozen=True)
class TextEdit:
    """Replace the text at ``span`` by ``new_text``."""

    span: Span
    new_text: str


@dataclasses.dataclass(frozen=True)
class Proof:
    """What was shown of a fix: ``None`` stands for "was not or could not be tried".

    ``lowers`` is true only when the whole kernel lowers with the fix; a fix
    that removes its own failure and leaves others has ``remaining`` > 0.
    ``why`` says what stood in the way where something is not true.
    """

    gone: bool | None = None
    lowers: bool | None = None
    compiles: bool | None = None
    same_values: bool | None = None
    remaining: int = 0
    why: str = ""


@dataclasses.dataclass(frozen=True)
class Fix:
    """One way to mend a diagnostic.

    ``applicability`` is what may be done with it: ``safe`` was proved,
    ``unsafe`` lowers but its values were not shown equal, ``display`` is an
    idea without a button. ``proof`` is ``None`` while it is being proved.
    """

    id: int
    title: str
    applicability: Applicability
    edits: tuple[TextEdit, ...]
    proof: Proof | None = None

    def sources(self) -> tuple[str, ...]:
        """The keys of the sources this fix edits, in order of first edit."""
        return tuple(dict.fromkeys(edit.span.source for edit in self.edits))

    def apply(self, text: str) -> str:
        """The text after this fix; raises ``ValueError`` if it spans several sources."""
        from pallas_magic.source.edits import apply_edits

        if len(self.sources()) > 1:
            raise ValueError(f"fix {self.id} edits {len(self.sources())} sources; apply it to each")
        return apply_edits(text, self.edits)


@dataclasses.dataclass(frozen=True)
class FixSet:
    """The first fixes of all diagnostics, proved together and inserted as one."""

    ids: tuple[int, ...]
    applicability: Applicability
    edits: tuple[TextEdit, ...]
    proof: Proof | None = None


@dataclasses.dataclass(frozen=True)
class Label:
    """A mark with its text: ``effect`` is more of the same error, ``cause`` is why."""

    span: Span
    text: str
    role: LabelRole = "cause"


@dataclasses.dataclass(frozen=True)
class Diagnostic:
    """One finding: one rule and one ref of one kernel, on one or more targets."""

    code: str
    name: str
    severity: Severity
    stage: Stage
    targets: tuple[str, ...]
    kernel: str
    message: str
    primary: Span | None
    primary_text: str = ""
    labels: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    fixes: tuple[Fix, ...] = ()
    original: str = ""


@dataclasses.dataclass(frozen=True)
class StageResult:
    """How one stage of one kernel ended; ``why`` explains ``skipped`` and ``failed``."""

    status: Status
    seconds: float = 0.0
    why: str = ""


@dataclasses.dataclass(frozen=True)
class KernelReport:
    """One Pallas call for one target, stage by stage."""

    name: str
    target: str
    stages: Mapping[Stage, StageResult]
    resources: tuple[Mapping[str, Any], ...] = ()

    @property
    def ok(self) -> bool:
        return all(result.status != "failed" for result in self.stages.values())


@dataclasses.dataclass(frozen=True)
class Source:
    """A text that spans point into: a notebook cell or a file, whole.

    ``editable`` is true for a file of the user's own that can be written to.
    """

    kind: Literal["cell", "file"]
    label: str
    text: str
    cell_id: str | None = None
    editable: bool = False


@dataclasses.dataclass(frozen=True)
class Report:
    """All findings of one check. ``ok`` means no error; warnings may remain."""

    kernels: tuple[KernelReport, ...]
    diagnostics: tuple[Diagnostic, ...]
    sources: Mapping[str, Source]
    combined: FixSet | None = None
    notes: tuple[str, ...] = ()
    proving: bool = False

    @property
    def ok(self) -> bool:
        return not any(diagnostic.severity == "error" for diagnostic in self.diagnostics)

    def fixes(self) -> tuple[Fix, ...]:
        """Every fix of the report in the order of its id."""
        found = [fix for diagnostic in self.diagnostics for fix in diagnostic.fixes]
        return tuple(sorted(found, key=lambda fix: fix.id))

    def to_dict(self) -> dict[str, Any]:
        """The payload of the front ends: plain JSON, ``version`` 1."""
        from pallas_magic.payload import report_to_dict

        return report_to_dict(self)

    @classmethod
    def from_dict(cls, payload: Mapping[str, Any]) -> Report:
        """The inverse of :meth:`to_dict`; raises ``ValueError`` that names the bad field."""
        from pallas_magic.payload import report_from_dict

        return report_from_dict(payload)

    def __str__(self) -> str:
        from pallas_magic.render.text import render_text

        return render_text(self)
