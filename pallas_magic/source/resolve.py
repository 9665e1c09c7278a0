"""What an expression of the user's stands for, as far as the text alone tells.

A name that is assigned once, a function that only returns, a literal list,
tuple or dict: nothing is evaluated, and whatever is not that plain is unknown.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Sequence

from pallas_magic.source.document import Library
from pallas_magic.source.names import namespace
from pallas_magic.source.scopes import assigned_value, last_binding, own_nodes
from pallas_magic.source.syntax import Function, Syntax

_MAX_STEPS = 8


@dataclasses.dataclass(frozen=True, eq=False)
class Expression:
    """An expression with the syntax it belongs to."""

    syntax: Syntax
    node: ast.expr

    @property
    def text(self) -> str:
        return self.syntax.text(self.node)


def resolve(sources: Library, expression: Expression) -> Expression:
    """The expression behind names and helper functions, itself where there is nothing to follow."""
    for _ in range(_MAX_STEPS):
        following = _assigned(sources, expression) or _returned(sources, expression)
        if following is None:
            return expression
        expression = following
    return expression


def leaves(sources: Library, expression: Expression) -> tuple[Expression, ...] | None:
    """The leaves of a literal tree in JAX's order, ``None`` where it is not literal enough.

    A leaf is the expression as it stands in the literal, not what it stands for.
    """
    contents = resolve(sources, expression)
    children = literal_children(contents.node)
    if children is None:
        return (expression,)
    found: list[Expression] = []
    for child in children:
        inner = leaves(sources, Expression(contents.syntax, child))
        if inner is None or isinstance(child, ast.Starred):
            return None
        found += inner
    return tuple(found)


def literal_children(node: ast.expr) -> Sequence[ast.expr] | None:
    """The values of a literal list, tuple or dict in JAX's order."""
    if isinstance(node, (ast.List, ast.Tuple)):
        return node.elts
    if isinstance(node, ast.Dict):
        names = [key.value for key in node.keys if isinstance(key, ast.Constant)]
        if len(names) == len(node.keys) and all(isinstance(name, str) for name in names):
            keyed = dict(zip(map(str, names), node.values, strict=True))
            return [keyed[name] for name in sorted(keyed)]
    return None


def uses(sources: Library, syntax: Syntax, name: str) -> int:
    """How often ``name`` is read in the namespace that ``syntax`` belongs to."""
    return sum(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
        for one in namespace(sources, syntax.document)
        for node in ast.walk(one.module)
    )


def bound_name(syntax: Syntax, node: ast.expr) -> str:
    """The name that the whole of ``node`` is assigned to, empty if it is to none."""
    statement = syntax.parent(node)
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    if isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    return targets[0].id if len(targets) == 1 and isinstance(targets[0], ast.Name) else ""


def local_names(function: Function) -> frozenset[str]:
    """The parameters of ``function`` and what it assigns."""
    spec = function.args
    given = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs, spec.vararg, spec.kwarg]
    assigned = {
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    return frozenset(assigned | {arg.arg for arg in given if arg is not None})


def _assigned(sources: Library, expression: Expression) -> Expression | None:
    node = expression.node
    if not isinstance(node, ast.Name):
        return None
    for scope in expression.syntax.functions(node):
        if node.id in local_names(scope):
            return _only(expression.syntax, node.id, scope)
    bound = last_binding(namespace(sources, expression.syntax.document), node.id)
    return _only(bound[0], node.id, bound[0].module) if bound is not None else None


def _only(syntax: Syntax, name: str, scope: ast.AST) -> Expression | None:
    """What ``name`` is assigned in ``scope``, if that is one plain assignment."""
    stores = [
        node
        for node in own_nodes(scope)
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
    ]
    value = assigned_value(syntax, stores[0]) if len(stores) == 1 else None
    return Expression(syntax, value) if value is not None else None


def _returned(sources: Library, expression: Expression) -> Expression | None:
    """What a plain helper returns; its parameters stay unknown names."""
    node = expression.node
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return None
    for syntax in namespace(sources, expression.syntax.document):
        found = [
            one
            for one in ast.walk(syntax.module)
            if isinstance(one, ast.FunctionDef) and one.name == node.func.id
        ]
        if len(found) == 1:
            return _single_return(syntax, found[0])
        if found:
            return None
    return None


def _single_return(syntax: Syntax, function: ast.FunctionDef) -> Expression | None:
    returns = [node for node in own_nodes(function) if isinstance(node, ast.Return)]
    if len(returns) != 1 or returns[0].value is None:
        return None
    return Expression(syntax, returns[0].value)
