"""# PM702: a vector loaded in a warp-level region

PAGE
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic
from pallas_magic.rules._warp.statements import head
from pallas_magic.rules._warp.wording import diagnostic
from pallas_magic.source.document import Library

code = "PM702"
name = "warp-vector-load"


def match(failure: Failure) -> bool:
    first = head(failure)
    return first is not None and first.access.kind == "load"


def key(failure: Failure) -> Hashable:
    """One diagnosis for the loads of one ref and what flows from them."""
    first = head(failure)
    return first.ref if first is not None else None


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    return diagnostic(failure, sources, code=code, name=name)


def fixes(failure: Failure, sources: Library) -> Iterable[Candidate]:
    return ()
