"""Prove a fix: put its edits into the recorded call and see what becomes of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

from pallas_magic.bridge.capture import Call
from pallas_magic.bridge.devices import chip_queries_answered
from pallas_magic.bridge.frames import error_place
from pallas_magic.bridge.objects import ObjectRecorder
from pallas_magic.bridge.quiet import quietly
from pallas_magic.bridge.retrace import NotRetraceable, call_text, retrace
from pallas_magic.failure import Candidate, Failure
from pallas_magic.prove.earlier import EarlierTexts
from pallas_magic.prove.same_values import Comparison, Samples, same_values
from pallas_magic.prove.substitute import Substituted, edited_texts, substitute
from pallas_magic.prove.texts import EditedText
from pallas_magic.prove.unprovable import NotProvable
from pallas_magic.prove.verdict import (
    Claim,
    Keys,
    Verdict,
    applicability,
    failure_keys,
    is_gone,
    is_worse,
    least,
    together,
)
from pallas_magic.report import Proof
from pallas_magic.source.document import Library, Place
from pallas_magic.targets import Target

__all__ = ["Claim", "Prover", "Verdict", "prove_fix", "prove_together"]

FindFailures = Callable[[Call, Target], "Sequence[Failure] | None"]
CompileStage = Callable[[Call, Target], "bool | None"]
Texts = Mapping[str, EditedText]
_Key = tuple[int, Target]


@dataclasses.dataclass(frozen=True, eq=False)
class _Trial:
    """One call after the edits, ``None`` where tracing it fails; ``why`` is what is in doubt.

    ``place`` is where tracing failed.
    """

    call: Call | None
    why: str = ""
    place: Place | None = None


class Prover:
    """Proves fixes of the calls of one check; what two proofs share is done once.

    ``find_failures`` gives every failure of a call on a target, ``None`` where the
    lowering was not tried or not finished; ``compile_stage`` whether it compiles,
    ``None`` where there is no compiler. ``seconds`` limits the comparison of the
    values of one proof.
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
        self._earlier = EarlierTexts(library)
        self._doubts: dict[tuple[int, Target, frozenset[str]], str] = {}
        self._failures: dict[_Key, Keys] = {}
        self._samples = Samples()
        self._kept: list[Call] = []

    def prove(self, claim: Claim, others: Sequence[tuple[Call, Target]] = ()) -> Verdict:
        """The proof of one fix and what may be done with it, ``None`` if nothing.

        ``others`` are calls that must not get worse by the edits.
        """
        return self.prove_together((claim,), others)

    def prove_together(
        self, claims: Sequence[Claim], others: Sequence[tuple[Call, Target]] = ()
    ) -> Verdict:
        """The proof of all claims' edits made at once; a fault of ours leaves them unproved."""
        try:
            return self._prove(claims, others)
        except NotProvable as reason:
            return Proof(why=str(reason)), "display"
        except Exception as fault:
            why = f"pallas_magic failed to prove it: {type(fault).__name__}: {fault}"
            return Proof(why=why), "display"

    def _prove(self, claims: Sequence[Claim], others: Sequence[tuple[Call, Target]]) -> Verdict:
        edits = [edit for claim in claims for edit in claim.candidate.edits]
        groups: dict[_Key, list[Claim]] = {}
        for claim in claims:
            groups.setdefault((id(claim.call), claim.target), []).append(claim)
        texts = edited_texts(edits, self._library)
        trials = self._trials(groups, texts)
        proofs = [self._prove_call(group, trials[key], texts) for key, group in groups.items()]
        harmed = self._harmed([one for one in others if (id(one[0]), one[1]) not in groups], texts)
        proof = together([proof for proof, _ in proofs])
        if harmed and all(passed for _, passed in proofs):
            return dataclasses.replace(proof, why=f"`{harmed}` fails with it"), None
        if not all(passed for _, passed in proofs):
            return proof, None
        shown = [
            applicability(group, proof)
            for group, (proof, _) in zip(groups.values(), proofs, strict=True)
        ]
        return proof, least([*shown, *(claim.candidate.applicability for claim in claims)])

    def _trials(self, groups: Mapping[_Key, list[Claim]], texts: Texts) -> dict[_Key, _Trial]:
        calls = {key: group[0].call for key, group in groups.items()}
        made = {key: self._substitute(call, texts) for key, call in calls.items()}
        outside = frozenset.intersection(*(one.outside for one in made.values()))
        if outside:
            filename, line, _ = min(outside)
            where = f"line {line} of {texts[filename].document.source.label}"
            if not any(_was_seen_built(call) for call in calls.values()):
                raise NotProvable(f"{where} ran before the check: what it built is not known")
            raise NotProvable(f"{where} is neither in the kernel nor in its specs")
        return {key: self._trial(call, key[1], made[key], texts) for key, call in calls.items()}

    def _substitute(self, call: Call, texts: Texts) -> Substituted:
        return substitute(call, self._objects, texts, self._earlier)

    def _trial(self, call: Call, target: Target, made: Substituted, texts: Texts) -> _Trial:
        doubt = self._doubt(call, target, texts)
        try:
            with quietly(), chip_queries_answered(target):
                return _Trial(retrace(call, made.parts), doubt)
        except NotRetraceable as reason:
            raise NotProvable(str(reason)) from reason
        except Exception as error:
            return _Trial(None, _first_line(error), error_place(error))

    def _doubt(self, call: Call, target: Target, texts: Texts) -> str:
        """Why the call made again unedited is not the recorded one; "" if it is."""
        key = id(call), target, frozenset(texts)
        if key not in self._doubts:
            self._kept.append(call)
            self._doubts[key] = self._find_doubt(call, target, texts) if call.params else ""
        return self._doubts[key]

    def _find_doubt(self, call: Call, target: Target, texts: Texts) -> str:
        try:
            unedited = {name: EditedText(text.document, ()) for name, text in texts.items()}
            with quietly(), chip_queries_answered(target):
                again = retrace(call, self._substitute(call, unedited).parts)
        except (NotProvable, NotRetraceable) as reason:
            return str(reason)
        except Exception as error:
            return f"the recorded kernel cannot be traced again: {_first_line(error)}"
        if call_text(again) != call_text(call):
            return "the kernel traced again is not the one that ran"
        return ""

    def _prove_call(
        self, claims: Sequence[Claim], trial: _Trial, texts: Texts
    ) -> tuple[Proof, bool]:
        """The proof for one call, and whether it passed: mended, and nothing made worse."""
        target = claims[0].target
        if trial.call is None:
            return _untraced(claims, trial, texts)
        found = self._find(trial.call, target)
        after = failure_keys(found)
        own = failure_keys([claim.failure for claim in claims])
        if claims[0].has_original:
            before = self._failures_of(claims[0].call, target)
            gone, worse = is_gone(own, before, after), is_worse(before, after)
        else:
            # What lay behind an error of tracing is not the fix's doing,
            # unless it comes from the very lines that the fix wrote.
            gone = is_gone(own, own, after)
            worse = any(_is_written(failure.place, texts) for failure in found)
        remaining = after.total()
        proof = Proof(gone=gone, lowers=remaining == 0, remaining=remaining)
        if not gone or worse:
            why = "the failure is still there" if not gone else "another failure comes up"
            return dataclasses.replace(proof, why=why), False
        compiles = None
        if self._compile_stage is not None and proof.lowers:
            compiles = self._compile_stage(trial.call, target)
        values = self._values(claims, trial)
        proof = dataclasses.replace(
            proof, compiles=compiles, same_values=values.same, why=values.why
        )
        refuted = values.same is False and all(one.candidate.must_keep_values for one in claims)
        return proof, not refuted

    def _values(self, claims: Sequence[Claim], trial: _Trial) -> Comparison:
        if not claims[0].has_original or trial.call is None:
            return Comparison(None, "there is no original program to compare with")
        if trial.why:
            return Comparison(None, trial.why)
        exact = all(claim.candidate.exact for claim in claims)
        before = claims[0].call
        with quietly():
            return same_values(before, trial.call, exact, self._seconds, self._samples)

    def _harmed(self, others: Sequence[tuple[Call, Target]], texts: Texts) -> str:
        """The name of a call that gets a failure by the edits, "" if none does."""
        changes = {position for text in texts.values() for position in text.positions()}
        for call, target in others:
            try:
                made = self._substitute(call, texts)
                trial = None if made.outside >= changes else self._trial(call, target, made, texts)
            except NotProvable:
                continue
            if trial is None:
                continue
            if trial.call is None:
                return call.name
            after = failure_keys(self._find(trial.call, target))
            if is_worse(self._failures_of(call, target), after):
                return call.name
        return ""

    def _failures_of(self, call: Call, target: Target) -> Keys:
        key = id(call), target
        if key not in self._failures:
            self._kept.append(call)
            self._failures[key] = failure_keys(self._find(call, target))
        return self._failures[key]

    def _find(self, call: Call, target: Target) -> Sequence[Failure]:
        failures = self._find_failures(call, target)
        if failures is None:
            raise NotProvable(f"the kernel could not be lowered to the end for {target.title}")
        return failures


