"""Refs, values and marks in the user's own words."""

from __future__ import annotations

import ast

from pallas_magic.failure import Access, Failure
from pallas_magic.report import Diagnostic, Label, Span
from pallas_magic.rules._memory.placement import call_of_specs, placed, written_space
from pallas_magic.source.calls import keyword
from pallas_magic.source.document import Library
from pallas_magic.source.resolve import Expression
from pallas_magic.source.syntax import identifier, syntax_of

_LONGEST_NAME = 40


def ref_name(failure: Failure, sources: Library) -> str:
    """What the user calls the ref: the kernel's parameter, else the text that was refused."""
    name = failure.ref.name if failure.ref is not None else ""
    if name.isidentifier():
        return name
    return _written_name(failure, sources) or name or "the ref"


def value_words(access: Access) -> str:
    """The value moved, with its article: "one float32", "an int32[128] vector"."""
    if not access.shape:
        return f"one {access.dtype}"
    article = "an" if access.dtype[0] in "aeiou" else "a"
    return f"{article} {access.dtype}[{','.join(map(str, access.shape))}] vector"


def diagnostic(
    failure: Failure,
    sources: Library,
    *,
    code: str,
    name: str,
    message: str,
    mark: str,
    cause: tuple[Label, ...],
    note: str,
) -> Diagnostic:
    """An error of the marked access, its later failures marked as effects."""
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
        labels=(*_effects(failure, sources, mark), *_passed(failure, sources), *cause),
        notes=(note,),
        original=f"{failure.error_type}: {failure.text}",
    )


def cause_in(failure: Failure, sources: Library, space: str) -> tuple[Label, ...]:
    """A mark on what put the failing ref into ``space``, by word or by leaving it out."""
    ref = failure.ref
    if ref is not None and ref.role == "prefetch":
        return _label(_prefetch(failure, sources), "prefetched operands are in SMEM")
    where = placed(failure, sources)
    if where is not None:
        written = written_space(where)
        if written is not None or space != "VMEM":
            return _label(written or where.built, f"put in {space} here")
        return _label(where.built, f"no memory space: placed in {space}")
    call = call_of_specs(failure, sources)
    if ref is None or ref.has_spec or call is None:
        return ()
    return _label(Expression(call.build_syntax, call.build), f"no spec: placed in {space}")


def _effects(failure: Failure, sources: Library, text: str) -> tuple[Label, ...]:
    first = sources.span(failure.place)
    spans = dict.fromkeys(sources.span(later.place) for later in failure.also)
    return tuple(
        Label(span, text, "effect") for span in spans if span is not None and span != first
    )


def _label(expression: Expression | None, text: str) -> tuple[Label, ...]:
    """A mark on an expression; on its first name where it runs over several lines."""
    if expression is None:
        return ()
    node = expression.node
    span = expression.syntax.span(node)
    if isinstance(node, ast.Call) and span is not None and _lines(span) > 1:
        span = expression.syntax.span(node.func)
    return (Label(span, text, "cause"),) if span is not None else ()


def _lines(span: Span) -> int:
    return span.end_line - span.start_line + 1


def _prefetch(failure: Failure, sources: Library) -> Expression | None:
    call = call_of_specs(failure, sources)
    given = keyword(call.node, "num_scalar_prefetch") if call is not None else None
    return Expression(call.syntax, given.value) if call is not None and given is not None else None


def _passed(failure: Failure, sources: Library) -> tuple[Label, ...]:
    """A mark on the call that gives the ref to a helper which calls it something else."""
    written, name = _written_name(failure, sources), ref_name(failure, sources)
    caller = sources.span(failure.stack[-1]) if failure.stack else None
    if caller is None or written is None or written == name or not written.isidentifier():
        return ()
    return (Label(caller, f"`{written}` is `{name}` here", "cause"),)


def _written_name(failure: Failure, sources: Library) -> str | None:
    """The ref as the refused expression writes it: `o_ref`, `refs[0]`."""
    syntax = syntax_of(sources, failure.place)
    node = syntax.at(failure.place) if syntax is not None and failure.place is not None else None
    if isinstance(node, ast.Call):
        node = node.args[0] if node.args else node
    elif isinstance(node, ast.Subscript):
        node = node.value
    while isinstance(node, ast.Subscript) and identifier(node.value) == "at":
        node = node.value
    if isinstance(node, ast.Attribute) and node.attr == "at":
        node = node.value
    if syntax is None or not isinstance(node, (ast.Name, ast.Subscript, ast.Attribute)):
        return None
    text = syntax.text(node)
    return text if len(text) <= _LONGEST_NAME else None
