"""Loads and stores of vectors at a place that no TPU compiler can prove to be aligned.

A vector register holds 8 rows of 128 lanes; rows of 16 or 8 bits lie in pairs or fours. A load
begins at any lane, or at any row of such a pair, only where the place is known when it is
compiled. Measured as :mod:`pallas_magic.bridge.refusals` says, for indices and slices of one to
three axes, whole or narrower than 128 lanes, in loads, stores and masked stores.
"""

from __future__ import annotations

from typing import Any

from pallas_magic.bridge.kernels import access_operands, is_variable, memory_space_word
from pallas_magic.bridge.reached import Reached

UNPROVEN = "cannot statically prove that index in dimension {axis} is a multiple of {multiple}"
_ACCESSES = ("get", "swap", "masked_load", "masked_swap", "load", "store")
_LANES = 128
_PACKED = {"bfloat16": 8, "int16": 8, "int8": 32}


def refused_index(one: Reached) -> str:
    """What the compiler says against a load or store, empty if that is not known."""
    equation = one.equation
    if equation.primitive.name not in _ACCESSES:
        return ""
    aval = equation.invars[0].aval
    transforms, _, _ = access_operands(equation)
    indices = getattr(transforms[0], "indices", ()) if len(transforms) == 1 else ()
    if memory_space_word(aval) not in ("", "vmem") or len(indices) != len(aval.shape):
        return ""
    last = len(indices) - 1
    if _may_be_anywhere(indices[last], one):
        return UNPROVEN.format(axis=last, multiple=_LANES)
    packed = _PACKED.get(str(aval.dtype))
    if packed and last > 0 and _may_be_anywhere(indices[last - 1], one):
        rows = aval.shape[last - 1]
        if isinstance(rows, int) and rows >= packed:
            return UNPROVEN.format(axis=last - 1, multiple=packed)
    return ""


def _may_be_anywhere(index: Any, one: Reached) -> bool:
    start = getattr(index, "start", index)
    return (
        getattr(index, "stride", 1) == 1 and is_variable(start) and (start in one.values.any_number)
    )
