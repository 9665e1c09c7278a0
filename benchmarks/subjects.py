"""The kernels that the benchmarks check: two of JAX's own and a long one of ours."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas.ops.tpu import flash_attention
from jax.experimental.pallas.ops.tpu.ragged_paged_attention import ragged_paged_attention

Subject = tuple[Callable[..., Any], tuple[jax.ShapeDtypeStruct, ...]]

SYNTHETIC_EQUATIONS = 2_000


def subjects() -> dict[str, Subject]:
    """A function and its arguments for each name; each makes Pallas calls for a TPU."""
    return {
        "flash attention": _flash_attention(),
        "ragged paged attention": _ragged_paged_attention(),
        f"{SYNTHETIC_EQUATIONS} equations": _synthetic(),
    }


def _flash_attention() -> Subject:
    heads = _struct(2, 8, 2048, 128)
    return functools.partial(flash_attention.flash_attention, causal=True), (heads,) * 3


def _ragged_paged_attention() -> Subject:
    function = functools.partial(
        ragged_paged_attention,
        sm_scale=0.1,
        num_kv_pages_per_block=8,
        num_queries_per_block=32,
        vmem_limit_bytes=64 << 20,
    )
    queries, pages = _struct(512, 32, 128), _struct(1000, 16, 16, 128)
    sizes = ((64,), (64, 128), (65,), (1,))
    return function, (queries, pages, *(_struct(*size, dtype=jnp.int32) for size in sizes))


def _synthetic() -> Subject:
    def kernel(x_ref: Any, o_ref: Any) -> None:
        x = x_ref[...]
        for step in range(SYNTHETIC_EQUATIONS // 2 - 1):
            x = x * 1.5 + float(step)
        o_ref[...] = x

    block = _struct(8, 128, dtype=jnp.float32)
    return lambda x: pl.pallas_call(kernel, out_shape=block)(x), (block,)


def _struct(*shape: int, dtype: Any = jnp.bfloat16) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, dtype)  # type: ignore[no-untyped-call]
