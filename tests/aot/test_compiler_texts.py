"""What is read from compilers' texts, without a compiler."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from pallas_magic.bridge.capture import Recorder
from pallas_magic.bridge.compile_errors import compile_failure, plain_text
from pallas_magic.failure import Failure, MemoryUse
from pallas_magic.rules import fallback
from pallas_magic.source.document import Library
from pallas_magic.targets import default_target

WRAPPED = """\
INTERNAL: Mosaic failed to compile TPU kernel with MLIR module name `shifted` HLO name `kernel.1`: \
E2003: CompileTimeMosaicUnprovenMemoryAccessAlignment: cannot prove it
See https://openxla.org/xla/errors/error_2003 for more details.

at location: loc("get:"("get/get"(callsite("shifted"("{file}":8:17 to :40) at \
"shifted"("{file}":8:17 to :40)))))

The MLIR operation involved:
  %4 = "tpu.vector_load"(%arg2)

failed to legalize operation 'tpu.vector_load': %4 = "tpu.vector_load"(%arg2)

at location: loc(unknown)

The MLIR operation involved:
  %4 = "tpu.vector_load"(%arg2)

Please report a bug at: https://github.com/jax-ml/jax/issues/new/choose
"""
TOTAL = """\
RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space vmem. \
Used 136.30M of 128.00M vmem. Exceeded vmem capacity by 8.30M.

  Largest program allocations in vmem:

  1. Size: 64.00M
     Shape: u8[67108864]{{0}}
     Tag: input window allocation for operator input 1. The window shape is f32[8,128]. \
This allocation has 2 buffering levels.
     ==========================

  2. Size: 8.00M
     Shape: u8[8388608]{{0}}
     Tag: output window allocation for operator output 0. The window shape is f32[8,128]. \
This allocation is single buffered.
     ==========================

  3. Size: 308.0K
     XLA label: register allocator spill slots in HLO :: kernel.1
     ==========================
"""
SINGLE = (
    "RESOURCE_EXHAUSTED: Allocation (size={size}) would exceed memory (size={limit}) ::"
    " #allocation3 [shape = '{shape}', space={space}, size = 0x9, scoped, tag = '{tag}'] :: k.1"
)
SCOPED = (
    "RESOURCE_EXHAUSTED: E1001: CompileTimeScopedVmemOom:\nRan out of memory in memory space vmem"
    " while allocating on stack for %k.1 = f32[8]{0} custom-call(%x). Scoped allocation with size"
    " 24.00M and limit 16.00M exceeded scoped vmem limit by 8.00M."
)


def failure_of(text: str) -> Failure:
    """``text`` as a compiler's word on a kernel with one operand of each role."""

    def kernel(table_ref: Any, x_ref: Any, o_ref: Any, kept_ref: Any) -> None:
        kept_ref[...] = x_ref[...] + table_ref[0]
        o_ref[...] = kept_ref[...]

    block = pl.BlockSpec((8, 128), lambda i, table: (i, 0))
    recorder = Recorder()
    with recorder.installed():
        jax.eval_shape(
            pl.pallas_call(
                kernel,
                out_shape=jax.eval_shape(lambda: jnp.zeros((16, 128))),
                grid_spec=pltpu.PrefetchScalarGridSpec(
                    num_scalar_prefetch=1,
                    grid=(2,),
                    in_specs=[block],
                    out_specs=block,
                    scratch_shapes=[pltpu.VMEM((8, 128), jnp.float32)],
                ),
            ),
            jnp.zeros(4),
            jnp.zeros((16, 128)),
        )
    (call,) = recorder.calls
    return compile_failure(call, text, default_target("tpu"), recorder.objects, "JaxRuntimeError")


def masked(kernel: Any) -> Failure:
    """A compiler's crash over the layout of booleans, on ``kernel``."""
    recorder = Recorder()
    with recorder.installed():
        array: Any = jax.eval_shape(lambda: jnp.zeros((32, 128)))
        jax.eval_shape(pl.pallas_call(kernel, out_shape=array), array)
    (call,) = recorder.calls
    text = "the compiler crashes on it: Check failed: rem == 0 (1024 vs. 0)"
    return compile_failure(call, text, default_target("tpu"), recorder.objects, "CompilerLost")


def test_a_crash_is_told_at_the_one_operation_that_can_be_meant() -> None:
    def once(x_ref: Any, o_ref: Any) -> None:
        keep = jnp.max(x_ref[...], axis=1) > 0
        o_ref[...] = jnp.where(keep[:, None], x_ref[...], 0.0)

    line = once.__code__.co_firstlineno + 2
    place = masked(once).place
    assert place is not None
    assert (place.line, place.col, place.end_col) == (line, 31, 44)


