"""# PM999: not recognised

## What it means
JAX or the chip's compiler refused this kernel for a reason that no rule
describes yet. The place is exact, and the text is their own. A note says which
of three kinds it is.

## Your code
"JAX asks for something that this kernel does not give": a shape, a type, a
memory space or an option is not what an operation needs. The text names it. The
marked expression, or what it is given, has to change.

## Not supported on this chip
"... does not do this": the kernel may be right, and runs interpreted, but the
back end has no code for it. Write it with other operations (`%pallas_explain
PM301` lists replacements), do it outside the kernel, or use another chip.

## A fault in JAX
"this looks like a fault of JAX": an assertion failed, or JAX made code that its
own checks refuse. A small change of the kernel may go round it; JAX's developers
can mend it. "Copy as bug report" collects the place, the text and the versions.

## Fix
There is no ready one. The marked expression is the one that failed; the text
below it says what could not be done with it.

## References
- The texts are raised in `jax/_src/pallas`; the function is on the card.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic
from pallas_magic.rules._operations.wording import back_end
from pallas_magic.rules._unrecognised.kinds import kind_of, matter_of, without_request
from pallas_magic.source.copies import made_at
from pallas_magic.source.document import Library, Place
from pallas_magic.source.syntax import syntax_of

code = "PM999"
name = "unrecognised"

_FAULT = (
    "this looks like a fault of JAX rather than of the kernel; "
    '"Copy as bug report" has what its developers need'
)
_VERBS = {"trace": "trace", "lower": "lower", "compile": "compile"}


def match(failure: Failure) -> bool:
    return True


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    part = _part(failure, sources)
    return Diagnostic(
        code=code,
        name=name,
        severity="error",
        stage=failure.stage,
        targets=(failure.target.name,),
        kernel=failure.kernel,
        message=_message(failure, part),
        primary=sources.span(_place(failure, sources)) or sources.span(failure.call.build),
        primary_text="not taken" if part else f"does not {_VERBS[failure.stage]}",
        notes=_notes(failure),
        original=f"{failure.error_type}: {without_request(failure.text)}",
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
    if failure.stage == "compile" and found is not None:
        page = f"https://openxla.org/xla/errors/error_{found[1]}"
        return (f"XLA describes E{found[1]} at {page}",)
    if failure.stage == "compile" or not failure.raised_in.startswith("jax."):
        return ()
    if failure.stage == "trace":
        # What a kernel asks of JAX itself: its text says what is wrong with that.
        return ()
    match kind_of(failure.error_type, failure.text):
        case "fault":
            return (_FAULT,)
        case "unsupported":
            return (f"{back_end(failure)} does not do this; written in another way it may",)
    return ("JAX asks for something that this kernel does not give",)


def _message(failure: Failure, part: str) -> str:
    first_line = matter_of(failure.text).split("\n")[0].rstrip(".") or failure.error_type
    if part:
        return f"`{part}` does not take this: {first_line}"
    subject = f"`{failure.kernel}`" if failure.kernel else "this"
    return f"{subject} does not {_VERBS[failure.stage]} for {failure.target.title}: {first_line}"


def _part(failure: Failure, sources: Library) -> str:
    """The user's name of what a spec, a barrier or scratch is made with, where that failed."""
    syntax = syntax_of(sources, failure.place)
    node = syntax.at(failure.place) if syntax is not None and failure.place is not None else None
    if failure.kernel or failure.stage != "trace" or syntax is None:
        return ""
    return syntax.text(node.func) if isinstance(node, ast.Call) else ""
