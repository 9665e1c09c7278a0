"""Kernels to compile, lowered here."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

from pallas_magic.aot.outcome import Job
from pallas_magic.bridge.capture import Recorder
from pallas_magic.bridge.devices import target_mesh
from pallas_magic.bridge.export import module_bytes
from pallas_magic.bridge.lowering import lower
from pallas_magic.targets import Target, parse_targets

SECONDS = 120.0
# What keeps a compiler busy for half a minute, of `many_tiles`.
BUSY = (256, 1024)


def add_one(x_ref: Any, o_ref: Any) -> None:
    o_ref[...] = x_ref[...] + 1.0


def halves(x_ref: Any, o_ref: Any) -> None:
    o_ref[...] = x_ref[...].astype(jnp.float16).astype(jnp.float32)


def many_tiles(x_ref: Any, o_ref: Any) -> None:
    """Much to unroll: every tile is an operation of its own."""
    x = x_ref[...]
    for _ in range(4):
        x = jnp.tanh(jnp.sin(x))
    o_ref[...] = x


def job(
    kernel: Any, target: str = "tpu:v5e", shape: tuple[int, ...] = (8, 128), limit: float = SECONDS
) -> Job:
    """``kernel`` of one array in and one out, lowered for ``target``."""
    (chip,) = parse_targets(target)
    array: Any = jax.eval_shape(lambda: jnp.zeros(shape))
    return Job(kernel.__name__, chip, _module(kernel, array, chip), limit)


def _module(kernel: Any, array: Any, chip: Target) -> bytes:
    recorder = Recorder()
    with recorder.installed(), target_mesh(chip):
        jax.eval_shape(pl.pallas_call(kernel, out_shape=array), array)
    (call,) = recorder.calls
    lowered = lower(call, chip)
    assert lowered.error is None
    return module_bytes(lowered)
