"""Which vectors of a kernel are rows of numbers, one in each lane.

The others of one axis, sums of rows for one, lie along the rows of a register.
"""

from __future__ import annotations

from typing import Any

from pallas_magic.bridge.kernels import access_operands, is_variable

_ELEMENTWISE = {
    "lt", "le", "gt", "ge", "eq", "ne", "and", "or", "xor", "not", "add", "sub", "mul",
    "convert_element_type", "select_n",
}  # fmt: skip


def lies_along_lanes(equation: Any, lanes: set[Any]) -> bool:
    """Whether the result of ``equation`` is a row of numbers; ``lanes`` are rows known before."""
    results = [getattr(one.aval, "shape", ()) for one in equation.outvars]
    shape: tuple[int, ...] = results[0] if results else ()
    if len(shape) != 1 or shape[0] == 1:
        return False
    name = equation.primitive.name
    if name in ("get", "load"):
        return _is_row(equation)
    if name in _ELEMENTWISE:
        return any(is_variable(atom) and atom in lanes for atom in equation.invars)
    return bool(name == "iota")


def _is_row(equation: Any) -> bool:
    """Whether a load takes its one axis from the last one of the ref."""
    transforms, _, _ = access_operands(equation)
    if not transforms:
        return len(equation.invars[0].aval.shape) == 1
    indices: Any = getattr(transforms[0], "indices", ()) if len(transforms) == 1 else ()
    return bool(indices) and hasattr(indices[-1], "size")
