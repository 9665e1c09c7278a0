"""Recovery for Mosaic GPU."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

from jax._src.lib.mlir import ir
from jax._src.lib.mlir.dialects import arith, vector
from jax._src.pallas.mosaic_gpu import core as gpu_core
from jax._src.pallas.mosaic_gpu import lowering
from jax.experimental.mosaic import gpu as mgpu
from jax.experimental.mosaic.gpu import utils as mgpu_utils

from pallas_magic.bridge.recovery import replaced_module_attribute

_ACCESSES = ("get", "swap")
_AFTER_RULES = (
    ("jax.experimental.mosaic.gpu.core", "lower_mgpu_module"),
    ("jax.experimental.mosaic.gpu", "infer_layout"),
)


class RulesPassed(Exception):
    """Every equation had its turn; what follows would work on stand-ins."""


class GpuBackend:
    """How Mosaic GPU lowers: a table of rules for each pair of semantics.

    The passes over the finished module (layout inference, dialect lowering)
    are left out: they see the kernel as one whole, so that a stand-in anywhere
    can make them fail, and failing takes them seconds.
    """

    walker = "lower_jaxpr_to_mosaic_gpu"

    def tables(self) -> Iterator[tuple[dict[Any, Any], Any]]:
        for semantics in lowering.mosaic_lowering_rules:
            yield lowering.mosaic_lowering_rules, semantics

    def patches(self) -> Iterator[AbstractContextManager[Any]]:
        for module, name in _AFTER_RULES:
            yield replaced_module_attribute(module, name, _stop)

    def stand_in(self, context: Any, aval: Any) -> Any:
        kind = mgpu_utils.dtype_to_ir_type(aval.dtype)
        zero = _zero(kind)
        if context.module_ctx.lowering_semantics == mgpu.LoweringSemantics.Lane:
            signed = mgpu_utils.is_signed(aval.dtype)
            return mgpu.FragmentedArray.splat(zero, aval.shape, is_signed=signed)
        if aval.shape:
            return vector.broadcast(ir.VectorType.get(aval.shape, kind), zero)
        return zero

    def poison(self, context: Any) -> Any:
        return _zero(ir.IntegerType.get_signless(32))

    def is_follower(self, context: Any, primitive: Any) -> bool:
        lane = context.module_ctx.lowering_semantics == mgpu.LoweringSemantics.Lane
        return lane and getattr(primitive, "name", "") not in _ACCESSES


def is_warp_context(context: Any) -> bool:
    """Whether a rule's context is that of a warp-level region."""
    semantics = context.module_ctx.primitive_semantics
    return bool(semantics == gpu_core.PrimitiveSemantics.Warp)


def _stop(*args: Any, **kwargs: Any) -> None:
    raise RulesPassed


def _zero(kind: Any) -> Any:
    if isinstance(kind, ir.FloatType):
        return arith.constant(kind, ir.FloatAttr.get(kind, 0.0))
    return arith.constant(kind, ir.IntegerAttr.get(kind, 0))
