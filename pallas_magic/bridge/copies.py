"""Copies between refs on TPUs: what lies at their two ends."""

from __future__ import annotations

from typing import Any

from pallas_magic.bridge.kernels import Kernel
from pallas_magic.failure import Value

_COPIES = ("dma_start", "dma_wait")
_UNEVEN = "op DMA source and target"


def copied_ends(equation: Any) -> tuple[Value, ...]:
    """What a copy reads and what it fills, nothing for any other equation."""
    if equation.primitive.name not in _COPIES or "tree" not in equation.params:
        return ()
    parts = equation.params["tree"].unflatten([atom.aval for atom in equation.invars])
    ends = parts[:2]
    if not all(_is_static(one) for one in ends):
        return ()
    return tuple(Value(tuple(one.shape), str(one.dtype)) for one in ends)


def uneven_copies(error: BaseException, kernel: Kernel) -> list[tuple[Any, ...]]:
    """The paths to copies whose ends differ, none where ``error`` is about something else.

    MLIR gives no place for a copy that one of JAX's own functions makes.
    """
    if _UNEVEN not in str(error):
        return []
    return [path for path in kernel.path_of.values() if _is_uneven(copied_ends(path[-1]))]


def _is_static(end: Any) -> bool:
    return hasattr(end, "dtype") and all(isinstance(size, int) for size in end.shape)


def _is_uneven(ends: tuple[Value, ...]) -> bool:
    return len(ends) == 2 and ends[0] != ends[1]
