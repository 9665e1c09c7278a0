"""The inner product of two vectors, which the matrix unit does not take."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pallas_magic.failure import Candidate
from pallas_magic.rules._operations.called import Called
from pallas_magic.rules._operations.lines import parenthesised, replaced

_OF_VECTORS = ("dot", "vdot", "inner", "matmul", "vecdot")


def inner_product_fixes(one: Called) -> Iterator[Candidate]:
    """`jnp.vdot(x, y)` and `x @ y`: a sum of products, which the vector unit does."""
    total, pair = one.numpy("sum"), _pair(one)
    if total is None or pair is None or not one.is_float:
        return
    left, right = (parenthesised(one, node) for node in pair)
    if edits := replaced(one, f"{total}({left} * {right})"):
        yield Candidate("add up the products; adds in another order", edits, exact=False)


def _pair(one: Called) -> tuple[ast.expr, ast.expr] | None:
    node = one.node
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return node.left, node.right
    if one.name not in _OF_VECTORS or not isinstance(node, ast.Call) or node.keywords:
        return None
    return (node.args[0], node.args[1]) if len(node.args) == 2 else None
