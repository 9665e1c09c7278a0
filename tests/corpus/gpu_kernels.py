"""Calls of the GPU kernels that come with JAX, none of which may be found at fault."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from jax.experimental.pallas.ops.gpu import (
    attention,
    blackwell_matmul_mgpu,
    decode_attention,
    hopper_matmul_mgpu,
    layer_norm,
    paged_attention,
    ragged_dot_mgpu,
    rms_norm,
    softmax,
)

from tests.corpus.subject import Subject, gradient, struct

H100, B200 = "gpu:h100", "gpu:b200"


def subjects() -> Iterator[Subject]:
    yield from _mosaic()
    yield from _triton()


def _mosaic() -> Iterator[Subject]:
    square = struct("f16", 2048, 2048)
    hopper = hopper_matmul_mgpu.TuningConfig(
        tile_m=128, tile_n=128, tile_k=64, max_concurrent_steps=4
    )
    yield Subject(
        "Hopper matmul",
        H100,
        lambda a, b: hopper_matmul_mgpu.matmul(a, b, None, hopper),
        (square, square),
    )
    blackwell = blackwell_matmul_mgpu.TuningConfig(
        tile_m=128, tile_n=128, tile_k=64, max_concurrent_steps=4, collective=True
    )
    yield Subject(
        "Blackwell matmul",
        B200,
        lambda a, b: blackwell_matmul_mgpu.matmul_kernel(a, b, blackwell),
        (square, square),
    )
    ragged = functools.partial(
        ragged_dot_mgpu.ragged_dot,
        block_m=64,
        block_n=128,
        block_k=64,
        max_concurrent_steps=4,
        grid_block_n=2,
    )
    yield Subject(
        "ragged dot",
        H100,
        lambda a, b, sizes: ragged(a, b, group_sizes=sizes),
        (struct("f16", 1024, 1024), struct("f16", 8, 1024, 1024), struct("i32", 8)),
    )


def _triton() -> Iterator[Subject]:
    heads = struct("f16", 2, 1024, 4, 64)
    causal = functools.partial(attention.mha, segment_ids=None, causal=True)
    yield Subject("Triton attention", H100, causal, (heads,) * 3)
    rows, weights = struct("f32", 2, 512, 1024), struct("f32", 1024)
    yield Subject("layer norm", H100, layer_norm.layer_norm, (rows, weights, weights))
    backward = gradient(layer_norm.layer_norm, 3)
    yield Subject("layer norm, backward", H100, backward, (rows, weights, weights))
    yield Subject("RMS norm", H100, rms_norm.rms_norm, (rows, weights, weights))
    yield Subject("softmax", H100, softmax.softmax, (struct("f32", 1024, 1000),))
    queries, keys = struct("f16", 4, 32, 128), struct("f16", 4, 2048, 128)
    yield Subject("decode attention", H100, decode_attention.mqa, (queries, keys, keys))
    pages = struct("f16", 8, 256, 16, 128)
    operands: tuple[Any, ...] = (queries, pages, pages, struct("i32", 4, 128), struct("i32", 4))
    yield Subject("Triton paged attention", H100, paged_attention.paged_attention, operands)
