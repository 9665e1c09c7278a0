"""Masks of one axis that lie along the lanes and are made a column.

A mask that comes from a row of numbers has a bit for each lane; one that comes from sums of
rows has a bit for each row, and can be made a column. Measured as
:mod:`pallas_magic.bridge.refusals` says, for 4 to 1024 elements; libtpu 0.0.50.1 crashes.
"""

from __future__ import annotations

from pallas_magic.bridge.kernels import is_variable
from pallas_magic.bridge.reached import Reached

RESHAPED = "infer-vector-layout: non-noop i1 reshape is unsupported"


def refused_mask(one: Reached) -> str:
    """What the compiler says against a mask that is made a column, empty if it is none."""
    equation = one.equation
    if equation.primitive.name not in ("reshape", "broadcast_in_dim"):
        return ""
    mask, result = equation.invars[0], equation.outvars[0].aval
    if not is_variable(mask) or mask not in one.values.lanes or str(mask.aval.dtype) != "bool":
        return ""
    count, shape = mask.aval.shape[0], tuple(result.shape)
    if equation.primitive.name == "reshape":
        return RESHAPED if shape == (count, 1) else ""
    is_column = tuple(equation.params["broadcast_dimensions"]) == (0,) and len(shape) == 2
    return RESHAPED if is_column else ""
