"""Prove a fix: put its edits into the recorded call and see what becomes of it."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from pallas_magic.bridge.capture import Call
from pallas_magic.bridge.objects import ObjectRecorder
from pallas_magic.bridge.retrace import NotRetraceable, call_text, retrace
from pallas_magic.failure import Candidate, Failure
from pallas_magic.prove.quiet import quietly
from pallas_magic.prove.same_values import Comparison, same_values
from pallas_magic.prove.substitute import Substituted, edited_texts, substitute
from pallas_magic.prove.texts import EditedText
from pallas_magic.prove.unprovable import NotProvable
from pallas_magic.report import Applicability, Proof, TextEdit
from pallas_magic.source.document import Library
from pallas_magic.targets import Target

FindFailures = Callable[[Call, Target], "Sequence[Failure] | None"]
CompileStage = Callable[[Call, Target], "bool | None"]
Verdict = tuple[Proof, "Applicability | None"]

_ORDER: tuple[Applicability, ...] = ("display", "unsafe", "safe")


@dataclasses.dataclass(frozen=True, eq=False)
class Claim:
    """That ``candidate`` mends ``failure`` of ``call`` on ``target``."""

    call: Call
    candidate: Candidate
    failure: Failure
    target: Target


@dataclasses.dataclass(frozen=True, eq=False)
class _Trial:
    """One call after the edits; ``why`` is set where it could not be made."""

    call: Call | None = None
    trusted: bool = False
    why: str = ""


class Prover:
    """Proves fixes of the calls of one check; what two proofs share is done once.

    ``find_failures`` gives every failure of a call on a target, ``None`` where the
    lowering was not tried or not finished; ``compile_stage`` whether it compiles,
    ``None`` where there is no compiler. ``seconds`` limits
    the comparison of values of one proof.
    """

    def __init__(
        self,
        objects: ObjectRecorder,
        library: Library,
        find_failures: FindFailures,
        compile_stage: CompileStage | None = None,
        seconds: float = 5.0,
    ) -> None:
        self._objects = objects
        self._library = library
        self._find_failures = find_failures
        self._compile_stage = compile_stage
        self._seconds = seconds
        self._trusted: dict[tuple[int, frozenset[str]], str] = {}
        self._failures: dict[tuple[int, Target], Counter[tuple[str, ...]]] = {}
        self._kept: list[Call] = []

    def prove(self, claim: Claim, others: Sequence[tuple[Call, Target]] = ()) -> Verdict:
        """The proof of one fix and what may be done with it, ``None`` if nothing.

        ``others`` are calls that must not get worse by the edits.
        """
        return self.prove_together((claim,), others)

    def prove_together(
        self, claims: Sequence[Claim], others: Sequence[tuple[Call, Target]] = ()
    ) -> Verdict:
        """The proof of all claims' edits made at once."""
        limit = min((claim.candidate.applicability for claim in claims), key=_ORDER.index)
        edits = [edit for claim in claims for edit in claim.candidate.edits]
        try:
            proofs = self._prove_all(claims, edits, others)
        except NotProvable as reason:
            return Proof(why=str(reason)), "display"
        proof = _together([proof for proof, _ in proofs])
        if any(worse for _, worse in proofs) or proof.gone is False:
            return proof, None
        return proof, min(_applicability(claims, proof), limit, key=_ORDER.index)

    def _prove_all(
        self,
        claims: Sequence[Claim],
        edits: Sequence[TextEdit],
        others: Sequence[tuple[Call, Target]],
    ) -> list[tuple[Proof, bool]]:
        texts = edited_texts(edits, self._library)
        groups: dict[tuple[int, Target], list[Claim]] = {}
        for claim in claims:
            groups.setdefault((id(claim.call), claim.target), []).append(claim)
        calls = [group[0].call for group in groups.values()]
        made = {id(call): self._substitute(call, texts) for call in calls}
        outside = frozenset.intersection(*(one.outside for one in made.values()))
        if outside:
            filename, line, _ = min(outside)
            label = texts[filename].document.source.label
            raise NotProvable(f"line {line} of {label} is neither in the kernel nor in its specs")
        trials = {key: self._trial(call, made[key], texts) for call in calls for key in [id(call)]}
        proofs = [self._prove_call(group, trials[key[0]]) for key, group in groups.items()]
        seen = set(groups)
        others = [(call, target) for call, target in others if (id(call), target) not in seen]
        return proofs + [self._unharmed(call, target, texts) for call, target in others]

    def _substitute(self, call: Call, texts: Mapping[str, EditedText]) -> Substituted:
        return substitute(call, self._objects, texts)

    def _trial(self, call: Call, made: Substituted, texts: Mapping[str, EditedText]) -> _Trial:
        doubt = self._doubt(call, texts)
        try:
            with quietly():
                return _Trial(retrace(call, made.parts), not doubt, doubt)
        except NotRetraceable as reason:
            raise NotProvable(str(reason)) from reason
        except Exception as error:
            return _Trial(None, not doubt, f"the edited kernel fails: {_first_line(error)}")

    def _doubt(self, call: Call, texts: Mapping[str, EditedText]) -> str:
        """Why the call made again unedited is not the recorded one; "" if it is."""
        if not call.params:
            return ""
        key = id(call), frozenset(texts)
        if key not in self._trusted:
            self._kept.append(call)
            self._trusted[key] = self._find_doubt(call, texts)
        return self._trusted[key]

    def _find_doubt(self, call: Call, texts: Mapping[str, EditedText]) -> str:
        try:
            unedited = {name: EditedText(text.document, ()) for name, text in texts.items()}
            with quietly():
                again = retrace(call, substitute(call, self._objects, unedited).parts)
        except (NotProvable, NotRetraceable) as reason:
            return str(reason)
        except Exception as error:
            return f"the recorded kernel cannot be traced again: {_first_line(error)}"
        if call_text(again) != call_text(call):
            return "the kernel traced again is not the one that ran"
        return ""

    def _prove_call(self, claims: Sequence[Claim], trial: _Trial) -> tuple[Proof, bool]:
        """The proof for one call, and whether the edits make anything worse."""
        call, target = claims[0].call, claims[0].target
        if trial.call is None:
            return Proof(gone=False, lowers=False, why=trial.why), True
        own = Counter(key for claim in claims for key in _keys([claim.failure]))
        before = self._keys_of(call, target) if call.params else own
        after = self._find_keys(trial.call, target)
        gone = all(after[key] <= before[key] - count for key, count in own.items())
        worse = _is_worse(before, after)
        remaining = after.total()
        proof = Proof(gone=gone, lowers=remaining == 0, remaining=remaining)
        if not gone or worse:
            why = "the failure is still there" if not gone else "another failure comes up"
            return dataclasses.replace(proof, why=why), True
        compiles = None
        if self._compile_stage is not None and proof.lowers:
            compiles = self._compile_stage(trial.call, target)
        values = self._values(claims, trial)
        proof = dataclasses.replace(
            proof, compiles=compiles, same_values=values.same, why=values.why
        )
        return proof, False

    def _values(self, claims: Sequence[Claim], trial: _Trial) -> Comparison:
        call = claims[0].call
        if not call.params or trial.call is None:
            return Comparison(None, "there is no original program to compare with")
        if trial.why:
            return Comparison(None, trial.why)
        exact = all(claim.candidate.exact for claim in claims)
        with quietly():
            return same_values(call, trial.call, exact, self._seconds)

    def _unharmed(
        self, call: Call, target: Target, texts: Mapping[str, EditedText]
    ) -> tuple[Proof, bool]:
        """Whether a call that shares text with the fixed ones gets no new failure."""
        neutral = Proof(gone=True, lowers=True, same_values=True)
        try:
            made = self._substitute(call, texts)
        except NotProvable:
            return neutral, False
        changes = {p for t in texts.values() for p in t.positions()}
        if made.outside >= changes:
            return neutral, False
        trial = self._trial(call, made, texts)
        harmed = trial.call is None or _is_worse(
            self._keys_of(call, target), self._find_keys(trial.call, target)
        )
        why = f"`{call.name}` fails with it" if harmed else ""
        return dataclasses.replace(neutral, why=why), harmed

    def _keys_of(self, call: Call, target: Target) -> Counter[tuple[str, ...]]:
        key = id(call), target
        if key not in self._failures:
            self._kept.append(call)
            self._failures[key] = self._find_keys(call, target)
        return self._failures[key]

    def _find_keys(self, call: Call, target: Target) -> Counter[tuple[str, ...]]:
        failures = self._find_failures(call, target)
        if failures is None:
            raise NotProvable(f"the kernel could not be lowered to the end for {target.title}")
        return Counter(_keys(failures))


