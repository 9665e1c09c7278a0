"""What an equation works on, told without JAX."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from jax._src.state.types import AbstractRef

from pallas_magic.bridge.copies import copied_ends
from pallas_magic.bridge.frames import traceback_places
from pallas_magic.bridge.ranges import operand_ranges
from pallas_magic.failure import Operation, Value


def operation_of(path: Sequence[Any], jaxpr: Any, grid: Sequence[int | None] = ()) -> Operation:
    """What the last equation of ``path`` works on, nothing where there is none.

    ``jaxpr`` is what the path begins in, and ``grid`` has the sizes that it runs over.
    """
    if not path:
        return Operation()
    equation = path[-1]
    return Operation(
        inputs=tuple(_values(equation.invars, operand_ranges(jaxpr, path, grid))),
        outputs=tuple(_values(equation.outvars)),
        parameters=tuple(
            (name, value) for name, value in equation.params.items() if _is_plain(value)
        ),
        within=_within(path),
        ends=copied_ends(equation),
    )


def _within(path: Sequence[Any]) -> str:
    """The name of the innermost function of JAX that stands at a place of the user's."""
    for outer in reversed(path):
        if traceback_places(outer.source_info.traceback):
            return "" if outer is path[-1] else str(outer.params.get("name", "")).lstrip("_")
    return ""


def _values(atoms: Iterable[Any], ranges: Iterable[tuple[int, int] | None] = ()) -> Iterator[Value]:
    for atom, known in itertools.zip_longest(atoms, ranges):
        aval = atom.aval
        if isinstance(aval, AbstractRef) or not hasattr(aval, "dtype"):
            continue
        if all(isinstance(size, int) for size in aval.shape):
            yield Value(tuple(aval.shape), str(aval.dtype), known)


def _is_plain(value: object) -> bool:
    if type(value) is tuple:
        return all(isinstance(one, int) for one in value)
    return isinstance(value, (bool, int, float, str))
