"""What is told without a compiler is what the compiler says, for each chip."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from pallas_magic.aot.outcome import Job
from pallas_magic.aot.stage import compile_jobs
from pallas_magic.bridge.capture import Recorder
from pallas_magic.bridge.devices import as_if_on
from pallas_magic.bridge.export import module_bytes
from pallas_magic.bridge.failures import find_failures
from pallas_magic.bridge.lowering import Lowered, lower
from pallas_magic.targets import TARGETS, Target

CHIPS = [target for target in TARGETS if target.family == "tpu"]
SIZE = (128, 128)
# Older compilers refuse what is in no way certain: every second row of a short type.
LOADS_PACKED_ROWS = jax.__version_info__ >= (0, 11)
HIGHEST = lax.Precision.HIGHEST


@dataclasses.dataclass(frozen=True)
class Asked:
    """A call and its operands; ``is_wide`` is made with 64-bit numbers."""

    name: str
    call: Callable[..., Any]
    operands: tuple[Any, ...]
    is_wide: bool = False

    def __str__(self) -> str:
        return self.name


def shape(sizes: tuple[int, ...], dtype: Any) -> Any:
    return jax.ShapeDtypeStruct(sizes, dtype)  # type: ignore[no-untyped-call]


def of_values(name: str, function: Callable[..., Any], *dtypes: str) -> Asked:
    """A kernel that stores what ``function`` makes of whole operands of these types."""

    def kernel(*refs: Any) -> None:
        *inputs, output = refs
        output[...] = function(*(ref[...] for ref in inputs))

    operands = tuple(shape(SIZE, dtype) for dtype in dtypes)
    out = jax.eval_shape(function, *operands)
    return Asked(f"{name} of {' and '.join(dtypes)}", pl.pallas_call(kernel, out), operands)


def product(total: str, precision: Any = None) -> Callable[..., Any]:
    def of(left: Any, right: Any) -> Any:
        return jnp.dot(left, right, precision=precision, preferred_element_type=total)

    return of


def indexed(name: str, kernel: Callable[..., None], dtype: str = "float32") -> Asked:
    """A kernel of a number in scalar memory and a block, on a grid of two steps."""
    call = pl.pallas_call(
        kernel,
        grid=(2,),
        in_specs=[
            pl.BlockSpec(memory_space=pltpu.SMEM),
            pl.BlockSpec(memory_space=pltpu.VMEM),
        ],
        out_specs=pl.BlockSpec(memory_space=pltpu.VMEM),
        out_shape=shape((32, 512), dtype),
    )
    return Asked(f"{name} of {dtype}", call, (shape((1,), jnp.int32), shape((32, 512), dtype)))


def stepped(index: Any, sizes: tuple[int, ...], dtype: str) -> Iterator[Asked]:
    """A load and a store of a part of a ref, in the ways that they are written."""
    part = np.empty(sizes)[index].shape

    def load(x_ref: Any, o_ref: Any) -> None:
        o_ref[...] = x_ref[index]

    def load_by_name(x_ref: Any, o_ref: Any) -> None:
        o_ref[...] = pltpu.load(x_ref.at[index])

    def store(x_ref: Any, o_ref: Any) -> None:
        o_ref[index] = x_ref[...]

    def store_by_name(x_ref: Any, o_ref: Any) -> None:
        pltpu.store(o_ref.at[index], x_ref[...])

    for kernel in (load, load_by_name, store, store_by_name):
        before, after = (part, sizes) if "store" in kernel.__name__ else (sizes, part)
        call = pl.pallas_call(kernel, out_shape=shape(after, dtype))
        name = f"{kernel.__name__} {index} of {dtype}{list(sizes)}"
        yield Asked(name, call, (shape(before, dtype),))


def walked(name: str, index_map: Callable[..., Any]) -> Asked:
    def kernel(x_ref: Any, o_ref: Any) -> None:
        o_ref[...] = x_ref[...]

    def call(x: Any) -> Any:
        rows = pl.BlockSpec((8, 128), index_map)
        return pl.pallas_call(
            kernel, grid=(4,), in_specs=[rows], out_specs=rows, out_shape=shape((32, 128), x.dtype)
        )(x)

    return Asked(name, call, (shape((32, 128), jnp.float32),), is_wide=True)


def store_column(n_ref: Any, x_ref: Any, o_ref: Any) -> None:
    o_ref[:, n_ref[0]] = x_ref[:, 0]


def store_column_of_step(n_ref: Any, x_ref: Any, o_ref: Any) -> None:
    o_ref[:, pl.program_id(0) + 1] = x_ref[:, 0]


def store_block(n_ref: Any, x_ref: Any, o_ref: Any) -> None:
    start = n_ref[0] * 128
    o_ref[:, pl.ds(start, 128)] = x_ref[:, pl.ds(start, 128)]


def store_each_column(n_ref: Any, x_ref: Any, o_ref: Any) -> None:
    def store(column: Any, _: Any) -> None:
        o_ref[:, column] = x_ref[:, column]

    lax.fori_loop(0, 4, store, None)


def store_row(n_ref: Any, x_ref: Any, o_ref: Any) -> None:
    o_ref[n_ref[0], :] = x_ref[0, :]


def load_unused(n_ref: Any, x_ref: Any, o_ref: Any) -> None:
    o_ref[...] = x_ref[...]
    _ = x_ref[:, n_ref[0]]


def load_rows_in_steps(n_ref: Any, x_ref: Any, o_ref: Any) -> None:
    o_ref[:8, :] = x_ref[pl.ds(n_ref[0], 8, stride=2), :]


def masked(name: str, mask: Callable[[Any], Any]) -> Asked:
    return of_values(name, lambda x: jnp.where(mask(x), x, 0.0), "float32")


def cases() -> Iterator[Asked]:
    yield masked("a row of bits made a column", lambda x: (jnp.arange(128) < 20)[:, None])
    yield masked("a row of bits", lambda x: (jnp.arange(128) < 20)[None, :])
    yield masked("a row of numbers made a column", lambda x: jnp.arange(128)[:, None] < 20)
    yield masked("bits of sums made a column", lambda x: (jnp.sum(x, axis=1) < 20)[:, None])
    for dtype in ("bfloat16", "int8", "float32", "float8_e5m2"):
        total = "int32" if dtype == "int8" else "float32"
        yield of_values("a precise product", product(total, HIGHEST), dtype, dtype)
        yield of_values("a product", product(total), dtype, dtype)
    yield of_values("a precise product", product("float32", HIGHEST), "float32", "bfloat16")
    yield of_values("sums in float32", product("float32"), "int8", "int8")
    yield of_values("sums in int32", product("int32"), "int32", "int32")
    yield of_values("mixed integers", _mixed, "int8", "int32")
    for dtype in ("int8", "uint8", "int4", "int16", "float8_e4m3fn", "bfloat16", "int32"):
        yield of_values("a sum", lax.add, dtype, dtype)
        yield of_values("the larger", lax.max, dtype, dtype)
        yield of_values("a number added", lambda x: x + jnp.asarray(3, x.dtype), dtype)
    yield of_values("what comes to nothing", lambda x, y: (x - x) + (y * 0) + y, "int8", "int8")
    yield of_values("a copy", lambda x: x, "float16")
    yield of_values("a copy", lambda x: x, "int8")
    yield of_values("a cast and back", _through_float16, "float32")
    for kernel in (store_column, store_column_of_step, store_block, store_each_column):
        yield indexed(kernel.__name__, kernel)
    yield indexed("load_unused", load_unused)
    for dtype in ("float32", "bfloat16", "int8"):
        yield indexed("store_row", store_row, dtype)
        yield indexed("load_rows_in_steps", load_rows_in_steps, dtype)
        yield from stepped(np.s_[:, 1::2], (32, 128), dtype)
        yield from stepped(np.s_[::2, :], (32, 256), dtype)
        if dtype == "float32" or LOADS_PACKED_ROWS:
            yield from stepped(np.s_[::2], (4, 32, 128), dtype)
        yield from stepped(np.s_[::2, 64:], (32, 128), dtype)
        yield from stepped(np.s_[::2], (256,), dtype)
        yield from stepped(np.s_[..., ::2], (2, 2, 16, 128), dtype)
    for dtype in ("int32", "uint32", "int16", "uint16", "uint8"):
        yield from stepped(np.s_[:, ::4], (32, 128), dtype)
        if dtype in ("int32", "uint32") or LOADS_PACKED_ROWS:
            yield from stepped(np.s_[1::2, :], (32, 64), dtype)
    yield walked("an index map with a number", lambda i: (i, 0))
    yield walked("an index map of 32 bits", lambda i: (i, jnp.int32(0)))


def _mixed(left: Any, right: Any) -> Any:
    dimensions = (((1,), (0,)), ((), ()))
    return lax.dot_general(left, right, dimensions, preferred_element_type=jnp.int32)


def _through_float16(x: Any) -> Any:
    return x.astype(jnp.float16).astype(jnp.float32)


def lowered_for(asked: Asked, chip: Target) -> tuple[bool, Lowered]:
    """Whether something is told against the call, and the call lowered."""
    recorder = Recorder()
    with jax.enable_x64(asked.is_wide), recorder.installed(), as_if_on(chip, True):
        jax.eval_shape(asked.call, *asked.operands)
    (call,) = recorder.calls
    lowered = lower(call, chip)
    assert lowered.error is None
    return bool(find_failures(call, lowered, chip, recorder.objects).failures), lowered


@pytest.mark.tpu_compiler
@pytest.mark.parametrize("asked", list(cases()), ids=str)
def test_what_is_told_is_what_the_compiler_says(asked: Asked) -> None:
    told, jobs = [], []
    for chip in CHIPS:
        is_refused, lowered = lowered_for(asked, chip)
        told.append((chip.name, "failed" if is_refused else "ok"))
        jobs.append(Job(asked.name, chip, module_bytes(lowered), 60.0))
    outcomes = ["ok" if one.status == "ok" else "failed" for one in compile_jobs(jobs)]
    assert [(name, said) for (name, _), said in zip(told, outcomes, strict=True)] == told
