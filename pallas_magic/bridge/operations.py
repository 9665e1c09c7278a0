"""What an equation works on, told without JAX."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from jax._src.state.types import AbstractRef

from pallas_magic.bridge.frames import traceback_places
from pallas_magic.failure import Operation, Value


def operation_of(path: Sequence[Any]) -> Operation:
    """What the last equation of ``path`` works on, nothing where there is none."""
    if not path:
        return Operation()
    equation = path[-1]
    return Operation(
        inputs=tuple(_values(equation.invars)),
        outputs=tuple(_values(equation.outvars)),
        parameters=tuple(
            (name, value) for name, value in equation.params.items() if _is_plain(value)
        ),
        within=_within(path),
    )


def _within(path: Sequence[Any]) -> str:
    """The name of the innermost function of JAX that stands at a place of the user's."""
    for outer in reversed(path):
        if traceback_places(outer.source_info.traceback):
            return "" if outer is path[-1] else str(outer.params.get("name", "")).lstrip("_")
    return ""


def _values(atoms: Iterable[Any]) -> Iterator[Value]:
    for atom in atoms:
        aval = atom.aval
        if isinstance(aval, AbstractRef) or not hasattr(aval, "dtype"):
            continue
        if all(isinstance(size, int) for size in aval.shape):
            yield Value(tuple(aval.shape), str(aval.dtype))


def _is_plain(value: object) -> bool:
    if type(value) is tuple:
        return all(isinstance(one, int) for one in value)
    return isinstance(value, (bool, int, float, str))
