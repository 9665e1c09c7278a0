"""Kernels that would be compiled for several devices at once, which Mosaic TPU refuses."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import jax

from pallas_magic.bridge.capture import Call
from pallas_magic.bridge.failures import error_as_it_is
from pallas_magic.bridge.objects import ObjectRecorder
from pallas_magic.failure import Failure
from pallas_magic.targets import Target

_TEXT = "Mosaic kernels cannot be automatically partitioned. Please wrap the call in a shard_map."


def devices_of(operands: Iterable[Any]) -> int:
    """How many devices the arrays among ``operands`` are spread over, by their shardings."""
    leaves = jax.tree_util.tree_leaves(operands)
    shardings: list[Any] = [getattr(leaf, "sharding", None) for leaf in leaves]
    sizes = [len(one.device_set) for one in shardings if hasattr(one, "device_set")]
    return max(sizes, default=1)


def partition_failure(call: Call, target: Target, objects: ObjectRecorder) -> Failure | None:
    """What JAX raises for ``call`` in a program for several devices, ``None`` where it does not.

    Source: ``_tpu_custom_call_lowering`` in ``jax/_src/tpu_custom_call.py`` (JAX 0.10.2 to
    0.12.0.1): under ``shard_map`` each device has a program of its own.
    """
    if target.family != "tpu" or call.mesh.manual_axes:
        return None
    failure = error_as_it_is(NotImplementedError(_TEXT), call, target, objects)
    place = call.around[-1] if call.around else call.applied
    return dataclasses.replace(
        failure,
        raised_in="jax.tpu_custom_call._tpu_custom_call_lowering",
        place=place,
        stack=call.around[:-1],
    )
