"""Edits of the grid of a call."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from pallas_magic.failure import Failure
from pallas_magic.report import TextEdit
from pallas_magic.rules._specs.wording import keyword_of, shape_text
from pallas_magic.source.calls import add_keyword, argument, arguments, keyword
from pallas_magic.source.document import Library
from pallas_magic.source.names import spelled
from pallas_magic.source.resolve import Expression, resolve
from pallas_magic.source.specs import SpecCall, spec_call
from pallas_magic.source.syntax import Positioned, identifier


def with_axes(failure: Failure, sources: Library, sizes: Sequence[int]) -> TextEdit | None:
    """An edit that gives the grid more axes behind those it has."""
    call = spec_call(sources, failure.call)
    if call is None or not sizes:
        return None
    given = keyword_of(call, "grid")
    if given is None:
        first = keyword(call.node, "in_specs") or keyword(call.node, "out_specs")
        after = _before(call, first)
        return add_keyword(call.syntax, call.node, f"grid={shape_text(tuple(sizes))}", after)
    node = given.value
    more = ", ".join(map(str, sizes))
    if isinstance(node, ast.Tuple) and node.elts:
        last = node.elts[-1]
        start = (last.end_lineno or last.lineno, last.end_col_offset or last.col_offset)
        end = (node.end_lineno or node.lineno, (node.end_col_offset or 1) - 1)
        rest = call.syntax.text_between(start, end)
        if rest.strip() in ("", ","):
            return call.syntax.replace_between(start, end, f", {more}")
    if isinstance(node, (ast.Constant, ast.Name, ast.Call)) and len(failure.call.grid) == 1:
        return call.syntax.replace(node, f"({call.syntax.text(node)}, {more})")
    return None


def grid_elements(failure: Failure, sources: Library) -> list[Expression] | None:
    """The expression of each size of the grid, as the call or its grid spec writes it."""
    call = spec_call(sources, failure.call)
    given = _grid(call) if call is not None else None
    if call is None or given is None:
        return None
    whole = resolve(sources, Expression(call.syntax, given))
    if isinstance(whole.node, (ast.Tuple, ast.List)):
        elements = [Expression(whole.syntax, one) for one in whole.node.elts]
    else:
        elements = [Expression(call.syntax, given)]
    return elements if len(elements) == len(failure.call.grid) else None


def _grid(call: SpecCall) -> ast.expr | None:
    given = keyword(call.node, "grid")
    if given is not None:
        return given.value
    return argument(call.node, "grid", 0) if call.node is not call.build else None


def _before(call: SpecCall, node: ast.keyword | None) -> Positioned | None:
    """The argument that stands before ``node``, behind which a new one goes."""
    if node is None:
        return None
    every = arguments(call.node)
    index = every.index(node)
    return every[index - 1] if index > 0 else None


def resized(
    failure: Failure, sources: Library, axis: int, whole: int, old: int, new: int
) -> TextEdit | None:
    """An edit of one size of the grid: steps of ``new`` through ``whole`` instead of ``old``."""
    elements = grid_elements(failure, sources)
    if elements is None:
        return None
    size = elements[axis]
    exact = whole % new == 0
    node, syntax = size.node, size.syntax
    divisor = _divisor(node, exact)
    if divisor is not None and _is_number(divisor, old):
        return syntax.replace(divisor, str(new))
    rounded = spelled(sources, syntax.document, "jax.experimental.pallas", "cdiv")
    if exact or rounded is None:
        return syntax.replace(node, str(-(-whole // new)))
    return syntax.replace(node, f"{rounded}({whole}, {new})")


def _divisor(node: ast.expr, exact: bool) -> ast.expr | None:
    """By what the size of the grid is divided, where that may be another number."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv) and exact:
        return node.right
    if isinstance(node, ast.Call) and identifier(node.func) == "cdiv" and len(node.args) == 2:
        return node.args[1]
    return None


def _is_number(node: ast.expr, number: int) -> bool:
    return isinstance(node, ast.Constant) and node.value == number