def _untraced(claims: Sequence[Claim], trial: _Trial, texts: Texts) -> tuple[Proof, bool]:
    """The proof for a call that does not trace after the edits either.

    Tracing stops at its first error: one further down lay behind what was mended.
    """
    behind = not claims[0].has_original and all(
        _is_behind(claim.failure.place, trial.place, texts) for claim in claims
    )
    if behind:
        why = f"another error comes behind it: {trial.why}"
        return Proof(gone=True, lowers=False, remaining=1, why=why), True
    return Proof(gone=False, lowers=False, why=f"the edited kernel fails: {trial.why}"), False


def _is_behind(old: Place | None, new: Place | None, texts: Texts) -> bool:
    """Whether ``new`` is in the text below ``old``, on a line that the edits did not write."""
    if old is None or new is None or old.filename != new.filename or new.filename not in texts:
        return False
    text = texts[new.filename]
    is_below = new.line >= text.new_line(old.line + 1)
    return is_below and new.line not in text.changed_lines()


def _was_seen_built(call: Call) -> bool:
    built = call.recorded().built
    return built is not None and built.site is not None


def _is_written(place: Place | None, texts: Texts) -> bool:
    """Whether ``place`` is on a line that the edits wrote."""
    if place is None or place.filename not in texts:
        return False
    changed = texts[place.filename].changed_lines()
    return any(line in changed for line in range(place.line, place.end_line + 1))


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
