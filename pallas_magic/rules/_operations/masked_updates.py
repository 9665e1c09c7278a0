"""A functional update of a value, `x.at[i].set(v)`, as a choice under a mask."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Iterator

from pallas_magic.failure import Candidate
from pallas_magic.rules._operations.called import Called, axis_of, integer
from pallas_magic.rules._operations.index_ranges import doubt_of_mask
from pallas_magic.rules._operations.lines import (
    Edits,
    before,
    free_name,
    named,
    parenthesised,
    statement_of,
)

_LONGEST_LINE = 96
_AXES = (("row", "rows"), ("column", "columns"))


@dataclasses.dataclass(frozen=True, eq=False)
class Update:
    """``operand.at[index].method(value)``."""

    operand: ast.expr
    index: list[ast.expr]
    method: str
    value: ast.expr


def update_fixes(one: Called) -> Iterator[Candidate]:
    """The rows chosen by comparing a count with the index."""
    update, where = update_of(one), one.numpy("where")
    if update is None or where is None or len(update.index) > len(one.shape):
        return
    if not _spreads(one, update) or len(one.operation.inputs[1].shape) != 1:
        return

    def use(name: str) -> str:
        changed = _changed(one, update, name)
        return f"{where}({_mask(one, update, _counts(one, name))}, {changed}, {name})"

    if _mask(one, update, _counts(one, "x")) is None or _changed(one, update, "x") is None:
        return
    edits = _on_lines(one, update, where) or named(one, update.operand, use, "x", "value")
    if edits:
        verb = "change" if update.method != "set" else "set"
        constant = all(map(_is_constant, update.index))
        yield _masked(f"{verb} the elements under a mask", edits, one, constant)


def _masked(title: str, edits: Edits, one: Called, constant: bool = False) -> Candidate:
    why = "" if constant else doubt_of_mask(one.failure)
    return Candidate(title, edits, applicability="unsafe" if why else "safe", why=why)


def _is_constant(part: ast.expr) -> bool:
    """Whether the mask takes account of a negative number: it is written out, or a slice."""
    return isinstance(part, ast.Slice) or integer(part) is not None


def _on_lines(one: Called, update: Update, where: str) -> Edits:
    """What counts along each axis under a name of its own, where one line would be too long."""
    if not isinstance(update.operand, ast.Name):
        return ()
    x, statement = update.operand.id, statement_of(one)
    changed, counts = _changed(one, update, x), _counts(one, x)
    short = f"{where}({_mask(one, update, counts)}, {changed}, {x})"
    if statement is None or one.node.col_offset + len(short) <= _LONGEST_LINE:
        return ()
    wanted = _AXES if len(one.shape) == 2 else ()
    names = [
        free_name(one, *(wanted[axis] if wanted else (f"place_{axis}",)))
        for axis in range(len(one.shape))
    ]
    mask = _mask(one, update, names.__getitem__)
    used = [axis for axis, part in enumerate(update.index) if not is_whole(part)]
    lines = [f"{names[axis]} = {counts(axis)}" for axis in used]
    return before(one, statement, lines, f"{where}({mask}, {changed}, {x})")


def _counts(one: Called, name: str) -> Callable[[int], str | None]:
    return lambda axis: one.counted(f"{name}.shape", axis)


def update_slice_fixes(one: Called) -> Iterator[Candidate]:
    """`lax.dynamic_update_slice_in_dim` and its like, of one row at a time."""
    where, operand = one.numpy("where"), one.operand()
    update, start = one.argument("update", 1), one.argument("start_index", 2)
    if one.name == "dynamic_update_index_in_dim":
        start = one.argument("index", 2)
    elif one.name != "dynamic_update_slice_in_dim":
        return
    axis = axis_of(one, one.argument("axis", 3))
    inputs = one.operation.inputs
    if where is None or operand is None or update is None or start is None or axis is None:
        return
    expected = tuple(1 if at == axis else size for at, size in enumerate(one.shape))
    if len(inputs) < 2 or inputs[1].shape != expected:
        return

    def use(name: str) -> str:
        mask = f"{one.counted(f'{name}.shape', axis)} == {parenthesised(one, start)}"
        return f"{where}({mask}, {one.text(update)}, {name})"

    if one.counted("x.shape", axis) and (edits := named(one, operand, use, "x", "value", "before")):
        yield _masked("set the elements under a mask", edits, one)


def update_of(one: Called) -> Update | None:
    """The update that is written, ``None`` where it is no plain one."""
    node = one.node
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    at = node.func.value
    if not isinstance(at, ast.Subscript) or not isinstance(at.value, ast.Attribute):
        return None
    if at.value.attr != "at" or len(node.args) != 1 or node.keywords:
        return None
    index = list(at.slice.elts) if isinstance(at.slice, ast.Tuple) else [at.slice]
    while index and isinstance(index[-1], ast.Constant) and index[-1].value is Ellipsis:
        index.pop()
    return Update(at.value.value, index, node.func.attr, node.args[0])


def _spreads(one: Called, update: Update) -> bool:
    """Whether the value, as it is written, reaches the right elements by broadcasting."""
    if _is_number(update.value):
        return True
    whole = [at for at, part in enumerate(update.index) if isinstance(part, ast.Slice)]
    single = [at for at, part in enumerate(update.index) if not isinstance(part, ast.Slice)]
    # Axes that are indexed away must stand before all that the value spans.
    return not whole or (bool(single) and max(single) < min(whole) and _all_whole(update, whole))


def _all_whole(update: Update, at: list[int]) -> bool:
    parts = [update.index[one] for one in at]
    return all(is_whole(part) for part in parts)


def is_whole(part: ast.expr) -> bool:
    """Whether it is `:`."""
    if not isinstance(part, ast.Slice):
        return False
    return part.lower is None and part.upper is None and part.step is None


def _mask(one: Called, update: Update, count: Callable[[int], str | None]) -> str | None:
    """Where the index points, as a comparison along each axis that it restricts."""
    parts: list[str] = []
    for axis, part in enumerate(update.index):
        if is_whole(part):
            continue
        compared = _compared(one, part, axis, count(axis))
        if compared is None:
            return None
        parts += compared
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else " & ".join(f"({part})" for part in parts)


def _compared(one: Called, part: ast.expr, axis: int, count: str | None) -> list[str] | None:
    if count is None or isinstance(part, ast.Starred):
        return None
    size = one.shape[axis]
    if not isinstance(part, ast.Slice):
        if isinstance(part, (ast.List, ast.Compare)) or _is_none(part):
            return None
        number = integer(part)
        if number is not None and number < 0:
            return [f"{count} == {number + size}"]
        return [f"{count} == {parenthesised(one, part)}"]
    lower, upper = bound(part.lower, 0, size), bound(part.upper, size, size)
    if lower is None or upper is None or part.step is not None:
        return None
    tests = [f"{count} >= {lower}"] if lower > 0 else []
    return [*tests, f"{count} < {upper}"] if upper < size else tests or None


def bound(node: ast.expr | None, default: int, size: int) -> int | None:
    """A constant end of a slice, counted from the front; ``None`` where it is no constant."""
    if node is None:
        return default
    number = integer(node)
    return None if number is None else min(max(number + size if number < 0 else number, 0), size)


def _changed(one: Called, update: Update, name: str) -> str | None:
    value = one.text(update.value)
    operand = parenthesised(one, update.value)
    pair = {"min": one.numpy("minimum"), "max": one.numpy("maximum")}
    match update.method:
        case "set":
            return value
        case "add":
            return f"{name} + {operand}"
        case "multiply" | "mul":
            return f"{name} * {operand}"
        case "min" | "max" if (function := pair[update.method]) is not None:
            return f"{function}({name}, {value})"
    return None


def _is_number(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        return _is_number(node.operand)
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, float))


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
