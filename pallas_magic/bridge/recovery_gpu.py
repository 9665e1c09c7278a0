"""Recovery for Mosaic GPU."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from jax._src.pallas.mosaic_gpu import lowering
from jax.experimental.mosaic import gpu as mgpu
from jax.experimental.mosaic.gpu import utils as mgpu_utils
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import arith, vector

from pallas_magic.bridge.frames import exception_frames
from pallas_magic.bridge.limits import TimeLimitReached, time_limit
from pallas_magic.bridge.patches import replaced_attribute
from pallas_magic.bridge.recovery import RulesPassed, replaced_module_attribute, to_the_end
from pallas_magic.bridge.zeros import zero_attribute

INFERENCE_SECONDS = 1.0
_constant: Any = arith.constant  # its stub takes keywords only, unlike itself
_ACCESSES = ("get", "swap")
_AFTER_RULES = (
    ("jax.experimental.mosaic.gpu.core", "lower_mgpu_module"),
    ("jax.experimental.mosaic.gpu", "infer_layout"),
)


class GpuBackend:
    """How Mosaic GPU lowers: a table of rules for each pair of semantics.

    Layout inference and dialect lowering come after all rules and fail once.
    They get little time in the pass: where they fail they can take many seconds.
    """

    walker = "lower_jaxpr_to_mosaic_gpu"
    trusts_ending = True

    def is_late(self, error: BaseException) -> bool:
        return all(frame.f_code.co_name != self.walker for frame in exception_frames(error))

    def tables(self) -> Iterator[tuple[dict[Any, Any], Any]]:
        for semantics in lowering.mosaic_lowering_rules:
            yield lowering.mosaic_lowering_rules, semantics

    def patches(self) -> Iterator[AbstractContextManager[Any]]:
        # What follows works on a module with stand-ins: serializing one has crashed.
        end = to_the_end(lowering.lower_jaxpr_to_module)
        yield replaced_attribute(lowering, "lower_jaxpr_to_module", end)
        for module, name in _AFTER_RULES:
            original = getattr(importlib.import_module(module), name, None)
            if original is not None:
                yield replaced_module_attribute(module, name, _briefly(original))

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

    def is_follower(self, context: Any, primitive: Any, fed: bool) -> bool:
        lane = context.module_ctx.lowering_semantics == mgpu.LoweringSemantics.Lane
        return fed and lane and getattr(primitive, "name", "") not in _ACCESSES


def _briefly(original: Callable[..., Any]) -> Callable[..., Any]:
    """``original`` as the last thing of a pass, given up when it takes long."""

    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            with time_limit(INFERENCE_SECONDS):
                original(*args, **kwargs)
        except TimeLimitReached:
            raise RulesPassed from None
        raise RulesPassed

    return run


def _zero(kind: Any) -> Any:
    return _constant(kind, zero_attribute(kind))
