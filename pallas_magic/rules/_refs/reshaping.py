"""How a value comes to the shape that a ref takes."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from pallas_magic.report import TextEdit
from pallas_magic.source.calls import add_keyword, argument, keyword
from pallas_magic.source.syntax import Syntax, identifier

_REDUCTIONS = (
    "sum",
    "mean",
    "max",
    "min",
    "amax",
    "amin",
    "prod",
    "all",
    "any",
    "argmax",
    "argmin",
)


def keepable_reduction(syntax: Syntax, value: ast.expr) -> ast.Call | None:
    """The only reduction in ``value`` that drops its axis; what is around it works elementwise."""
    found = [node for node in ast.walk(value) if _drops_axis(node)]
    if len(found) != 1 or not isinstance(found[0], ast.Call):
        return None
    above: ast.AST | None = found[0]
    while above is not value and above is not None:
        above = syntax.parent(above)
        if not isinstance(above, (ast.BinOp, ast.UnaryOp)):
            return None
    return found[0]


def keep_axis(syntax: Syntax, reduction: ast.Call) -> TextEdit | None:
    """An edit that makes a reduction keep its axis."""
    given = keyword(reduction, "keepdims")
    if given is not None:
        return syntax.replace(given.value, "True")
    return add_keyword(syntax, reduction, "keepdims=True")


def inserted_axes(value: Sequence[int], wanted: Sequence[int]) -> list[int] | None:
    """The axes of size 1 that ``wanted`` has more than ``value``, if that is the difference."""
    found = []
    rest = list(value)
    for axis, size in enumerate(wanted):
        if rest and rest[0] == size:
            rest.pop(0)
        elif size == 1:
            found.append(axis)
        else:
            return None
    return found if not rest and found else None


def index_with_axes(rank: int, axes: Sequence[int]) -> str:
    """An index that puts axes of size 1 where ``axes`` says: ``[:, None]``."""
    return f"[{', '.join('None' if axis in axes else ':' for axis in range(rank))}]"


def broadcasts(value: Sequence[int], wanted: Sequence[int]) -> bool:
    """Whether ``value`` becomes ``wanted`` by NumPy's rules of broadcasting."""
    if len(value) > len(wanted):
        return False
    ends = zip(reversed(value), reversed(wanted), strict=False)
    return all(size in (1, whole) for size, whole in ends)


def _drops_axis(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or identifier(node.func) not in _REDUCTIONS:
        return False
    is_method = isinstance(node.func, ast.Attribute) and not isinstance(node.func.value, ast.Name)
    axis = argument(node, "axis", 0 if is_method else 1)
    given = keyword(node, "keepdims")
    keeps = given is not None and not (
        isinstance(given.value, ast.Constant) and given.value.value is False
    )
    return axis is not None and not keeps
