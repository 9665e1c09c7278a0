"""Memory that is lacking for certain, told without a compiler and as compilers tell it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

import pallas_magic
from pallas_magic.aot.outcome import Job
from pallas_magic.aot.pool import pool
from pallas_magic.bridge.capture import Call, Recorder
from pallas_magic.bridge.devices import target_mesh
from pallas_magic.bridge.export import module_bytes
from pallas_magic.bridge.kernels import read_kernel
from pallas_magic.bridge.lowering import lower
from pallas_magic.bridge.operands import kernel_refs
from pallas_magic.bridge.shortage import certain_shortage
from pallas_magic.bridge.spec_memory import memory_limit
from pallas_magic.failure import MemoryUse
from pallas_magic.targets import Target, parse_targets

MEBIBYTE = 2**20
CHIPS = ("tpu:v4", "tpu:v5e", "tpu:v5p", "tpu:v6e", "tpu:v7x")
_struct: Any = jax.ShapeDtypeStruct
SMALL = _struct((8, 128), jnp.float32)
Make = Callable[[int], tuple[Any, tuple[Any, ...]]]


def rows(size: float) -> tuple[int, int]:
    """The shape of a float32 array of ``size`` bytes."""
    return int(size) // 4096 // 64 * 64, 1024


def moving(
    part: float,
    grid: tuple[int, ...] = (4,),
    index: Any = lambda i: (i, 0),
    dtype: Any = jnp.float32,
    asked: float = 1.0,
    **options: Any,
) -> Make:
    """A call whose one block is ``part`` of the chip's memory."""

    def corner(x_ref: Any, o_ref: Any) -> None:
        o_ref[...] = x_ref[:8, :128].astype(jnp.float32)

    def make(chip: int) -> tuple[Any, tuple[Any, ...]]:
        height, width = rows(part * chip)
        block = pl.BlockSpec((height, width), index, **options)
        fn = pl.pallas_call(
            corner,
            out_shape=SMALL,
            grid=grid,
            in_specs=[block],
            out_specs=pl.BlockSpec((8, 128), lambda *_: (0, 0)),
            compiler_params=pltpu.CompilerParams(vmem_limit_bytes=int(asked * chip)),
        )
        return fn, (_struct((height * 4, width), dtype),)

    return make


def without_grid(*parts: float, scratch: tuple[float, ...] = ()) -> Make:
    """A call without a grid whose operands and scratch buffers are ``parts`` of the memory."""

    def corners(*refs: Any) -> None:
        *read, o_ref = refs[: len(parts) + 1]
        o_ref[...] = jnp.zeros((8, 128))
        for ref in read:
            o_ref[...] += ref[:8, :128]
        for ref in refs[len(parts) + 1 :]:
            ref[...] = jnp.zeros_like(ref)
            o_ref[...] += ref[:8, :128]

    def make(chip: int) -> tuple[Any, tuple[Any, ...]]:
        fn = pl.pallas_call(
            corners,
            out_shape=SMALL,
            scratch_shapes=[pltpu.VMEM(rows(part * chip), jnp.float32) for part in scratch],
            compiler_params=pltpu.CompilerParams(vmem_limit_bytes=chip),
        )
        return fn, tuple(_struct(rows(part * chip), jnp.float32) for part in parts)

    return make


SHORT: dict[str, Make] = {
    "two copies of a moving block": moving(0.51),
    "one block": moving(1.02, index=lambda i: (0, 0)),
    "an outer axis": moving(0.51, grid=(3, 2), index=lambda i, j: (i, 0)),
    "more than was asked for": moving(0.3, asked=0.5),
    "operands without a grid": without_grid(0.51, 0.5),
    "a scratch buffer": without_grid(scratch=(1.02,)),
}
FITS: dict[str, Make] = {
    "two copies of a moving block": moving(0.49),
    "a block that stays": moving(0.9, index=lambda i: (0, 0)),
    "a block that stays by calculation": moving(0.9, index=lambda i: (i - i, 0)),
    "an axis of one": moving(0.9, grid=(1, 4), index=lambda i, j: (i, 0)),
    "one copy as asked": moving(0.9, pipeline_mode=pl.Buffered(1)),
    "two elements in a byte": moving(3.9, dtype=jnp.int4),
    "operands without a grid": without_grid(0.51, 0.45),
    "two scratch buffers": without_grid(scratch=(0.51, 0.51)),
    "a scratch buffer over an operand": without_grid(0.51, scratch=(0.51,)),
}