def test_a_crash_that_two_operations_can_mean_is_told_of_neither() -> None:
    def twice(x_ref: Any, o_ref: Any) -> None:
        keep = jnp.max(x_ref[...], axis=1) > 0
        o_ref[...] = jnp.where(keep[:, None], x_ref[...], 0.0)
        o_ref[...] += jnp.where(keep[:, None], x_ref[...], 0.0)

    assert masked(twice).place is None


def memory_of(text: str) -> MemoryUse:
    memory = failure_of(text).memory
    assert memory is not None
    return memory


def test_the_message_stands_alone() -> None:
    assert plain_text(WRAPPED.format(file="cell.py")) == (
        "E2003: CompileTimeMosaicUnprovenMemoryAccessAlignment: cannot prove it\n"
        "See https://openxla.org/xla/errors/error_2003 for more details.\n\n"
        'The MLIR operation involved:\n  %4 = "tpu.vector_load"(%arg2)'
    )


def test_xla_s_page_on_an_error_is_named() -> None:
    found = fallback().diagnose(failure_of(WRAPPED.format(file="cell.py")), Library())
    assert found.message.startswith("`kernel` does not compile for TPU v5e: E2003: ")
    assert found.notes == ("XLA describes E2003 at https://openxla.org/xla/errors/error_2003",)


@pytest.mark.parametrize(
    ("text", "extent"),
    [
        (WRAPPED, (8, 17, 8, 40)),
        (
            'Failed\n\nat location: loc("dot:"("d"(callsite("k"("{file}":7:17 to 9:5)))))',
            (7, 17, 9, 5),
        ),
        ("'gpu.binary' op ptxas failed\n\nloc(\"{file}\":17:28): error: no", (17, 28, 17, 28)),
    ],
)
def test_a_location_is_read_from_the_text(text: str, extent: tuple[int, ...]) -> None:
    place = failure_of(text.format(file="<cell In[3]>")).place
    assert place is not None
    assert place.filename == "<cell In[3]>"
    assert (place.line, place.col, place.end_line, place.end_col) == extent


def test_an_unknown_location_is_none() -> None:
    assert failure_of("Failed\n\nat location: loc(unknown)").place is None


def test_all_buffers_of_a_total() -> None:
    memory = memory_of(TOTAL.replace("{{", "{").replace("}}", "}"))
    assert (memory.space, memory.used, memory.limit) == ("vmem", 142920909, 128 << 20)
    told = [(one.ref and one.ref.name, one.size, one.copies) for one in memory.buffers]
    assert told == [
        ("x_ref", 64 << 20, 2),
        ("o_ref", 8 << 20, 1),
        (None, 308 << 10, 1),
    ]
    assert memory.buffers[2].what == "register allocator spill slots in HLO :: kernel.1"


@pytest.mark.parametrize(
    ("tag", "shape", "name"),
    [
        ("input window allocation for operator input 1. The window", "u8[9]{0}", "x_ref"),
        ("output window allocation for operator output 0. The window", "u8[9]{0}", "o_ref"),
        ("prefetched SMEM operand 0", "u8[9]{0}", "table_ref"),
        ("scratch operand", "f32[8,128]{1,0:T(8,128)}", "kept_ref"),
        ("scratch operand", "f32[9,128]{1,0:T(8,128)}", None),
        ("something new", "u8[9]{0}", None),
    ],
)
def test_one_buffer_that_is_too_large(tag: str, shape: str, name: str | None) -> None:
    text = SINGLE.format(size=2 << 20, limit=1 << 20, shape=shape, space="smem", tag=tag)
    memory = memory_of(text)
    (buffer,) = memory.buffers
    assert (memory.space, memory.limit, memory.used, memory.chip) == ("smem", 1 << 20, 0, 0)
    assert (buffer.size, buffer.ref and buffer.ref.name) == (2 << 20, name)


def test_a_limit_below_the_chips() -> None:
    memory = memory_of(SCOPED)
    assert (memory.used, memory.limit, memory.chip) == (24 << 20, 16 << 20, 128 << 20)
    assert [(one.ref and one.ref.name, one.copies) for one in memory.buffers] == [
        ("x_ref", 2),
        ("o_ref", 2),
        ("kept_ref", 1),
    ]


def test_tensor_memory_is_counted_in_columns() -> None:
    text = "RESOURCE_EXHAUSTED: Tensor memory size limit exceeded: requested 640, available: 512"
    assert memory_of(text) == MemoryUse("tmem", 512, 640, unit="columns")


def test_other_failures_are_not_of_memory() -> None:
    assert failure_of(WRAPPED.format(file="cell.py")).memory is None
