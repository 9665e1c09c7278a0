"""`int(i)` and its like around a traced number."""

from __future__ import annotations

import ast

from pallas_magic.report import TextEdit
from pallas_magic.rules._refs.expressions import Failing, needs_parentheses

_CONVERSIONS = ("int", "float", "bool", "range", "round")


def conversion(found: Failing | None) -> ast.Call | None:
    """The call of one of Python's own types or functions that failed."""
    node = found.node if found is not None else None
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return None
    return node if node.func.id in _CONVERSIONS and node.args else None


def without(found: Failing, call: ast.Call, kind: str) -> TextEdit | None:
    """An edit that leaves an integer as it is; other conversions would change the value."""
    assert isinstance(call.func, ast.Name)
    if call.func.id != "int" or "int" not in kind or len(call.args) != 1 or call.keywords:
        return None
    text = found.syntax.text(call.args[0])
    is_whole = isinstance(found.syntax.parent(call), ast.Assign | ast.AnnAssign)
    if needs_parentheses(call.args[0]) and not is_whole:
        text = f"({text})"
    return found.syntax.replace(call, text)


def is_printed(found: Failing) -> bool:
    """Whether it is for `print`."""
    functions = (call.func for call in found.syntax.around(found.node, ast.Call))
    return any(isinstance(one, ast.Name) and one.id == "print" for one in functions)