def traced(make: Make, chip: str) -> tuple[Call, Target, Recorder]:
    (target,) = parse_targets(chip)
    fn, arguments = make(memory_limit(target, "vmem"))
    recorder = Recorder()
    with recorder.installed(), target_mesh(target):
        jax.eval_shape(fn, *arguments)
    (call,) = recorder.calls
    return call, target, recorder


def found(make: Make, chip: str) -> MemoryUse | None:
    call, target, recorder = traced(make, chip)
    kernel = read_kernel(call.jaxprs[0], kernel_refs(call, recorder.objects))
    return certain_shortage(call, kernel, target)


def compiled(make: Make, chip: str) -> str:
    call, target, _ = traced(make, chip)
    (outcome,) = pool().run([Job(call.name, target, module_bytes(lower(call, target)), 120.0)])
    return outcome.status


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("make", SHORT.values(), ids=SHORT)
def test_what_lacks_memory_is_told(make: Make, chip: str) -> None:
    memory = found(make, chip)
    assert memory is not None
    assert max(memory.used, memory.buffers[0].size) > memory.limit


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("make", FITS.values(), ids=FITS)
def test_what_may_fit_is_left_to_the_compiler(make: Make, chip: str) -> None:
    assert found(make, chip) is None


@pytest.mark.parametrize("chip", ["tpu:v4", "tpu:v5p"])
def test_two_cores_may_share_two_steps(chip: str) -> None:
    assert found(moving(0.51, grid=(2,)), chip) is None


def test_a_limit_that_was_asked_for_is_told_beside_what_the_chip_has() -> None:
    memory = found(SHORT["more than was asked for"], "tpu:v6e")
    assert memory is not None
    assert (memory.limit, memory.chip) == (64 * MEBIBYTE, 128 * MEBIBYTE)
    block, whole = memory.buffers
    assert (block.copies, whole.copies) == (2, 1)
    assert memory.used == block.size + whole.size


def test_a_check_tells_it_where_there_is_no_compiler() -> None:
    fn, arguments = SHORT["two copies of a moving block"](128 * MEBIBYTE)
    report = pallas_magic.check(fn, *arguments, target="tpu:v5e,v7x")
    assert [kernel.stages["compile"].status for kernel in report.kernels] == ["failed"] * 2
    on_v5e, on_v7x = report.diagnostics
    assert (on_v5e.code, on_v5e.stage, on_v5e.targets) == ("PM801", "compile", ("tpu:v5e",))
    assert on_v5e.message == (
        "`corner` takes 130.5 MiB of VMEM, 2.5 MiB more than the 128 MiB there is"
    )
    assert on_v5e.original == "OutOfMemory: the blocks take 136843264 of 134217728 bytes of VMEM"
    assert on_v7x.message == (
        "`corner` takes 130.5 MiB of VMEM, 66.5 MiB more than the 64 MiB there is"
    )
    assert on_v7x.notes[0] == (
        "the largest part is `x_ref`: float32[16704, 1024], 2 buffers of 65.2 MiB"
        " (130.5 MiB in all)"
    )


@pytest.mark.tpu_compiler
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("make", SHORT.values(), ids=SHORT)
def test_compilers_refuse_what_lacks_memory(make: Make, chip: str) -> None:
    assert compiled(make, chip) == "failed"


@pytest.mark.tpu_compiler
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("make", FITS.values(), ids=FITS)
def test_compilers_take_what_fits(make: Make, chip: str) -> None:
    assert compiled(make, chip) == "ok"