def _is_worse(before: Counter[tuple[str, ...]], after: Counter[tuple[str, ...]]) -> bool:
    return any(count > before[key] for key, count in after.items())


def _keys(failures: Sequence[Failure]) -> Iterator[tuple[str, ...]]:
    """What tells failures apart although an edit has moved their lines."""
    for failure in failures:
        name = failure.ref.name if failure.ref is not None else ""
        yield failure.raised_in, failure.error_type, failure.primitive, name
        yield from _keys(failure.also)


def _together(proofs: Sequence[Proof]) -> Proof:
    """What holds of all proofs; the first reason given is the reason."""
    return Proof(
        gone=_all([proof.gone for proof in proofs]),
        lowers=_all([proof.lowers for proof in proofs]),
        compiles=_all([proof.compiles for proof in proofs]),
        same_values=_all([proof.same_values for proof in proofs]),
        remaining=sum(proof.remaining for proof in proofs),
        why=next((proof.why for proof in proofs if proof.why), ""),
    )


def _all(values: Sequence[bool | None]) -> bool | None:
    if False in values:
        return False
    return None if None in values else True


def _applicability(claims: Sequence[Claim], proof: Proof) -> Applicability:
    if proof.compiles is False:
        return "unsafe"
    without_original = all(not claim.call.params for claim in claims)
    if without_original and all(claim.candidate.mechanical for claim in claims):
        return "safe"
    return "safe" if proof.same_values is True else "unsafe"


def _first_line(error: BaseException) -> str:
    text = str(error).strip() or type(error).__name__
    return text.split("\n")[0]


def prove_fix(
    call: Call,
    objects: ObjectRecorder,
    library: Library,
    candidate: Candidate,
    failure: Failure,
    target: Target,
    find_failures: FindFailures,
    compile_stage: CompileStage | None = None,
) -> Verdict:
    """Prove one fix with a prover of its own; see :class:`Prover`."""
    prover = Prover(objects, library, find_failures, compile_stage)
    return prover.prove(Claim(call, candidate, failure, target))


def prove_together(
    claims: Sequence[Claim],
    objects: ObjectRecorder,
    library: Library,
    find_failures: FindFailures,
    compile_stage: CompileStage | None = None,
) -> Verdict:
    """Prove several fixes made at once with a prover of their own."""
    return Prover(objects, library, find_failures, compile_stage).prove_together(claims)
