"""Running sums, products and extremes, in as many steps as the length has binary digits."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from pallas_magic.failure import Candidate
from pallas_magic.rules._operations.called import Called, axis_of
from pallas_magic.rules._operations.lines import (
    before,
    built_up,
    free_name,
    statement_of,
    step_of,
)

_LONGEST = 4096
_LONGEST_PRODUCT = 1024


@dataclasses.dataclass(frozen=True)
class _Running:
    """How two parts are put together; ``rounds`` says that floats depend on their order."""

    what: str
    name: str
    rounds: bool


_KINDS = {
    "cumsum": _Running("running sum", "total", True),
    "cumprod": _Running("running product", "product", True),
    "cummax": _Running("running maximum", "largest", False),
    "cummin": _Running("running minimum", "smallest", False),
}


def running_fixes(one: Called) -> Iterator[Candidate]:
    """Each element combined with the one 1, 2, 4, ... places before it, or behind."""
    kind, axis = _KINDS[one.failure.primitive], one.operation.parameter("axis")
    operand, where, roll = one.operand(), one.numpy("where"), one.numpy("roll")
    if operand is None or where is None or roll is None or not isinstance(axis, int):
        return
    backwards = one.operation.parameter("reverse") is True
    if one.name != one.failure.primitive or not _keeps_shape(one, axis):
        return
    if not one.has_only(2, "axis", *(("reverse",) if backwards else ())):
        return
    steps = [2**power for power in range(16) if 2**power < one.shape[axis]]
    if not steps or one.shape[axis] > _LONGEST or one.counted("x.shape", axis) is None:
        return
    counter = free_name(one, "step", "shift", "distance")
    place = free_name(one, "place", "position")
    shifted = free_name(one, "shifted", "rolled")

    def lines(name: str) -> list[str]:
        size = one.shape[axis]
        inside = f"{place} < {size} - {counter}" if backwards else f"{place} >= {counter}"
        by = f"{size} - {counter}" if backwards else counter
        combined = _combined(one, name, inside, shifted)
        return [
            f"{place} = {one.counted(f'{name}.shape', axis)}",
            f"for {counter} in ({', '.join(map(str, steps))}{',' if len(steps) == 1 else ''}):",
            f"{step_of(one)}{shifted} = {roll}({name}, {by}, axis={axis})",
            f"{step_of(one)}{name} = {combined}",
        ]

    rounds = kind.rounds and one.is_float
    order = "; adds in another order" if rounds and one.failure.primitive == "cumsum" else ""
    order = "; multiplies in another order" if rounds and not order else order
    if edits := built_up(one, operand, lines, str, kind.name, "running"):
        title = f"work the {kind.what} out in {len(steps)} steps{order}"
        yield Candidate(title, edits, exact=not rounds)
    yield from _triangular(one, axis, backwards)


def _triangular(one: Called, axis: int, backwards: bool) -> Iterator[Candidate]:
    """A running sum along the lanes as a product with a triangle of ones."""
    operand, dot, highest = one.operand(), one.numpy("dot"), one.lax("Precision.HIGHEST")
    if operand is None or one.failure.primitive != "cumsum" or one.dtype != "float32":
        return
    size = one.shape[axis]
    if dot is None or highest is None or len(one.shape) != 2 or size > _LONGEST_PRODUCT:
        return
    square = f"({size}, {size})"
    rows, columns = one.counted(square, 0), one.counted(square, 1)
    float32, statement = one.numpy("float32"), statement_of(one)
    if rows is None or columns is None or float32 is None or statement is None:
        return
    row, column = free_name(one, "row", "rows"), free_name(one, "column", "columns")
    is_upper = bool(axis) != backwards
    ones = f"({row} {'<=' if is_upper else '>='} {column}).astype({float32})"
    pair = f"{one.text(operand)}, {ones}" if axis else f"{ones}, {one.text(operand)}"
    lines = [f"{row} = {rows}", f"{column} = {columns}"]
    if edits := before(one, statement, lines, f"{dot}({pair}, precision={highest})"):
        title = "multiply by a triangle of ones on the matrix unit; adds in another order"
        yield Candidate(title, edits, exact=False)


def _keeps_shape(one: Called, axis: int) -> bool:
    """Whether it runs along the axis that the text names, of the operand as it is."""
    outputs = one.operation.outputs
    same = bool(outputs) and outputs[0].shape == one.shape and outputs[0].dtype == one.dtype
    given = one.argument("axis", 1)
    default = 0 if one.function.startswith("jax.lax.") or len(one.shape) == 1 else None
    return same and axis_of(one, given, default) == axis


def _combined(one: Called, name: str, inside: str, shifted: str) -> str:
    where = one.numpy("where")
    match one.failure.primitive:
        case "cumsum":
            return f"{name} + {where}({inside}, {shifted}, 0)"
        case "cumprod":
            return f"{name} * {where}({inside}, {shifted}, 1)"
        case "cummax":
            return f"{one.numpy('maximum')}({name}, {where}({inside}, {shifted}, {name}))"
        case _:
            return f"{one.numpy('minimum')}({name}, {where}({inside}, {shifted}, {name}))"
