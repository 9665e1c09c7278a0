"""The numbers that an index can be, read from a kernel's jaxpr."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax
from jax.experimental import pallas as pl

from pallas_magic.bridge.kernels import inner_jaxprs
from pallas_magic.bridge.ranges import Range, operand_ranges

Index = Callable[[Any], Any]


def _path_to(name: str, jaxpr: Any) -> tuple[Any, ...]:
    for equation in jaxpr.eqns:
        if equation.primitive.name == name:
            return (equation,)
        for inner in inner_jaxprs(equation):
            if path := _path_to(name, inner):
                return (equation, *path)
    return ()


def _range(kernel: Callable[..., None]) -> Range | None:
    """The range of the start of the one slice in ``kernel``, on a grid of 4 and 3."""

    def fn(x: Any, numbers: Any) -> Any:
        return pl.pallas_call(kernel, grid=(4, 3), out_shape=x[:8])(x, numbers)

    traced = jax.make_jaxpr(fn)(jnp.zeros((64, 128)), jnp.zeros(8, jnp.int32))
    jaxpr = traced.eqns[-1].params["jaxpr"]
    path = _path_to("dynamic_slice", jaxpr)
    assert path
    return operand_ranges(jaxpr, path, (4, 3))[1]


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (lambda n: pl.program_id(0), (0, 3)),
        (lambda n: pl.program_id(1) * 8 + 1, (1, 17)),
        (lambda n: 3 - pl.program_id(0), (0, 3)),
        (lambda n: pl.program_id(0) % 2, None),
        (lambda n: lax.rem(pl.program_id(0), 2), (0, 1)),
        (lambda n: lax.div(pl.program_id(0), 2), (0, 1)),
        (lambda n: pl.program_id(0) - 1, None),
        (lambda n: n, None),
        (lambda n: jnp.clip(n, 0, 5), (0, 5)),
        (lambda n: jnp.clip(n, -1, 5), None),
        (lambda n: jnp.maximum(n, 1) - 1, (0, 2**31 - 2)),
        (lambda n: jnp.where(n > 0, 1, 2), None),
        (lambda n: jnp.minimum(jnp.maximum(n, 2), 7), (2, 7)),
        (lambda n: pl.program_id(0) * 2**30, None),
    ],
)
def test_index_by_grid_and_numbers(index: Index, expected: Range | None) -> None:
    def kernel(x_ref: Any, numbers_ref: Any, o_ref: Any) -> None:
        o_ref[...] = lax.dynamic_slice_in_dim(x_ref[...], index(numbers_ref[0]), 8)

    assert _range(kernel) == expected


@pytest.mark.parametrize(
    ("first", "last", "index", "expected"),
    [
        (0, 4, lambda turn, sum_: turn * 8, (0, 24)),
        (2, 5, lambda turn, sum_: turn, (2, 4)),
        (0, 4, lambda turn, sum_: turn - 1, None),
        (0, 4, lambda turn, sum_: sum_, None),
    ],
)
def test_index_by_loop(
    first: int, last: int, index: Callable[[Any, Any], Any], expected: Range | None
) -> None:
    def kernel(x_ref: Any, numbers_ref: Any, o_ref: Any) -> None:
        x = x_ref[...]

        def turn(count: Any, sum_: Any) -> Any:
            o_ref[...] += lax.dynamic_slice_in_dim(x, index(count, sum_), 8)
            return sum_ * 2 + numbers_ref[0]

        lax.fori_loop(first, last, turn, jnp.int32(0))

    assert _range(kernel) == expected


def test_loop_without_known_end() -> None:
    def kernel(x_ref: Any, numbers_ref: Any, o_ref: Any) -> None:
        x = x_ref[...]

        def turn(count: Any, sum_: Any) -> Any:
            return sum_ + lax.dynamic_slice_in_dim(x, count, 8)

        o_ref[...] = lax.fori_loop(0, numbers_ref[0], turn, jnp.zeros((8, 128)))

    assert _range(kernel) is None
