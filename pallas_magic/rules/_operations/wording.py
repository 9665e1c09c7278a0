"""Missing operations told in the user's own words."""

from __future__ import annotations

import ast

from pallas_magic.failure import Failure
from pallas_magic.report import Diagnostic, Label
from pallas_magic.rules._operations.called import called
from pallas_magic.source.document import Library
from pallas_magic.source.syntax import Syntax

_LONGEST = 48
_REQUEST = " Please file an issue at"


def back_end(failure: Failure) -> str:
    """The compiler that has no such operation."""
    if failure.call.is_triton or "triton" in failure.raised_in or "Triton" in failure.text:
        return "Triton"
    return "Mosaic GPU" if failure.target.family == "gpu" else "Mosaic TPU"


def what_was_written(failure: Failure, sources: Library) -> str:
    """The user's own expression of the operation in backticks, else JAX's name for it."""
    one = called(failure, sources)
    if one is not None and (text := _head(one.syntax, one.node)):
        return f"`{text}`"
    return f"`{failure.primitive}`"


def diagnostic(
    failure: Failure,
    sources: Library,
    *,
    code: str,
    name: str,
    message: str,
    mark: str,
    notes: tuple[str, ...],
    causes: tuple[Label, ...] = (),
) -> Diagnostic:
    """An error of the marked expression; JAX's request to report it is left out."""
    return Diagnostic(
        code=code,
        name=name,
        severity="error",
        stage=failure.stage,
        targets=(failure.target.name,),
        kernel=failure.kernel,
        message=message,
        primary=sources.span(failure.place) or sources.span(failure.call.build),
        primary_text=mark,
        labels=causes,
        notes=notes,
        original=f"{failure.error_type}: {failure.text.partition(_REQUEST)[0]}",
    )


def key(failure: Failure) -> object:
    """One expression of the user's is one error, of however many operations it consists."""
    return failure.place or failure.text


def _head(syntax: Syntax, node: ast.expr) -> str:
    """What is called or indexed, without what it is given."""
    if isinstance(node, ast.Call):
        return _short(syntax.text(node.func))
    if isinstance(node, ast.BinOp | ast.Compare | ast.UnaryOp | ast.Subscript):
        return _short(syntax.text(node))
    return ""


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST and "\n" not in text else ""
