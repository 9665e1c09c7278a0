"""Calls of the TPU kernels that come with JAX, none of which may be found at fault."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Any

import jax.numpy as jnp
from jax.experimental.pallas.ops.tpu import example_kernel, flash_attention, matmul
from jax.experimental.pallas.ops.tpu.megablox import gmm
from jax.experimental.pallas.ops.tpu.paged_attention import paged_attention
from jax.experimental.pallas.ops.tpu.ragged_paged_attention import ragged_paged_attention
from jax.experimental.pallas.ops.tpu.random import philox, threefry
from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_kernel as splash
from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_mask as masks

from tests.corpus.subject import Subject, gradient, struct

LENGTH = 1024
HEADS = 4


def subjects() -> Iterator[Subject]:
    yield from _attention()
    yield from _paged()
    yield from _products()
    yield from _random_bits()
    yield Subject("double", "tpu", example_kernel.double, (struct("f32", 1024, 1024),))


def _attention() -> Iterator[Subject]:
    heads = struct("bf16", 2, HEADS, LENGTH, 128)
    causal = functools.partial(flash_attention.flash_attention, causal=True)
    for target in ("tpu:v4", "tpu:v5e", "tpu:v5p", "tpu:v6e", "tpu:v7x"):
        yield Subject("flash attention", target, causal, (heads,) * 3)
    yield Subject("flash attention, backward", "tpu", gradient(causal, 3), (heads,) * 3)
    bias = struct("bf16", 2, HEADS, LENGTH, LENGTH)
    biased = flash_attention.flash_attention
    yield Subject("flash attention, bias", "tpu", biased, (*(heads,) * 3, bias))
    operands = (struct("bf16", HEADS, LENGTH, 128),) * 3
    for name, mask in (
        ("causal", masks.CausalMask((LENGTH, LENGTH))),
        ("local", masks.LocalMask((LENGTH, LENGTH), (256, 0), 0)),
        ("full", masks.FullMask((LENGTH, LENGTH))),
    ):
        yield Subject(f"splash attention, {name}", "tpu", _splash(mask), operands)
    backward = gradient(_splash(masks.CausalMask((LENGTH, LENGTH))), 3)
    yield Subject("splash attention, backward", "tpu", backward, operands)


def _splash(mask: Any) -> Callable[..., Any]:
    def attention(q: Any, k: Any, v: Any) -> Any:
        names = (field.name for field in dataclasses.fields(splash.BlockSizes))
        sizes: dict[str, Any] = {name: 256 for name in names if name.startswith("block_")}
        kernel = splash.make_splash_mha(
            masks.MultiHeadMask([mask] * HEADS),
            block_sizes=splash.BlockSizes(**sizes),
            head_shards=1,
            q_seq_shards=1,
        )
        return kernel(q, k, v)

    return attention


def _paged() -> Iterator[Subject]:
    paged = functools.partial(paged_attention, pages_per_compute_block=4)
    pages = struct("bf16", 8, 256, 16, 128)
    lengths, table = struct("i32", 8), struct("i32", 8, 64)
    yield Subject(
        "paged attention",
        "tpu:v5e,v6e",
        paged,
        (struct("bf16", 8, 16, 128), pages, pages, lengths, table),
    )
    ragged = functools.partial(
        ragged_paged_attention,
        sm_scale=0.1,
        num_kv_pages_per_block=8,
        num_queries_per_block=32,
        vmem_limit_bytes=64 << 20,
    )
    operands = (
        struct("bf16", 512, 32, 128),
        struct("bf16", 1000, 16, 16, 128),
        *(struct("i32", 64), struct("i32", 64, 128), struct("i32", 65), struct("i32", 1)),
    )
    yield Subject("ragged paged attention", "tpu:v5e,v6e", ragged, operands)


def _products() -> Iterator[Subject]:
    square = struct("bf16", 2048, 2048)
    product = functools.partial(matmul.matmul, block_shape=(512, 512), block_k=512)
    yield Subject("matmul", "tpu", product, (square, square))
    grouped = functools.partial(gmm, preferred_element_type=jnp.float32, tiling=(128, 512, 512))
    operands = (struct("bf16", 1024, 1024), struct("bf16", 8, 1024, 1024), struct("i32", 8))
    yield Subject("grouped matmul", "tpu", grouped, operands)
    yield Subject("grouped matmul, backward", "tpu", gradient(grouped, 2), operands)


def _random_bits() -> Iterator[Subject]:
    for name, generator in (
        ("philox", philox.plphilox_prng_impl),
        ("threefry", threefry.plthreefry_prng_impl),
    ):
        bits = functools.partial(generator.random_bits, bit_width=32, shape=(1024, 1024))
        key = struct("u32", *generator.key_shape)
        yield Subject(name, "tpu", bits, (key,))
