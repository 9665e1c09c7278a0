"""Blocks that a TPU can hold, and the smallest ones that serve in the place of others.

What one step of the grid does may be done for more rows at once: along one axis
of the grid all blocks grow by the same measure, and the grid shrinks by it.
"""

from __future__ import annotations

import ast
import dataclasses
import math
from collections.abc import Iterator, Sequence

from pallas_magic.failure import Failure, Window
from pallas_magic.rules._specs.blocks import Step, steps
from pallas_magic.rules._specs.texts import SpecText, spec_texts
from pallas_magic.source.document import Library

SUBLANES, LANES = 8, 128
_LARGEST_BYTES = 8 << 20
_BITS = {"bfloat16": 16, "bool": 32}


@dataclasses.dataclass(frozen=True, eq=False)
class Cut:
    """An operand that is cut into blocks; ``walked`` has a step for each of its axes."""

    spec: SpecText
    window: Window
    walked: list[Step]

    @property
    def sizes(self) -> list[int]:
        return [1 if size is None else size for size in self.window.block or self.window.array]

    @property
    def bits(self) -> int:
        return bits_of(self.spec.ref.dtype)


@dataclasses.dataclass(frozen=True)
class Growth:
    """New sizes of the blocks along one axis of the grid, and of that axis itself.

    ``sizes`` has, for each operand that is walked along it, its number among the
    cuts, its axis and the new size there.
    """

    axis: int
    grid_size: int
    sizes: tuple[tuple[int, int, int], ...]


def cuts_of(failure: Failure, sources: Library) -> list[Cut] | None:
    """All operands that are cut into blocks, ``None`` if one is cut in a way not understood."""
    found = []
    for spec in spec_texts(failure, sources):
        window = spec.ref.window
        if window is None or window.block is None:
            if window is not None and window.given != "nothing":
                return None
            continue
        if len(window.block) != len(window.array) or -1 in window.array:
            return None
        walked = _walked(spec, window)
        if walked is None or len(walked) != len(window.array):
            return None
        found.append(Cut(spec, window, walked))
    known = {one.spec.ref.position for one in found}
    cut = [ref for ref in failure.refs if ref.window is not None and ref.window.block is not None]
    return found if all(ref.position in known for ref in cut) else None


def growths(cuts: Sequence[Cut], grid: Sequence[int | None]) -> list[Growth] | None:
    """What must grow so that every block is one that a TPU can hold; ``None`` if that fails."""
    sizes = [one.sizes for one in cuts]
    found: list[Growth] = []
    for axis, steps_of_grid in enumerate(grid):
        places = [
            (number, at)
            for number, one in enumerate(cuts)
            for at, step in enumerate(one.walked)
            if step.parameter == axis
        ]
        if steps_of_grid is None or all(
            is_legal_at(one, sizes[number], at)
            for number, one in enumerate(cuts)
            for other, at in places
            if other == number
        ):
            continue
        growth = _growth(cuts, sizes, axis, places, steps_of_grid)
        if growth is None:
            return None
        found.append(growth)
        for number, at, size in growth.sizes:
            sizes[number][at] = size
    legal = all(is_legal(one, sizes[number]) for number, one in enumerate(cuts))
    return found if found and legal and _fits(cuts, sizes) else None


def is_legal(one: Cut, sizes: Sequence[int]) -> bool:
    """Whether a block of these sizes can be held, whatever its first axes are."""
    return all(is_legal_at(one, sizes, at) for at in range(len(sizes)))


def is_legal_at(one: Cut, sizes: Sequence[int], at: int) -> bool:
    """Whether the size of one axis allows the block."""
    size, whole, rank = sizes[at], one.window.array[at], len(sizes)
    if size == whole or at < rank - 2:
        return True
    if rank == 1:
        return _is_legal_row(size, one.bits)
    return size % (LANES if at == rank - 1 else SUBLANES) == 0


def bits_of(dtype: str) -> int:
    """How many bits one element takes in a register; a bool takes a word."""
    if dtype in _BITS:
        return _BITS[dtype]
    digits = "".join(char for char in dtype.split("_")[0] if char.isdigit())
    return int(digits) if digits else 32


def least_row(bits: int) -> int:
    """The smallest power of two that a block of one axis may have."""
    return LANES * max(1, 32 // bits)


def _is_legal_row(size: int, bits: int) -> bool:
    is_power = size & (size - 1) == 0
    return size % (SUBLANES * LANES) == 0 or (size >= least_row(bits) and is_power)


def _walked(spec: SpecText, window: Window) -> list[Step] | None:
    if spec.index_map is not None:
        return steps(spec.index_map)
    return None if window.has_index_map else [Step(constant=0)] * len(window.array)


def _growth(
    cuts: Sequence[Cut],
    sizes: Sequence[Sequence[int]],
    axis: int,
    places: Sequence[tuple[int, int]],
    steps_of_grid: int,
) -> Growth | None:
    """The least growth along one axis of the grid that makes all blocks along it legal."""
    if not places or any(_uses_otherwise(one, axis) for one in cuts):
        return None
    if any((cuts[number].window.block or ())[at] is None for number, at in places):
        return None
    olds = [sizes[number][at] for number, at in places]
    wholes = [cuts[number].window.array[at] for number, at in places]
    if len(set(wholes)) > 1 and len(set(olds)) == 1:
        return None
    for new_sizes in _candidates(olds, wholes, steps_of_grid):
        changed = [list(one) for one in sizes]
        for (number, at), size in zip(places, new_sizes, strict=True):
            changed[number][at] = size
        if all(is_legal_at(cuts[number], changed[number], at) for number, at in places):
            steps_now = {-(-whole // size) for whole, size in zip(wholes, new_sizes, strict=True)}
            if len(steps_now) == 1:
                grown = zip(places, new_sizes, strict=True)
                return Growth(axis, steps_now.pop(), tuple((*place, size) for place, size in grown))
    return None


def _candidates(
    olds: Sequence[int], wholes: Sequence[int], steps_of_grid: int
) -> Iterator[list[int]]:
    """New sizes for the blocks along one axis of the grid, the smallest first."""
    if any(-(-whole // old) != steps_of_grid for whole, old in zip(wholes, olds, strict=True)):
        return
    if len(set(olds)) == 1:
        whole = wholes[0]
        powers = [1 << power for power in range(3, 31)]
        wanted = {*powers, *range(SUBLANES, 64 * SUBLANES, SUBLANES), whole}
        yield from ([size] * len(olds) for size in sorted(wanted) if olds[0] < size <= whole)
        return
    for factor in range(2, steps_of_grid + 1):
        yield [min(old * factor, whole) for old, whole in zip(olds, wholes, strict=True)]


def _uses_otherwise(one: Cut, axis: int) -> bool:
    """Whether an index map does more with an axis of the grid than to return it once."""
    index_map = one.spec.index_map
    if index_map is None:
        return False
    name = index_map.parameters[axis].arg if axis < len(index_map.parameters) else ""
    uses = sum(isinstance(node, ast.Name) and node.id == name for node in ast.walk(index_map.node))
    return uses != sum(step.parameter == axis for step in one.walked)


def _fits(cuts: Sequence[Cut], sizes: Sequence[Sequence[int]]) -> bool:
    taken = sum(
        math.prod(own) * max(one.bits, 8) // 8 for one, own in zip(cuts, sizes, strict=True)
    )
    return 2 * taken <= _LARGEST_BYTES
