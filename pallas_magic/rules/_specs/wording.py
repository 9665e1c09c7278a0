"""Operands, grids and marks in the user's own words."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from pallas_magic.failure import Failure, Ref
from pallas_magic.report import Diagnostic, Label, Span
from pallas_magic.source.calls import keyword
from pallas_magic.source.document import Library
from pallas_magic.source.specs import SpecCall, spec_call

ROLE_WORDS = {"prefetch": "prefetched operand", "input": "input", "output": "output"}


def diagnostic(
    failure: Failure,
    sources: Library,
    *,
    code: str,
    name: str,
    message: str,
    primary: Span | None,
    mark: str,
    effects: Iterable[Span | None] = (),
    causes: Iterable[Label | None] = (),
    notes: Iterable[str] = (),
) -> Diagnostic:
    """An error at ``primary``, or at the call where that is not known."""
    at = primary or sources.span(failure.place) or sources.span(failure.call.build)
    spans = [span for span in dict.fromkeys(effects) if span is not None and span != at]
    return Diagnostic(
        code=code,
        name=name,
        severity="error",
        stage=failure.stage,
        targets=(failure.target.name,),
        kernel=failure.kernel,
        message=message,
        primary=at,
        primary_text=mark,
        labels=(
            *(Label(span, mark, "effect") for span in spans),
            *(label for label in causes if label is not None),
        ),
        notes=tuple(notes),
        original=f"{failure.error_type}: {failure.text}",
    )


def operand_name(ref: Ref | None) -> str:
    """What the user calls an operand: the kernel's parameter, else JAX's word for it."""
    if ref is None:
        return "the operand"
    return f"`{ref.name}`" if ref.name.isidentifier() else f"`{ref.origin}`"


def counted(number: int, one: str, many: str = "") -> str:
    """``number`` things: "1 axis", "2 axes"."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def shape_text(shape: Sequence[int | None]) -> str:
    """A shape as Python writes it."""
    inside = ", ".join("?" if size == -1 else str(size) for size in shape)
    return f"({inside},)" if len(shape) == 1 else f"({inside})"


def keyword_label(failure: Failure, sources: Library, name: str, text: str) -> Label | None:
    """A mark on what ``name=`` is given, in the call or in its grid spec."""
    call = spec_call(sources, failure.call)
    given = keyword_of(call, name)
    if call is None or given is None:
        return None
    syntax = call.syntax if given in call.node.keywords else call.build_syntax
    span = syntax.span(given.value)
    if span is None or span.start_line != span.end_line:
        return None
    return Label(span, text, "cause")


def keyword_of(call: SpecCall | None, name: str) -> ast.keyword | None:
    """The keyword ``name`` of a Pallas call or of its grid spec."""
    if call is None:
        return None
    return keyword(call.node, name) or keyword(call.build, name)
