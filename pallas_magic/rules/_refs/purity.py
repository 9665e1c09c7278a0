"""What an expression or a block does besides having a value."""

from __future__ import annotations

import ast

from pallas_magic.source.document import Library
from pallas_magic.source.names import imports
from pallas_magic.source.syntax import Syntax

_PURE_MODULES = ("jax.numpy", "jax.lax", "jax.nn", "numpy")
_IMPURE = (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr, ast.Lambda)
_LEAVES = (ast.Return, ast.Break, ast.Continue, ast.Yield, ast.YieldFrom, ast.Await)
_PURE_METHODS = ("astype", "sum", "max", "min", "mean", "reshape", "transpose", "any", "all")


def is_pure(syntax: Syntax, node: ast.expr, sources: Library) -> bool:
    """Whether evaluating ``node`` surely does nothing but give a value."""
    for inner in ast.walk(node):
        if isinstance(inner, _IMPURE):
            return False
        if isinstance(inner, ast.Call) and not _is_pure_call(syntax, inner, sources):
            return False
    return True


def only_stores(syntax: Syntax, block: ast.If | ast.For) -> bool:
    """Whether the body can become a function: it only stores, and nothing follows from it."""
    inside = {node for part in block.body for node in ast.walk(part)}
    if any(isinstance(node, (*_LEAVES, ast.Global, ast.Nonlocal)) for node in inside):
        return False
    if not all(isinstance(part, (ast.Assign, ast.AugAssign, ast.Expr)) for part in block.body):
        return False
    stored = {
        node.id for node in inside if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    function = syntax.function(block)
    if not stored or function is None:
        return not stored
    outside = {
        node.id for node in ast.walk(function) if isinstance(node, ast.Name) and node not in inside
    }
    return not stored & outside


def _is_pure_call(syntax: Syntax, call: ast.Call, sources: Library) -> bool:
    if isinstance(call.func, ast.Attribute) and call.func.attr in _PURE_METHODS:
        return True
    first, _, rest = syntax.text(call.func).partition(".")
    origin = imports(sources, syntax.document).get(first, first)
    dotted = f"{origin}.{rest}" if rest else origin
    return dotted.rpartition(".")[0] in _PURE_MODULES
