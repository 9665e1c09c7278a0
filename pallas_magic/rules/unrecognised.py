"""# PM999: not recognised

## What it means
The compiler refused this kernel for a reason that no rule describes yet. The
place is exact, and the text is the compiler's own.

## Fix
There is no ready one. The marked expression is the one that failed; the text
below it says what the compiler could not do with it.

## References
"Copy as bug report" collects the place, the text and the versions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic
from pallas_magic.source.copies import made_at
from pallas_magic.source.document import Library, Place

code = "PM999"
name = "unrecognised"

_VERBS = {"trace": "trace", "lower": "lower", "compile": "compile"}


def match(failure: Failure) -> bool:
    return True


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    return Diagnostic(
        code=code,
        name=name,
        severity="error",
        stage=failure.stage,
        targets=(failure.target.name,),
        kernel=failure.kernel,
        message=_message(failure),
        primary=sources.span(_place(failure, sources)) or sources.span(failure.call.build),
        primary_text=f"does not {_VERBS[failure.stage]}",
        notes=_notes(failure),
        original=f"{failure.error_type}: {failure.text}",
    )


def fixes(failure: Failure, sources: Library) -> Iterable[Candidate]:
    return ()


def _place(failure: Failure, sources: Library) -> Place | None:
    """What is wrong with a copy is in the expression that made it, not where it starts."""
    if failure.stage == "compile" and failure.primitive in ("dma_start", "dma_wait"):
        return made_at(sources, failure.place) or failure.place
    return failure.place


def _notes(failure: Failure) -> tuple[str, ...]:
    found = re.search(r"\bE(\d{4}): Compile", failure.text)
    if failure.stage != "compile" or found is None:
        return ()
    return (f"XLA describes E{found[1]} at https://openxla.org/xla/errors/error_{found[1]}",)


def _message(failure: Failure) -> str:
    first_line = failure.text.strip().split("\n")[0].rstrip(".")
    what = f"`{failure.kernel}` does not {_VERBS[failure.stage]} for {failure.target.title}"
    return f"{what}: {first_line or failure.error_type}"
