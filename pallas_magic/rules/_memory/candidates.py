"""Which fixes a ref in the wrong memory space gets, decided from all its accesses."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from pallas_magic.failure import Access, Candidate, Failure, Ref
from pallas_magic.rules._memory.indexed import Indexed, indexed
from pallas_magic.rules._memory.placement import moved
from pallas_magic.rules._memory.scalar_index import scalar_indices
from pallas_magic.rules._memory.scalar_loop import loops_of_stores, stacks_of_loads
from pallas_magic.rules._memory.vector_stores import as_vectors, needs_mask
from pallas_magic.rules._memory.wording import ref_name
from pallas_magic.source.document import Library

# SMEM is small, and a scalar of an array that fills it is seldom what was meant.
_LARGEST_IN_SMEM = 8192


def vector_fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    """For a ref in SMEM of which a vector is stored or loaded, the best fix first."""
    ref, name = failure.ref, ref_name(failure, sources)
    if ref is None:
        return
    vectors = [access for access in failure.accesses if access.shape]
    if all(math.prod(access.shape) == 1 for access in vectors):
        subscripts = _subscripts(ref, vectors, sources)
        for edits in scalar_indices(subscripts) if subscripts else ():
            yield Candidate(f"index `{name}` down to one scalar", edits)
    yield from _moves_to_vmem(failure, ref, name, sources)
    yield from _one_scalar_at_a_time(ref, vectors, sources)


def scalar_fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    """For a ref in VMEM to which a scalar is stored, the best fix first."""
    ref, name = failure.ref, ref_name(failure, sources)
    if ref is None:
        return
    only_scalars = not any(access.shape for access in failure.accesses)
    fits = math.prod(ref.shape) <= _LARGEST_IN_SMEM
    if only_scalars and fits and (edits := moved(failure, sources, "SMEM")):
        yield Candidate(f"move `{name}` to SMEM", edits)
    stores = _subscripts(ref, _scalar_stores(failure), sources)
    if stores and (edits := as_vectors(ref, stores, sources)):
        yield Candidate(_as_vector_title(ref, stores), edits)


def _moves_to_vmem(failure: Failure, ref: Ref, name: str, sources: Library) -> Iterator[Candidate]:
    if _loads_a_lane_of_run_time(ref, failure.accesses):
        return
    edits = moved(failure, sources, "VMEM")
    scalar_stores = _scalar_stores(failure)
    if not edits:
        return
    if not scalar_stores:
        yield Candidate(f"move `{name}` to VMEM", edits)
        return
    stores = _subscripts(ref, scalar_stores, sources)
    if stores and (rewritten := as_vectors(ref, stores, sources)):
        how = "under a mask" if any(needs_mask(ref, store) for store in stores) else "as slices"
        title = f"move `{name}` to VMEM and store its single elements {how}"
        yield Candidate(title, (*edits, *rewritten))


def _one_scalar_at_a_time(
    ref: Ref, vectors: Sequence[Access], sources: Library
) -> Iterator[Candidate]:
    subscripts = _subscripts(ref, vectors, sources)
    count = max((math.prod(access.shape) for access in vectors), default=0)
    if not subscripts or count <= 1:
        return
    if all(access.kind == "store" for access in vectors):
        edits, verb = loops_of_stores(subscripts), "store"
    elif all(access.kind == "load" for access in vectors):
        edits, verb = stacks_of_loads(subscripts, sources), "load"
    else:
        return
    if edits:
        yield Candidate(f"{verb} the {count} values one scalar at a time", edits)


def _scalar_stores(failure: Failure) -> list[Access]:
    return [one for one in failure.accesses if one.kind == "store" and not one.shape]


def _loads_a_lane_of_run_time(ref: Ref, accesses: Sequence[Access]) -> bool:
    """Whether an element is loaded whose lane is not known: no compiler takes that from VMEM."""
    loads = [one for one in accesses if one.kind == "load" and not one.shape]
    last = [load.static_index[-1] if load.static_index else None for load in loads]
    return bool(ref.shape) and ref.shape[-1] > 1 and None in last


def _subscripts(ref: Ref, accesses: Sequence[Access], sources: Library) -> tuple[Indexed, ...]:
    return (indexed(ref, accesses, sources) or ()) if accesses else ()


def _as_vector_title(ref: Ref, stores: Sequence[Indexed]) -> str:
    if any(needs_mask(ref, store) for store in stores):
        return "store the scalar under a mask"
    ones = ", ".join("1" for _ in ref.shape) + ("," if len(ref.shape) == 1 else "")
    return f"store the scalar as a ({ones}) slice"
