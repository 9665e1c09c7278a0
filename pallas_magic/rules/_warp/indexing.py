"""Indices of refs as they are written, and the index of one element of what they select."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from pallas_magic.source.syntax import Syntax, identifier


def axes(subscript: ast.Subscript, rank: int) -> list[ast.expr] | None:
    """One index expression for each axis of a ref with ``rank`` axes, ``None`` if not plain."""
    index = subscript.slice
    given = list(index.elts) if isinstance(index, ast.Tuple) else [index]
    dots = [position for position, one in enumerate(given) if _is_dots(one)]
    if len(dots) > 1 or len(given) - len(dots) > rank:
        return None
    missing: list[ast.expr] = [ast.Slice()] * (rank - (len(given) - len(dots)))
    position = dots[0] if dots else len(given)
    return given[:position] + missing + given[position + len(dots) :]


def element_index(
    syntax: Syntax, subscript: ast.Subscript, rank: int, counters: Sequence[str]
) -> str | None:
    """The index of the element at ``counters`` of what ``subscript`` selects."""
    given = axes(subscript, rank)
    if given is None:
        return None
    left = list(counters)
    written = []
    for one in given:
        if _is_unplain(one):
            return None
        start = _start(syntax, one)
        if start is None:
            written.append(syntax.text(one))
        elif left:
            counter = left.pop(0)
            written.append(counter if start in ("", "0") else f"{start} + {counter}")
        else:
            return None
    return None if left else ", ".join(written)


def is_whole(subscript: ast.Subscript, rank: int) -> bool:
    """Whether a subscript selects all of a ref."""
    given = axes(subscript, rank)
    return given is not None and all(isinstance(one, ast.Slice) and _is_all(one) for one in given)


def _start(syntax: Syntax, index: ast.expr) -> str | None:
    """Where an axis that is kept starts; ``None`` for an axis that one index picks from."""
    if isinstance(index, ast.Slice):
        return _summand(syntax, index.lower) if index.lower is not None else ""
    if isinstance(index, ast.Call) and identifier(index.func) in ("ds", "dslice"):
        return _summand(syntax, index.args[0]) if len(index.args) == 2 else None
    return None


def _summand(syntax: Syntax, node: ast.expr) -> str:
    """The text of ``node`` as it can stand before a plus sign."""
    is_sum = isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub, ast.Mult))
    text = syntax.text(node)
    return text if is_sum or isinstance(node, (ast.Constant, ast.Name)) else f"({text})"


def _is_unplain(index: ast.expr) -> bool:
    """Whether a slice steps, or counts from the end."""
    if not isinstance(index, ast.Slice):
        return False
    return index.step is not None or isinstance(index.lower, ast.UnaryOp)


def _is_dots(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...


def _is_all(index: ast.Slice) -> bool:
    return index.lower is None and index.upper is None and index.step is None
