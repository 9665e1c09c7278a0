"""What Triton's compiler, or a launch, refuses although JAX lowers it, told without a compiler.

Compiled for A100, H100 and B200 by the Triton of XLA (under JAX 0.12.0.1): another number
of warps than a power of two ends the compiler, one below 1 and too large an array are refused,
and more warps than a block has threads for compile and cannot be launched.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from typing import Any

from pallas_magic.bridge.capture import Call
from pallas_magic.bridge.kernels import Kernel, access_operands
from pallas_magic.bridge.reached import reached

NOT_POSITIVE = "{name} is {value}, which is not positive"
NO_POWER_OF_TWO = "{name} is {value}, which is no power of two"
TOO_MANY_ELEMENTS = "Maximum allowed number of elements is {limit}, but this has the shape {shape}"
MASK_OF_NUMBERS = "a mask of bool is wanted, but this is {dtype}"
MOST_ELEMENTS = 1 << 20
_PARAMETERS = ("num_warps", "num_stages")
_ACCESSES = ("get", "load", "masked_load", "swap", "masked_swap")
# Lowered as bytes, two to one: their arrays have other shapes there.
_PACKED = ("int4", "uint4")


def refused_launch(call: Call) -> str:
    """What is wrong with the warps and stages that ``call`` asks for, "" if nothing is.

    A number of threads that no GPU has is not told here.
    """
    for name in _PARAMETERS:
        value = asked(call, name)
        if value is not None and value < 1:
            return NOT_POSITIVE.format(name=name, value=value)
    warps = asked(call, "num_warps")
    if warps is not None and warps & (warps - 1):
        return NO_POWER_OF_TWO.format(name="num_warps", value=warps)
    return ""


def asked(call: Call, name: str) -> int | None:
    """The whole number that ``call`` gives as a parameter of Triton, ``None`` if it gives none."""
    value: Any = getattr(call.params.get("compiler_params"), name, None)
    try:
        return operator.index(value)
    except TypeError:
        return None


def refused_accesses(call: Call, kernel: Kernel) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Each load and store that Triton refuses: what it says, and the path of the equation."""
    for one in reached(call.jaxprs[0]):
        equation = one.equation
        if equation.primitive.name not in _ACCESSES:
            continue
        if text := _refused_access(equation):
            yield text, kernel.path_of.get(id(equation), one.path)


def _refused_access(equation: Any) -> str:
    _, value, mask = access_operands(equation)
    moved = value.aval if value is not None else equation.outvars[0].aval
    if math.prod(moved.shape) > MOST_ELEMENTS and str(moved.dtype) not in _PACKED:
        return TOO_MANY_ELEMENTS.format(limit=MOST_ELEMENTS, shape=tuple(moved.shape))
    dtype = str(mask.aval.dtype) if mask is not None else "bool"
    return MASK_OF_NUMBERS.format(dtype=dtype) if dtype != "bool" else ""
