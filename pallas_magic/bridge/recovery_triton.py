"""Recovery for Triton."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

from jax._src.pallas.triton import lowering
from jax._src.state.types import AbstractRef
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import arith

from pallas_magic.bridge.frames import exception_frames
from pallas_magic.bridge.patches import replaced_attribute
from pallas_magic.bridge.recovery import to_the_end
from pallas_magic.bridge.zeros import zero_attribute

_constant: Any = arith.constant  # its stub takes keywords only, unlike itself
_TABLE = "triton_lowering_rules"
_MODULE = "lower_jaxpr_to_triton_module"


class TritonBackend:
    """How Triton lowers: one table of rules, which lies in its module."""

    walker = "lower_jaxpr_to_triton_ir"
    trusts_ending = False

    def is_late(self, error: BaseException) -> bool:
        return all(frame.f_code.co_name != self.walker for frame in exception_frames(error))

    def tables(self) -> Iterator[tuple[dict[Any, Any], Any]]:
        yield vars(lowering), _TABLE

    def patches(self) -> Iterator[AbstractContextManager[Any]]:
        # What follows would write a module with stand-ins out.
        yield replaced_attribute(lowering, _MODULE, to_the_end(getattr(lowering, _MODULE)))

    def stand_in(self, context: Any, aval: Any) -> Any:
        kind = lowering._dtype_to_ir_type(aval.dtype)
        zero = zero_attribute(kind)
        if not aval.shape:
            return _constant(kind, zero)
        tensor = ir.RankedTensorType.get(aval.shape, kind)
        return _constant(tensor, ir.DenseElementsAttr.get_splat(tensor, zero))

    def poison(self, context: Any) -> Any:
        kind = ir.IntegerType.get_signless(32)
        return _constant(kind, zero_attribute(kind))

    def is_follower(self, context: Any, primitive: Any, fed: bool) -> bool:
        if any(isinstance(aval, AbstractRef) for aval in context.avals_in):
            return False  # a ref has its size by itself
        # What makes an array of a size that Triton does not take fails; so may all that takes it.
        sizes = [math.prod(aval.shape) for aval in context.avals_in]
        return any(size & (size - 1) for size in sizes)
