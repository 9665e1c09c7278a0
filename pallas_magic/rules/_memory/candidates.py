"""Which fixes a ref in the wrong memory space gets, decided from all its accesses."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from pallas_magic.failure import Access, AccessKind, Candidate, Failure, Ref
from pallas_magic.rules._memory.block_copies import copied_to_block
from pallas_magic.rules._memory.indexed import Indexed, indexed
from pallas_magic.rules._memory.placement import moved
from pallas_magic.rules._memory.scalar_index import scalar_indices
from pallas_magic.rules._memory.scalar_loop import loops_of_stores, stacks_of_loads
from pallas_magic.rules._memory.vector_stores import as_vectors, covered, needs_mask
from pallas_magic.rules._memory.wording import ref_name
from pallas_magic.source.document import Library, Place

# SMEM is small, and a scalar of an array that fills it is seldom what was meant.
_LARGEST_IN_SMEM = 8192

# 2 MiB of 32-bit elements: room is needed for two buffers, and for other operands.
_LARGEST_IN_VMEM = 2**19


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
    stores = _subscripts(ref, _single(failure, "store"), sources)
    loads = _subscripts(ref, _single(failure, "load"), sources)
    if stores and (edits := as_vectors(ref, stores, loads, sources)):
        yield Candidate(_as_vector_title(ref, stores), edits)


def unplaced_fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    """For a ref that was left in HBM and is loaded or stored without a copy."""
    ref, name = failure.ref, ref_name(failure, sources)
    if ref is None:
        return
    only_scalars = not any(access.shape for access in failure.accesses)
    if only_scalars and math.prod(ref.shape) <= _LARGEST_IN_SMEM:
        if edits := moved(failure, sources, "SMEM"):
            yield Candidate(f"move `{name}` to SMEM", edits)
    elif math.prod(ref.shape) <= _LARGEST_IN_VMEM:
        yield from _moves_to_vmem(failure, ref, name, sources)
        yield from copied_to_block(failure, sources, ref)


def _moves_to_vmem(failure: Failure, ref: Ref, name: str, sources: Library) -> Iterator[Candidate]:
    edits = moved(failure, sources, "VMEM")
    scalar_stores, scalar_loads = _single(failure, "store"), _single(failure, "load")
    stores = _subscripts(ref, scalar_stores, sources)
    loads = _subscripts(ref, scalar_loads, sources)
    rewritten = {
        place for store in stores if needs_mask(ref, store) for place in _places(store, loads)
    }
    left = [load for load in scalar_loads if load.place not in rewritten]
    if not edits or any(_lane_of_run_time(ref, load) for load in left):
        return
    if not scalar_stores:
        yield Candidate(f"move `{name}` to VMEM", edits)
    elif stores and (as_vector := as_vectors(ref, stores, loads, sources)):
        how = "under a mask" if rewritten else "as slices"
        title = f"move `{name}` to VMEM and store its single elements {how}"
        yield Candidate(title, (*edits, *as_vector))


def _one_scalar_at_a_time(
    ref: Ref, vectors: Sequence[Access], sources: Library
) -> Iterator[Candidate]:
    subscripts = _subscripts(ref, vectors, sources)
    counts = {math.prod(access.shape) for access in vectors}
    if not subscripts or max(counts) <= 1:
        return
    if all(one.stores for one in subscripts):
        edits, verb = loops_of_stores(subscripts), "store"
    elif not any(one.stores for one in subscripts):
        edits, verb = stacks_of_loads(subscripts, sources), "load"
    else:
        return
    if edits:
        many = f"{min(counts)} values" if len(counts) == 1 else "values"
        yield Candidate(f"{verb} the {many} one scalar at a time", edits)


def _single(failure: Failure, kind: AccessKind) -> list[Access]:
    """The accesses of single elements."""
    return [one for one in failure.accesses if one.kind == kind and not one.shape]


def _places(store: Indexed, loads: Sequence[Indexed]) -> Iterator[Place | None]:
    """Where a masked store rewrites what is loaded."""
    yield store.accesses[0].place
    for load in covered(store, loads):
        yield load.accesses[0].place


def _lane_of_run_time(ref: Ref, access: Access) -> bool:
    """Whether the lane is known only when the kernel runs: no compiler loads that from VMEM."""
    lane = access.static_index[-1] if access.static_index else None
    return bool(ref.shape) and ref.shape[-1] > 1 and lane is None


def _subscripts(ref: Ref, accesses: Sequence[Access], sources: Library) -> tuple[Indexed, ...]:
    return (indexed(ref, accesses, sources) or ()) if accesses else ()


def _as_vector_title(ref: Ref, stores: Sequence[Indexed]) -> str:
    if any(needs_mask(ref, store) for store in stores):
        return "store the scalar under a mask"
    ones = ", ".join("1" for _ in ref.shape) + ("," if len(ref.shape) == 1 else "")
    return f"store the scalar as a ({ones}) slice"
