"""The likeliest culprit of a Mosaic GPU error that is about the kernel as a whole.

Under warpgroup semantics layouts are inferred for the finished kernel. Where
the solver finds no solution it names no operation, so the place is told from
what is known not to have a layout. Shared memory is counted for all of a
kernel's allocations at once: the largest stands for them.
"""

from __future__ import annotations

import math
from typing import Any

from pallas_magic.bridge.kernels import Kernel
from pallas_magic.failure import Ref

_LAYOUT_TEXTS = ("Failed to infer a possible set of layouts", "Layout inference failed")
_TENSOR_MEMORY_TEXT = "in_tmem_layouts"
_MEMORY_TEXT = "exceeds available shared memory"
_THREADS_OF_A_WARPGROUP = 128
_NO_LAYOUT_KNOWN = "ValueSite("


def is_layout_error(error: BaseException) -> bool:
    """Whether layout inference found no layouts for a kernel."""
    return any(text in str(error) for text in _LAYOUT_TEXTS)


def tensor_memory_path(error: BaseException, kernel: Kernel) -> tuple[Any, ...]:
    """The first plain access of tensor memory, where ``error`` is about one of them.

    Which of several JAX names changes from one lowering to the next.
    """
    if _TENSOR_MEMORY_TEXT not in str(error):
        return ()
    paths = kernel.path_of.values()
    return next((path for path in paths if _touches_tensor_memory(path[-1])), ())


def far_operand_path(error: BaseException, kernel: Kernel) -> tuple[Any, ...]:
    """The first matrix product of a ref in GMEM, where ``error`` is how Mosaic GPU fails on one.

    It asks for the layout of the ref, and has none (JAX 0.12.0.1 and before).
    """
    if not isinstance(error, KeyError) or not str(error).startswith(_NO_LAYOUT_KNOWN):
        return ()
    paths = kernel.path_of.values()
    return next((path for path in paths if _multiplies_far_ref(path[-1])), ())


def suspect_path(kernel: Kernel) -> tuple[Any, ...]:
    """The equations down to the likeliest culprit, empty where none stands out."""
    paths = list(kernel.path_of.values())
    for is_suspect in (_touches_tensor_memory, _is_uneven, _is_row_reduction, _takes_apart):
        for path in paths:
            if is_suspect(path[-1]):
                return path
    return ()


def largest_allocation(error: BaseException, kernel: Kernel) -> Ref | None:
    """The largest ref in shared memory, where ``error`` says that they do not fit."""
    if _MEMORY_TEXT not in str(error):
        return None
    shared = [ref for ref in kernel.refs if ref.memory_space == "smem"]
    return max(shared, key=_size, default=None)


def _size(ref: Ref) -> int:
    bits = int("".join(filter(str.isdigit, ref.dtype)) or 32)
    return math.prod(ref.shape) * bits


def _touches_tensor_memory(equation: Any) -> bool:
    if equation.primitive.name not in ("get", "swap"):
        return False
    return "tmem" in str(getattr(equation.invars[0].aval, "memory_space", "")).lower()


def _multiplies_far_ref(equation: Any) -> bool:
    if equation.primitive.name != "wgmma_ref":
        return False
    operands = equation.invars[1:3]
    return any("gmem" in str(getattr(one.aval, "memory_space", "")).lower() for one in operands)


def _is_uneven(equation: Any) -> bool:
    """Whether the value cannot be spread evenly over a warpgroup's threads."""
    if equation.primitive.name not in ("get", "swap"):
        return False
    shapes = [tuple(variable.aval.shape) for variable in equation.outvars]
    return any(shape and math.prod(shape) % _THREADS_OF_A_WARPGROUP for shape in shapes)


def _is_row_reduction(equation: Any) -> bool:
    """Whether a value with more than one axis is reduced along some of them."""
    if not equation.primitive.name.startswith("reduce_"):
        return False
    shape = equation.invars[0].aval.shape
    return len(shape) > 1 and 0 < len(equation.params.get("axes", ())) < len(shape)


def _takes_apart(equation: Any) -> bool:
    """Whether values are cut or put together, which only tiled layouts allow."""
    return equation.primitive.name in ("slice", "concatenate", "split")
