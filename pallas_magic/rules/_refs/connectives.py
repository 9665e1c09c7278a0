"""Python's `and`, `or` and `not` between arrays, written as JAX needs them."""

from __future__ import annotations

import ast

from pallas_magic.report import TextEdit
from pallas_magic.rules._refs.expressions import Failing
from pallas_magic.source.syntax import Syntax

_OPERATORS = {ast.And: "&", ast.Or: "|"}


def connected(found: Failing) -> ast.BoolOp | ast.UnaryOp | None:
    """The whole of `and`, `or` and `not` that the failing expression is a part of."""
    whole: ast.expr = found.node
    above = found.syntax.parent(whole)
    while isinstance(above, ast.BoolOp | ast.UnaryOp) and _is_connective(above):
        whole, above = above, found.syntax.parent(above)
    is_connective = isinstance(whole, ast.BoolOp | ast.UnaryOp) and _is_connective(whole)
    return whole if is_connective and isinstance(whole, ast.BoolOp | ast.UnaryOp) else None


def word_of(whole: ast.BoolOp | ast.UnaryOp) -> str:
    """The outermost of Python's words in backticks."""
    if isinstance(whole, ast.UnaryOp):
        return "`not`"
    return "`and`" if isinstance(whole.op, ast.And) else "`or`"


def elementwise(found: Failing, whole: ast.BoolOp | ast.UnaryOp) -> TextEdit | None:
    """An edit with `&`, `|` and `~`, which work element by element on conditions."""
    text = _text(found.syntax, whole)
    return found.syntax.replace(whole, text) if text is not None else None


def _text(syntax: Syntax, node: ast.expr) -> str | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        inner = _text(syntax, node.operand)
        return f"~({inner})" if inner is not None else None
    if isinstance(node, ast.BoolOp):
        parts = [_text(syntax, one) for one in node.values]
        if None in parts:
            return None
        return f" {_OPERATORS[type(node.op)]} ".join(f"({part})" for part in parts)
    # Of anything but comparisons, `&` would join the bits.
    is_comparison = isinstance(node, ast.Compare) and len(node.ops) == 1
    return syntax.text(node) if is_comparison else None


def _is_connective(node: ast.BoolOp | ast.UnaryOp) -> bool:
    return isinstance(node, ast.BoolOp) or isinstance(node.op, ast.Not)
