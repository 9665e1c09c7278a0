"""What a proof says: claims, the failures before and after, and what may be done then."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence

from pallas_magic.bridge.capture import Call
from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Applicability, Proof
from pallas_magic.targets import Target

Verdict = tuple[Proof, "Applicability | None"]
Keys = Counter[tuple[str, ...]]

_ORDER: tuple[Applicability, ...] = ("display", "unsafe", "safe")


@dataclasses.dataclass(frozen=True, eq=False)
class Claim:
    """That ``candidate`` mends ``failure`` of ``call`` on ``target``."""

    call: Call
    candidate: Candidate
    failure: Failure
    target: Target

    @property
    def has_original(self) -> bool:
        """Whether the call was bound, so that there is a program to compare with."""
        return bool(self.call.params)


def failure_keys(failures: Sequence[Failure]) -> Keys:
    """What tells failures apart although an edit has moved their lines, counted."""
    return Counter(_keys(failures))


def _keys(failures: Sequence[Failure]) -> Iterator[tuple[str, ...]]:
    for failure in failures:
        name = failure.ref.name if failure.ref is not None else ""
        yield failure.raised_in, failure.error_type, failure.primitive, name
        yield from _keys(failure.also)


def is_gone(own: Keys, before: Keys, after: Keys) -> bool:
    """Whether ``own`` of the failures ``before`` are no more."""
    return all(after[key] <= before[key] - count for key, count in own.items())


def is_worse(before: Keys, after: Keys) -> bool:
    """Whether there is a failure that was not there before."""
    return any(count > before[key] for key, count in after.items())


def applicability(claims: Sequence[Claim], proof: Proof) -> Applicability:
    """What may be done with the fixes of one call, whose proof did not fail."""
    if proof.compiles is False:
        return "unsafe"
    if claims[0].has_original:
        return "safe" if proof.same_values is True else "unsafe"
    mechanical = all(claim.candidate.mechanical for claim in claims)
    return "safe" if mechanical and proof.lowers else "unsafe"


def least(values: Sequence[Applicability]) -> Applicability:
    """The one that promises least."""
    return min(values, key=_ORDER.index)


def together(proofs: Sequence[Proof]) -> Proof:
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
