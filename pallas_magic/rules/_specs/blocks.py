"""Which blocks of an operand an index map goes through, as far as its text tells."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Sequence

from pallas_magic.failure import Window
from pallas_magic.rules._specs.texts import IndexMap


@dataclasses.dataclass(frozen=True)
class Step:
    """What an index map returns for one axis of the operand.

    ``parameter`` is the number of the parameter that it returns as it is,
    ``constant`` a number; neither is known for anything else.
    """

    parameter: int | None = None
    constant: int | None = None


def steps(index_map: IndexMap) -> list[Step] | None:
    """One step for each axis, ``None`` where the text is not that plain."""
    results = index_map.results
    if results is None or any(isinstance(one, ast.Starred) for one in results):
        return None
    names = [one.arg for one in index_map.parameters]
    return [_step(one, names) for one in results]


def block_counts(window: Window) -> list[int] | None:
    """How many blocks there are along each axis, ``None`` where that is not known."""
    if window.block is None:
        return [1] * len(window.array)
    if len(window.block) != len(window.array):
        return None
    sizes = [1 if size is None else size for size in window.block]
    if any(size < 1 for size in (*sizes, *window.array)):
        return None
    return [-(-whole // size) for whole, size in zip(window.array, sizes, strict=True)]


def covers(counts: Sequence[int], walked: Sequence[Step], grid: Sequence[int | None]) -> bool:
    """Whether every block of the operand is used, and no block beyond it."""
    return len(counts) == len(walked) and all(
        count == _reach(step, grid) for count, step in zip(counts, walked, strict=True)
    )


def _reach(step: Step, grid: Sequence[int | None]) -> int | None:
    """How many blocks a step goes through from the first on."""
    if step.constant is not None:
        return 1 if step.constant == 0 else None
    if step.parameter is not None and step.parameter < len(grid):
        return grid[step.parameter]
    return None


def _step(node: ast.expr, names: Sequence[str]) -> Step:
    if isinstance(node, ast.Name) and node.id in names:
        return Step(parameter=names.index(node.id))
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return Step(constant=node.value)
    return Step()
