"""Vector code in a warp-level region in the user's own words."""

from __future__ import annotations

import ast

from pallas_magic.failure import Access, Failure, VectorAccess
from pallas_magic.report import Diagnostic, Label
from pallas_magic.rules._warp.statements import accesses, head
from pallas_magic.source.document import Library, Place
from pallas_magic.source.syntax import syntax_of

NOTE = (
    "an array is spread over the registers of a warpgroup's 128 threads;"
    " inside the region its 4 warps run apart"
)
_VERBS = {"load": "loaded", "store": "stored"}


def ref_name(vector: VectorAccess, sources: Library) -> str:
    """What the user calls the ref: the kernel's parameter, else the text that was refused."""
    if vector.ref.name.isidentifier():
        return vector.ref.name
    return _base_name(vector.access.place, sources) or "the ref"


def vector_words(access: Access) -> str:
    """The value moved, with its article: "a float32[128] vector"."""
    article = "an" if access.dtype[0] in "aeiou" else "a"
    return f"{article} {access.dtype}[{','.join(map(str, access.shape))}] vector"


def diagnostic(failure: Failure, sources: Library, *, code: str, name: str) -> Diagnostic:
    """An error at the statement's head, the other accesses and the region marked beside it."""
    first = head(failure)
    assert first is not None
    access = first.access
    what = f"{_VERBS[access.kind]} as {vector_words(access)}"
    primary = sources.span(access.place) or sources.span(failure.place)
    return Diagnostic(
        code=code,
        name=name,
        severity="error",
        stage=failure.stage,
        targets=(failure.target.name,),
        kernel=failure.kernel,
        message=f"`{ref_name(first, sources)}` is {what} inside a warp-level region,"
        " which takes scalars only",
        primary=primary or sources.span(failure.call.build),
        primary_text=f"vector {access.kind}",
        labels=(*_others(failure, first, sources), *_region(failure, sources)),
        notes=(NOTE,),
        original=f"{failure.error_type}: {failure.text}",
    )


def _others(failure: Failure, first: VectorAccess, sources: Library) -> tuple[Label, ...]:
    marks = {
        span: f"vector {vector.access.kind}"
        for vector in accesses(failure)
        if vector.access.place != first.access.place
        and (span := sources.span(vector.access.place)) is not None
    }
    return tuple(Label(span, text, "effect") for span, text in marks.items())


def _region(failure: Failure, sources: Library) -> tuple[Label, ...]:
    span = sources.span(failure.warp.place) if failure.warp is not None else None
    return (Label(span, "the warp-level region", "cause"),) if span is not None else ()


def _base_name(place: Place | None, sources: Library) -> str:
    """The name that the refused expression begins with."""
    syntax = syntax_of(sources, place)
    node = syntax.at(place) if syntax is not None and place is not None else None
    while isinstance(node, (ast.Subscript, ast.Attribute, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""
