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

from collections.abc import Iterable

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic
from pallas_magic.source.document import Library

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
        primary=sources.span(failure.place) or sources.span(failure.call.build),
        primary_text=f"does not {_VERBS[failure.stage]}",
        original=f"{failure.error_type}: {failure.text}",
    )


def fixes(failure: Failure, sources: Library) -> Iterable[Candidate]:
    return ()


def _message(failure: Failure) -> str:
    first_line = failure.text.strip().split("\n")[0].rstrip(".")
    what = f"`{failure.kernel}` does not {_VERBS[failure.stage]} for {failure.target.title}"
    return f"{what}: {first_line or failure.error_type}"
