"""Which statements leave a region together, and whether before or after it."""

from __future__ import annotations

import ast
import dataclasses
from typing import Literal

from pallas_magic.failure import VectorAccess
from pallas_magic.rules._warp.regions import (
    Region,
    Unit,
    assigned,
    is_axis_index,
    is_empty,
    units,
    used,
)
from pallas_magic.source.document import Library
from pallas_magic.source.names import imports
from pallas_magic.source.syntax import end_of, start_of

Side = Literal["before", "after"]


@dataclasses.dataclass(frozen=True, eq=False)
class Move:
    """``moved`` leaves the region; ``kept`` is what the region still does then."""

    moved: tuple[Unit, ...]
    kept: tuple[Unit, ...]
    side: Side


def move_out(region: Region, vectors: tuple[VectorAccess, ...], sources: Library) -> Move | None:
    """All vector code of a region moved out of it; ``None`` where that would change it."""
    every = [unit for unit in units(region) if not is_empty(unit.statement)]
    filename = region.syntax.document.filename
    moved = {i for i, unit in enumerate(every) if _has_vectors(unit, vectors, filename)}
    found = [any(_has_vectors(unit, (one,), filename) for unit in every) for one in vectors]
    if not moved or not all(found):
        return None
    _close(every, moved)
    chosen = tuple(every[index] for index in sorted(moved))
    if any(used(unit.statement) & region.identifiers for unit in chosen):
        return None
    if any(_leaves(unit.statement) for unit in chosen):
        return None
    known = frozenset(imports(sources, region.syntax.document))
    side = _side(every, moved, known)
    if side is None:
        return None
    kept = tuple(
        unit
        for index, unit in enumerate(every)
        if index not in moved and not is_axis_index(unit.statement)
    )
    return Move(chosen, kept, side)


def _has_vectors(unit: Unit, vectors: tuple[VectorAccess, ...], filename: str) -> bool:
    """Whether a vector is moved by a statement, or by a function that it calls."""
    start, end = start_of(unit.statement), end_of(unit.statement)
    return any(
        place is not None and place.filename == filename and start <= (place.line, place.col) < end
        for vector in vectors
        for place in (*vector.access.stack, vector.access.place)
    )


def _close(every: list[Unit], moved: set[int]) -> None:
    """Add what the moved statements take names from, and what takes names from them."""
    count = -1
    while count != len(moved):
        count = len(moved)
        for index, unit in enumerate(every):
            if index in moved or is_axis_index(unit.statement):
                continue
            for other in list(moved):
                first, second = sorted((index, other))
                gives = assigned(every[first].statement)
                if gives & used(every[second].statement):
                    moved.add(index)


def _side(every: list[Unit], moved: set[int], imported: frozenset[str]) -> Side | None:
    """Where the moved statements can go without overtaking anything they share a name with."""
    kept = [index for index in range(len(every)) if index not in moved]

    def meets(index: int, other: int) -> bool:
        mine, theirs = every[index].statement, every[other].statement
        if is_axis_index(theirs):
            return False
        if _orders_others(theirs):
            return True
        shared = (used(mine) | assigned(mine)) & (used(theirs) | assigned(theirs))
        return bool(shared - imported)

    if not any(meets(index, other) for index in moved for other in kept if other < index):
        return "before"
    if not any(meets(index, other) for index in moved for other in kept if other > index):
        return "after"
    return None


def _orders_others(statement: ast.stmt) -> bool:
    """Whether a statement calls for an effect: a wait orders what it shares no name with."""
    return any(
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
        for node in ast.walk(statement)
    )


def _leaves(statement: ast.stmt) -> bool:
    """Whether a statement ends the function it stands in, or names it cannot reach outside."""
    kinds = (ast.Return, ast.Nonlocal, ast.Global, ast.Yield, ast.YieldFrom, ast.Await)
    return any(isinstance(node, kinds) for node in ast.walk(statement))
