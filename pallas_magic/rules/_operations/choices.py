"""A choice among more than two values, as choices between two."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pallas_magic.failure import Candidate
from pallas_magic.rules._operations.called import Called
from pallas_magic.rules._operations.lines import parenthesised, replaced


def choice_fixes(one: Called) -> Iterator[Candidate]:
    """`jnp.select([a, b], [x, y], z)` and `lax.select_n(which, x, y, z)`."""
    where = one.numpy("where")
    if where is None or not isinstance(one.node, ast.Call):
        return
    text = _select(one, where) if one.name == "select" else _select_n(one, one.node, where)
    if text is not None and (edits := replaced(one, text)):
        yield Candidate("choose between two at a time", edits)


def _select(one: Called, where: str) -> str | None:
    conditions, choices = one.argument("condlist", 0), one.argument("choicelist", 1)
    default = one.argument("default", 2)
    lists = (ast.List, ast.Tuple)
    if not isinstance(conditions, lists) or not isinstance(choices, lists):
        return None
    elements = [*conditions.elts, *choices.elts]
    if len(conditions.elts) != len(choices.elts) or any(
        isinstance(e, ast.Starred) for e in elements
    ):
        return None
    text = one.text(default) if default is not None else "0"
    for condition, choice in reversed(list(zip(conditions.elts, choices.elts, strict=True))):
        text = f"{where}({one.text(condition)}, {one.text(choice)}, {text})"
    return text


def _select_n(one: Called, node: ast.Call, where: str) -> str | None:
    if one.name != "select_n" or node.keywords or len(node.args) < 4:
        return None
    if any(isinstance(given, ast.Starred) for given in node.args):
        return None
    which, *cases, last = node.args
    text = one.text(last)
    for number, case in reversed(list(enumerate(cases))):
        text = f"{where}({parenthesised(one, which)} == {number}, {one.text(case)}, {text})"
    return text
