"""Recovery for Mosaic TPU."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

from jax._src.lib.mlir import ir  # type: ignore[attr-defined]
from jax._src.lib.mlir.dialects import arith, builtin
from jax._src.pallas.mosaic import lowering

from pallas_magic.bridge.patches import replaced_attribute
from pallas_magic.bridge.zeros import zero_attribute


class _Everything:
    """Contains whatever it is asked for."""

    def __contains__(self, item: object) -> bool:
        return True


class TpuBackend:
    """How Mosaic TPU lowers: a table of rules for each type of core."""

    walker = "jaxpr_subcomp"
    trusts_ending = False

    def is_late(self, error: BaseException) -> bool:
        return False

    def tables(self) -> Iterator[tuple[dict[Any, Any], Any]]:
        for kernel_type in lowering.lowering_rules:
            yield lowering.lowering_rules, kernel_type

    def patches(self) -> Iterator[AbstractContextManager[Any]]:
        # Equal equations share one cached lowering: only the first would be noted.
        yield replaced_attribute(lowering, "_uncacheable_primitives", _Everything())

    def stand_in(self, context: Any, aval: Any) -> Any:
        kind = context.aval_to_ir_type(aval)
        if isinstance(kind, ir.VectorType):
            element = ir.VectorType(kind).element_type
            zero = ir.DenseElementsAttr.get_splat(kind, zero_attribute(element))
            return _constant(kind, zero)
        if isinstance(kind, (ir.IntegerType, ir.FloatType, ir.IndexType)):
            return _constant(kind, zero_attribute(kind))
        return builtin.unrealized_conversion_cast([kind], [])

    def poison(self, context: Any) -> Any:
        kind = ir.IntegerType.get_signless(32)
        return _constant(kind, zero_attribute(kind))

    def is_follower(self, context: Any, primitive: Any, fed: bool) -> bool:
        return False


def _constant(kind: Any, value: Any) -> Any:
    # The stubs describe the generated builder, JAX ships one that takes (type, value).
    return arith.constant(kind, value)  # type: ignore[call-arg]
