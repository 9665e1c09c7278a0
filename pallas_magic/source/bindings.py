"""Whether the names of an expression would mean the same somewhere else."""

from __future__ import annotations

import ast

from pallas_magic.source.document import Library
from pallas_magic.source.names import namespace
from pallas_magic.source.resolve import Expression, local_names
from pallas_magic.source.syntax import Function

_Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp


def means_the_same(sources: Library, expression: Expression, at: Expression) -> bool:
    """Whether the text of ``expression`` could stand in the place of ``at``.

    It could if each name in it has one plain binding that both places see.
    """
    return all(_bound_alike(sources, name, expression, at) for name in _free_names(expression.node))


def _bound_alike(sources: Library, name: str, expression: Expression, at: Expression) -> bool:
    if _is_bound_by_loop_around(expression, name):
        return False
    function = _function_binding(expression, name)
    if function is not _function_binding(at, name):
        return False
    if function is not None:
        return _assignments(function, name) <= 1
    shared = list(namespace(sources, at.syntax.document))
    if expression.syntax not in shared:
        return False
    return sum(_assignments(syntax.module, name) for syntax in shared) <= 1


def _function_binding(expression: Expression, name: str) -> Function | None:
    """The function around ``expression`` that ``name`` is local to, ``None`` for a global one."""
    functions = expression.syntax.functions(expression.node)
    return next((one for one in functions if name in local_names(one)), None)


def _is_bound_by_loop_around(expression: Expression, name: str) -> bool:
    loops = expression.syntax.around(expression.node, ast.AST)
    return any(name in _stored(target) for loop in loops for target in _targets(loop))


def _targets(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, _Comprehension):
        return [one.target for one in node.generators]
    return [node.target] if isinstance(node, (ast.For, ast.AsyncFor)) else []


def _assignments(scope: ast.AST, name: str) -> int:
    return sum(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
        for node in ast.walk(scope)
    )


def _free_names(node: ast.expr) -> set[str]:
    inside = list(ast.walk(node))
    bound = {arg.arg for arg in inside if isinstance(arg, ast.arg)}
    bound |= {name for one in inside for target in _targets(one) for name in _stored(target)}
    used = {name.id for name in inside if isinstance(name, ast.Name)}
    return used - bound


def _stored(target: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}
