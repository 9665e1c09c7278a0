"""Which fixes a ref in the wrong memory space gets, decided from all its accesses."""

from __future__ import annotations

from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.rules._memory.placement import moved
from pallas_magic.rules._memory.wording import ref_name
from pallas_magic.source.document import Library


def vector_fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    """For a ref in SMEM of which a vector is stored or loaded, the best fix first."""
    name = ref_name(failure, sources)
    only_vectors = all(access.shape for access in failure.accesses)
    if only_vectors and (edits := moved(failure, sources, "VMEM")):
        yield Candidate(f"move `{name}` to VMEM", edits)
