"""What an index map returns at one step of the grid, worked out without JAX."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pallas_magic.bridge.kernels import inner_jaxprs, is_variable

_OPERATORS: Mapping[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "max": max,
    "min": min,
}
_CALLS = ("pjit", "jit", "closed_call")


def block_index(index_map: Any, step: Sequence[int]) -> tuple[int, ...] | None:
    """The index of the block at ``step``, ``None`` where that takes more than sums and products."""
    if index_map.consts:
        return None
    values = list(step) + [None] * (len(index_map.jaxpr.invars) - len(step))
    found = _evaluated(index_map.jaxpr, values)
    if found is None:
        return None
    known = [one for one in found if one is not None]
    return tuple(known) if len(known) == len(found) else None


def _evaluated(jaxpr: Any, given: Sequence[int | None]) -> list[int | None] | None:
    """The results of ``jaxpr``, each ``None`` that is not known; ``None`` if it does more."""
    known: dict[Any, int | None] = dict(zip(jaxpr.invars, given, strict=False))
    if jaxpr.constvars or len(known) != len(given):
        return None
    for equation in jaxpr.eqns:
        operands = [_value(atom, known) for atom in equation.invars]
        results = _applied(equation, operands)
        if results is None or len(results) != len(equation.outvars):
            return None
        known.update(zip(equation.outvars, results, strict=True))
    return [_value(atom, known) for atom in jaxpr.outvars]


def _applied(equation: Any, operands: Sequence[int | None]) -> list[int | None] | None:
    name = equation.primitive.name
    if name in _CALLS:
        inner = list(inner_jaxprs(equation))
        return _evaluated(inner[0], operands) if len(inner) == 1 else None
    if name == "convert_element_type":
        return [operands[0]]
    if name not in _OPERATORS:
        return [None] * len(equation.outvars)
    if len(operands) != 2 or operands[0] is None or operands[1] is None:
        return [None]
    return [_OPERATORS[name](operands[0], operands[1])]


def _value(atom: Any, known: Mapping[Any, int | None]) -> int | None:
    if is_variable(atom):
        return known.get(atom)
    value = getattr(atom, "val", None)
    try:
        whole = int(value) if value is not None else None
    except (TypeError, ValueError):
        return None
    return whole if whole == value else None
