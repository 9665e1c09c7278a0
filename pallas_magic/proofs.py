"""Reports before and after their fixes are proved."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pallas_magic.compile_stage import compile_failures, compiles, why_not_compiled
from pallas_magic.failure import Candidate, Failure
from pallas_magic.findings import Finding
from pallas_magic.report import (
    Applicability,
    Diagnostic,
    Fix,
    FixSet,
    KernelReport,
    Proof,
    Report,
    Source,
    TextEdit,
)
from pallas_magic.source.document import Library
from pallas_magic.targets import Target

if TYPE_CHECKING:
    from pallas_magic.bridge.capture import Call
    from pallas_magic.bridge.objects import ObjectRecorder
    from pallas_magic.prove.proof import Claim, Prover, Verdict

TOTAL_SECONDS = 30.0
ObjectsOf = Callable[["Call"], "ObjectRecorder"]

NO_TIME = "not proved: the time for proofs was used up"
NOT_TRIED = "not proved: the kernel could not be recorded"


def unproved_report(
    kernels: tuple[KernelReport, ...],
    found: tuple[Finding, ...],
    library: Library,
    notes: tuple[str, ...],
) -> Report:
    """The report whose fixes are all still ideas; ``proving`` if there are any."""
    numbers = itertools.count(1)
    diagnostics = []
    for finding in found:
        fixes = tuple(
            Fix(next(numbers), candidate.title, "display", candidate.edits)
            for candidate in finding.candidates
        )
        diagnostics.append(dataclasses.replace(finding.diagnostic, fixes=fixes))
    proving = any(diagnostic.fixes for diagnostic in diagnostics)
    sources = used_sources(diagnostics, library)
    return Report(kernels, tuple(diagnostics), sources, None, notes, proving)


def used_sources(diagnostics: list[Diagnostic], library: Library) -> Mapping[str, Source]:
    """The sources that some span of the report points into."""
    keys = dict.fromkeys(key for diagnostic in diagnostics for key in _keys(diagnostic))
    return {key: library[key].source for key in keys if key in library}


def _keys(diagnostic: Diagnostic) -> Iterator[str]:
    if diagnostic.primary is not None:
        yield diagnostic.primary.source
    yield from (label.span.source for label in diagnostic.labels)
    yield from (key for fix in diagnostic.fixes for key in fix.sources())


def proved_report(
    unproved: Report,
    found: tuple[Finding, ...],
    objects_of: ObjectsOf,
    library: Library,
    compiling: bool,
    checked: Sequence[tuple[Call, Target]] = (),
) -> Report:
    """The report with each fix proved or dropped, numbered anew, and all of them as one.

    None of the ``checked`` calls, those without a finding too, may get worse by
    a fix. With ``compiling``, what lowers with a fix is compiled where a
    compiler is there.
    """
    provers = _Provers(objects_of, library, compiling, checked)
    proofs = _Proofs(provers, found, time.monotonic() + TOTAL_SECONDS)
    numbers = itertools.count(1)
    diagnostics = []
    for finding in found:
        offered = [proofs.prove(finding, candidate) for candidate in finding.candidates]
        fixes = tuple(
            dataclasses.replace(fix, id=next(numbers)) for fix in offered if fix is not None
        )
        diagnostics.append(dataclasses.replace(finding.diagnostic, fixes=fixes))
    return dataclasses.replace(
        unproved,
        diagnostics=tuple(diagnostics),
        sources=used_sources(diagnostics, library),
        combined=proofs.combined(tuple(diagnostics)),
        proving=False,
    )


def _failures_of(objects: ObjectRecorder, call: Call, target: Target) -> Sequence[Failure] | None:
    """Every failure of a call, ``None`` where its lowering did not come to an end."""
    from pallas_magic.bridge.failures import find_failures
    from pallas_magic.bridge.lowering import lower

    lowered = lower(call, target)
    if lowered.skipped:
        return None
    return find_failures(call, lowered, target, objects).failures


def _failures_through_compiler(
    objects: ObjectRecorder, call: Call, target: Target
) -> Sequence[Failure] | None:
    """Every failure of a call in lowering, or that of its compilation where it lowers."""
    from pallas_magic.bridge.failures import find_failures
    from pallas_magic.bridge.lowering import lower

    lowered = lower(call, target)
    if lowered.skipped:
        return None
    found = find_failures(call, lowered, target, objects).failures
    if found or why_not_compiled(target.family):
        return found
    return compile_failures(call, target, lowered, objects)


class _Provers:
    """A prover for each recorder of objects, and for claims about compilation one of their own.

    Code that is checked for several targets is traced once for each, and a fix
    is put into the objects of its own trace.
    """

    def __init__(
        self,
        objects_of: ObjectsOf,
        library: Library,
        compiling: bool,
        checked: Sequence[tuple[Call, Target]],
    ) -> None:
        self._objects_of = objects_of
        self._library = library
        self._compile_stage = compiles if compiling else None
        self._checked = checked
        self._made: dict[tuple[int, bool], Prover] = {}

    def prove_together(self, claims: Sequence[Claim]) -> Verdict:
        """The least that was shown for the calls of any one trace."""
        through = any(claim.failure.stage == "compile" for claim in claims)
        groups: dict[int, list[Claim]] = {}
        for claim in claims:
            groups.setdefault(id(self._objects_of(claim.call)), []).append(claim)
        verdicts = []
        for group in groups.values():
            objects = self._objects_of(group[0].call)
            others = [pair for pair in self._checked if self._objects_of(pair[0]) is objects]
            verdicts.append(self._prover(objects, through).prove_together(group, others))
        return _worst(verdicts) or (verdicts[0][0], None)

    def _prover(self, objects: ObjectRecorder, through: bool) -> Prover:
        from pallas_magic.prove.proof import Prover

        key = id(objects), through
        if key not in self._made:
            find = functools.partial(
                _failures_through_compiler if through else _failures_of, objects
            )
            self._made[key] = Prover(objects, self._library, find, self._compile_stage)
        return self._made[key]


class _Proofs:
    """Proves the candidates of a report within one limit of time."""

    def __init__(self, provers: _Provers, found: tuple[Finding, ...], deadline: float) -> None:
        self._provers = provers
        self._found = found
        self._deadline = deadline
        self._candidate_of: dict[tuple[TextEdit, ...], Candidate] = {}

    def prove(self, finding: Finding, candidate: Candidate) -> Fix | None:
        """The fix with its proof; ``None`` where the proof failed."""
        self._candidate_of[candidate.edits] = candidate
        idea = Fix(0, candidate.title, "display", candidate.edits)
        if candidate.shown_by == "nature":
            return _as_claimed(idea, candidate)
        if candidate.applicability == "display" or finding.call is None:
            return dataclasses.replace(idea, proof=Proof(why=candidate.why or NOT_TRIED))
        if candidate.shown_by == "interpreting":
            return _as_claimed(idea, candidate) if _can_interpret(finding.call) else None
        if time.monotonic() > self._deadline:
            return dataclasses.replace(idea, proof=Proof(why=NO_TIME))
        claims = _claims(finding, candidate)
        verdicts = [self._provers.prove_together([claim]) for claim in claims]
        worst = _worst(verdicts)
        if worst is None:
            return None
        proof, applicability = worst
        why = candidate.why or proof.why
        return dataclasses.replace(
            idea, applicability=applicability, proof=dataclasses.replace(proof, why=why)
        )

    def combined(self, diagnostics: tuple[Diagnostic, ...]) -> FixSet | None:
        """The first fix of each diagnostic, all made at once, where there are several."""
        chosen = [
            (finding, first)
            for finding, diagnostic in zip(self._found, diagnostics, strict=True)
            if (first := _first_offered(diagnostic)) is not None
        ]
        edits = tuple(dict.fromkeys(edit for _, fix in chosen for edit in fix.edits))
        if len({fix.edits for _, fix in chosen}) < 2 or time.monotonic() > self._deadline:
            return None
        claims = [
            claim
            for finding, fix in chosen
            for claim in _claims(finding, self._candidate_of[fix.edits])
        ]
        try:
            proof, applicability = self._provers.prove_together(claims)
        except ValueError:  # two of the edits change the same text
            return None
        if applicability is None or applicability == "display":
            return None
        return FixSet(tuple(fix.id for _, fix in chosen), applicability, edits, proof)


def _as_claimed(idea: Fix, candidate: Candidate) -> Fix:
    proof = Proof(gone=True, why=candidate.why)
    return dataclasses.replace(idea, applicability=candidate.applicability, proof=proof)


def _can_interpret(call: Call) -> bool:
    from pallas_magic.bridge.lowering import lowers_interpreted

    return lowers_interpreted(call)


def _claims(finding: Finding, candidate: Candidate) -> list[Claim]:
    """What the candidate must mend: the failure, on each target that has it."""
    from pallas_magic.prove.proof import Claim

    return [
        Claim(call, candidate, failure, failure.target)
        for call, failure in finding.occurrences
        if call is not None
    ]


def _worst(verdicts: list[Verdict]) -> tuple[Proof, Applicability] | None:
    """The least that was shown on any target; ``None`` where it failed on one."""
    order: tuple[Applicability, ...] = ("display", "unsafe", "safe")
    shown = [(proof, given) for proof, given in verdicts if given is not None]
    if not shown or len(shown) < len(verdicts):
        return None
    return min(shown, key=lambda verdict: order.index(verdict[1]))


def _first_offered(diagnostic: Diagnostic) -> Fix | None:
    return next((fix for fix in diagnostic.fixes if fix.applicability != "display"), None)
