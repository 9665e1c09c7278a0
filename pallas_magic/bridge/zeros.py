"""A zero of an MLIR type, for what stands in for a value."""

from __future__ import annotations

from typing import Any

from jaxlib.mlir import ir


def zero_attribute(kind: Any) -> Any:
    """0 as an attribute of ``kind``; raises ``TypeError`` where that is no number's type."""
    if isinstance(kind, ir.FloatType):
        return ir.FloatAttr.get(kind, 0.0)
    if not isinstance(kind, (ir.IntegerType, ir.IndexType)):
        # MLIR does not survive an integer attribute of another type.
        raise TypeError(f"no zero of type {kind}")
    return ir.IntegerAttr.get(kind, 0)
