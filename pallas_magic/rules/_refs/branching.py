"""What the branches of a `lax.cond` or `lax.switch` return, as it is written."""

from __future__ import annotations

import ast
import dataclasses
import re

from pallas_magic.report import Span
from pallas_magic.rules._refs.expressions import Failing
from pallas_magic.source.calls import argument
from pallas_magic.source.document import Library
from pallas_magic.source.names import namespace
from pallas_magic.source.resolve import Expression, literal_children
from pallas_magic.source.scopes import own_nodes
from pallas_magic.source.syntax import Function, Syntax, identifier

_STEP = re.compile(r"\[(\d+)\]")


@dataclasses.dataclass(frozen=True, eq=False)
class Branch:
    """The value that one branch returns, or the part of it that differs."""

    syntax: Syntax
    node: ast.expr

    def span(self) -> Span | None:
        span = self.syntax.span(self.node)
        return span if span is not None and span.start_line == span.end_line else None


def branches_of(
    found: Failing | None, names: tuple[str, str], path: str, sources: Library
) -> tuple[Branch | None, Branch | None]:
    """What the two branches return that JAX calls ``names``, at ``path`` in their results."""
    if found is None or not isinstance(found.node, ast.Call):
        return None, None
    one, other = (_branch(found.syntax, found.node, name, path, sources) for name in names)
    return one, other


def _branch(
    syntax: Syntax, call: ast.Call, name: str, path: str, sources: Library
) -> Branch | None:
    given = _given(call, name)
    if given is None:
        return None
    function = _function(sources, Expression(syntax, given))
    if function is None:
        return None
    owner, node = function
    result = _result(node)
    for step in _STEP.findall(path):
        children = literal_children(result) if result is not None else None
        if children is None or int(step) >= len(children):
            return None
        result = children[int(step)]
    return Branch(owner, result) if result is not None else None


def _given(call: ast.Call, name: str) -> ast.expr | None:
    if identifier(call.func) == "cond":
        return argument(call, name, 1 if name == "true_fun" else 2)
    branches = argument(call, "branches", 1) if identifier(call.func) == "switch" else None
    children = literal_children(branches) if branches is not None else None
    number = int(name.removeprefix("branch"))
    return children[number] if children is not None and number < len(children) else None


def _function(sources: Library, given: Expression) -> tuple[Syntax, Function] | None:
    if isinstance(given.node, ast.Lambda):
        return given.syntax, given.node
    if not isinstance(given.node, ast.Name):
        return None
    found = [
        (one, node)
        for one in namespace(sources, given.syntax.document)
        for node in ast.walk(one.module)
        if isinstance(node, ast.FunctionDef) and node.name == given.node.id
    ]
    return found[0] if len(found) == 1 else None


def _result(function: Function) -> ast.expr | None:
    if isinstance(function, ast.Lambda):
        return function.body
    returns = [node for node in own_nodes(function) if isinstance(node, ast.Return)]
    return returns[0].value if len(returns) == 1 else None
