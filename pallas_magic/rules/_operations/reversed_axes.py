"""An axis reversed, `jnp.flip(x, axis=0)` or `x[::-1]`, by moves that a back end has."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pallas_magic.failure import Candidate
from pallas_magic.rules._operations.called import Called
from pallas_magic.rules._operations.lines import Edits, named

_LONGEST_CHAIN = 64
_LANES = 128


def flip_fixes(one: Called) -> Iterator[Candidate]:
    """For one reversed axis of a value of two axes."""
    operand, axes = _operand(one), one.operation.parameter("dimensions")
    if operand is None or not isinstance(axes, tuple) or len(axes) != 1 or len(one.shape) != 2:
        return
    axis, size = axes[0], one.shape[axes[0]]
    if axis == 0 and 1 < size <= _LONGEST_CHAIN and (edits := _chained(one, operand, size)):
        yield Candidate(f"put the {size} rows together in reverse", edits)
    if axis == 1 and size == _LANES and (edits := _taken_along(one, operand, size)):
        yield Candidate("take the lanes in reverse", edits)


def _operand(one: Called) -> ast.expr | None:
    if one.name in ("flip", "rev", "flipud", "fliplr"):
        return one.operand() or one.argument("m", 0)
    node = one.node
    if isinstance(node, ast.Subscript):
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if all(isinstance(part, ast.Slice) and not (part.lower or part.upper) for part in parts):
            return node.value
    return None


def _chained(one: Called, operand: ast.expr, size: int) -> Edits:
    concatenate = one.numpy("concatenate")
    if concatenate is None:
        return ()
    rows = f"[i : i + 1] for i in reversed(range({size}))"
    return named(one, operand, lambda x: f"{concatenate}([{x}{rows}])", "x", "value", "rows")


def _taken_along(one: Called, operand: ast.expr, size: int) -> Edits:
    take, count = one.numpy("take_along_axis"), one.counted("x.shape", 1)
    if take is None or count is None:
        return ()

    def use(x: str) -> str:
        return f"{take}({x}, {size - 1} - {one.counted(f'{x}.shape', 1)}, axis=1)"

    return named(one, operand, use, "x", "value", "rows")
