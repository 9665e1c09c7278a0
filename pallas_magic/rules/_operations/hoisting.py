"""An operation of a whole input moved out of the kernel, to where the kernel is called."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Ref
from pallas_magic.rules._memory.assignment import all_or_none
from pallas_magic.rules._operations.called import Called
from pallas_magic.rules._operations.sliced_refs import load_of
from pallas_magic.rules._specs.kernels import kernel_text
from pallas_magic.source.document import Document
from pallas_magic.source.names import imports
from pallas_magic.source.syntax import syntax_of

_WHY = "it changes what the kernel is given: not proved"


def hoisted(one: Called) -> Iterator[Candidate]:
    """The operation applied to the operand of the call, where that is the same."""
    ref, operand = _whole_input(one), one.operand()
    call = _application(one)
    if ref is None or operand is None or call is None or not _keeps_type(one):
        return
    function = one.text(one.node.func) if isinstance(one.node, ast.Call) else ""
    syntax = syntax_of(one.sources, one.failure.call.applied)
    kernel = kernel_text(one.failure, one.sources)
    if syntax is None or kernel is None or len(kernel.reads(ref.name)) != 1:
        return
    if not _sees(one, syntax.document, function) or ref.operand >= len(call.args):
        return
    given = call.args[ref.operand]
    text = one.text(one.node).replace(one.text(operand), syntax.text(given), 1)
    edits = all_or_none(
        (one.syntax.replace(one.node, one.text(operand)), syntax.replace(given, text))
    )
    if edits:
        title = f"call `{function}` on the operand, before the kernel"
        yield Candidate(title, edits, applicability="display", why=_WHY)


def _whole_input(one: Called) -> Ref | None:
    """The input that the operand is, if the kernel runs once and sees all of it."""
    load, refs = load_of(one, one.operand()), one.failure.refs
    if load is None or load.leading or load.suffix or one.failure.call.has_grid:
        return None
    found = [ref for ref in refs if ref.name == load.ref and ref.role == "input"]
    if len(found) != 1:
        return None
    window = found[0].window
    whole = window is None or window.block is None or window.block == window.array
    return found[0] if whole else None


def _application(one: Called) -> ast.Call | None:
    """The call that gives the kernel its operands, none of them prefetched."""
    place = one.failure.call.applied
    syntax = syntax_of(one.sources, place)
    node = syntax.at(place) if syntax is not None and place is not None else None
    plain = isinstance(node, ast.Call) and not node.keywords
    if not isinstance(node, ast.Call) or not plain:
        return None
    inputs = sum(ref.role in ("prefetch", "input") for ref in one.failure.refs)
    prefetched = any(ref.role == "prefetch" for ref in one.failure.refs)
    starred = any(isinstance(given, ast.Starred) for given in node.args)
    return node if len(node.args) == inputs and not starred and not prefetched else None


def _keeps_type(one: Called) -> bool:
    """Whether what comes of it has the operand's type, and all else it is given is written out."""
    if not isinstance(one.node, ast.Call) or not one.operation.inputs:
        return False
    rest = [*one.node.args[1:], *(given.value for given in one.node.keywords)]
    literal = all(isinstance(given, (ast.Constant, ast.UnaryOp)) for given in rest)
    return literal and one.operation.outputs[:1] == one.operation.inputs[:1]


def _sees(one: Called, document: Document, function: str) -> bool:
    """Whether ``function`` means the same where the kernel is called."""
    first = function.partition(".")[0]
    here = imports(one.sources, one.syntax.document).get(first)
    return bool(first) and here is not None and imports(one.sources, document).get(first) == here
