"""The place of the largest or smallest integer, which a back end finds for floats only."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pallas_magic.failure import Candidate
from pallas_magic.rules._memory.assignment import all_or_none
from pallas_magic.rules._operations.called import Called, axis_of
from pallas_magic.rules._operations.lines import (
    Edits,
    before,
    free_name,
    parenthesised,
    statement_of,
)

_LONGEST_LINE = 76
_LONG = ("int32", "uint32")


def place_fixes(one: Called) -> Iterator[Candidate]:
    """`jnp.argmax(x, axis=1)` of integers."""
    operand, axis = one.operand(), axis_of(one, one.argument("axis", 1))
    if one.name not in ("argmax", "argmin") or operand is None or axis is None:
        return
    if not one.has_only(2, "axis", "keepdims") or one.is_float or "int" not in one.dtype:
        return
    best = one.numpy("max" if one.name == "argmax" else "min")
    where, float32 = one.numpy("where"), one.numpy("float32")
    if best is None or where is None or one.counted("x.shape", axis) is None:
        return
    which = "largest" if one.name == "argmax" else "smallest"
    if edits := _first_place(one, operand, axis, best):
        yield Candidate(f"take the first place of the {which} number", edits)
    if float32 is not None and (edits := _as_floats(one, operand, float32)):
        title = "compare the numbers as float32, exact up to 2**24"
        why = "integers beyond 2**24 can become equal" if one.dtype in _LONG else ""
        yield Candidate(title, edits, applicability="unsafe" if why else "safe", why=why)


def _first_place(one: Called, operand: ast.expr, axis: int, best: str) -> Edits:
    """The smallest place at which the extreme stands, worked out in lines of its own."""
    statement = statement_of(one)
    if statement is None:
        return ()
    is_name = isinstance(operand, ast.Name)
    x = one.text(operand) if is_name else free_name(one, "x", "value", "values")
    places = free_name(one, "places", "positions")
    lines = [] if is_name else [f"{x} = {one.text(operand)}"]
    lines.append(f"{places} = {one.counted(f'{x}.shape', axis)}")
    found = f"{x} == {best}({x}, axis={axis}, keepdims=True)"
    expression = f"{one.numpy('min')}({one.numpy('where')}({found}, {places}, {one.shape[axis]})"
    if one.node.col_offset + len(expression) > _LONGEST_LINE:
        is_best = free_name(one, "is_best", "is_found")
        lines.append(f"{is_best} = {found}")
        found = is_best
    chosen = f"{one.numpy('where')}({found}, {places}, {one.shape[axis]})"
    return before(one, statement, lines, f"{one.numpy('min')}({chosen}, axis={axis}{_kept(one)})")


def _as_floats(one: Called, operand: ast.expr, float32: str) -> Edits:
    text = f"{parenthesised(one, operand)}.astype({float32})"
    return all_or_none((one.syntax.replace(operand, text),))


def _kept(one: Called) -> str:
    keep = one.argument("keepdims", 3)
    return f", keepdims={one.text(keep)}" if keep is not None else ""
