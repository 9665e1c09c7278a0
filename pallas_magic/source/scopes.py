"""What a text binds at its top, and what belongs to one scope alone."""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType

from pallas_magic.source.syntax import Syntax


def last_binding(syntaxes: Iterable[Syntax], name: str) -> tuple[Syntax, ast.AST] | None:
    """What binds ``name`` in the first of ``syntaxes`` that does, if that is one thing."""
    for syntax in syntaxes:
        table = bindings(syntax)
        stars = [star for star in table.get("*", ()) if _may_bring(syntax, star, name)]
        found = [*table.get(name, ()), *stars]
        if found:
            return (syntax, found[0]) if len(found) == 1 else None
    return None


def _may_bring(syntax: Syntax, star: ast.AST, name: str) -> bool:
    """Whether ``from ... import *`` binds ``name``, as far as the loaded module tells."""
    module: object = sys.modules.get(getattr(syntax.parent(star), "module", None) or "")
    return type(module) is not ModuleType or name in vars(module)


@functools.lru_cache(maxsize=1024)
def bindings(syntax: Syntax) -> Mapping[str, list[ast.AST]]:
    """The nodes that bind each name of a module; a ``global`` of a function's may do so too."""
    found: dict[str, list[ast.AST]] = {}
    for node in own_nodes(syntax.module):
        if (name := _bound_name(node)) is not None:
            found.setdefault(name, []).append(node)
    for node in ast.walk(syntax.module):
        if isinstance(node, ast.Global):
            for name in node.names:
                found.setdefault(name, []).append(node)
    return found


def _bound_name(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name):
        return node.id if isinstance(node.ctx, ast.Store) else None
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return node.name
    if isinstance(node, ast.alias):
        return node.asname or node.name.partition(".")[0]
    return None


def assigned_value(syntax: Syntax, stored: ast.AST) -> ast.expr | None:
    """What the name ``stored`` is assigned, if that is all its statement does."""
    statement = syntax.parent(stored)
    if isinstance(statement, ast.Assign) and statement.targets == [stored]:
        return statement.value
    return statement.value if isinstance(statement, ast.AnnAssign) else None


def own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a scope without those of the functions and classes inside it."""
    inner = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
    for child in ast.iter_child_nodes(scope):
        yield child
        if not isinstance(child, inner):
            yield from own_nodes(child)
