"""What is told of a Triton kernel without a compiler is what the compiler says, for each chip."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plt

from pallas_magic.aot.outcome import Job
from pallas_magic.aot.stage import compile_jobs
from pallas_magic.bridge.capture import Call, Recorder
from pallas_magic.bridge.compile_errors import compile_failure, plain_text
from pallas_magic.bridge.devices import as_if_on
from pallas_magic.bridge.export import module_bytes
from pallas_magic.bridge.failures import find_failures
from pallas_magic.bridge.lowering import Lowered, lower
from pallas_magic.bridge.objects import ObjectRecorder
from pallas_magic.targets import TARGETS, Target, default_target

CHIPS = [target for target in TARGETS if target.family == "gpu"]
PARSED = """\
INVALID_ARGUMENT: Failed to parse Triton module: {file}:{line}:17: error: \
Maximum allowed number of elements is 1048576, but %13 = "tt.splat"(%12) : \
(i32) -> tensor<1024x2048xi32> has more than that
    o_ref[...] = x_ref[...]
                ^
{file}:{line}:17: note: see current operation: %13 = "tt.splat"(%12)
{file}:{line}:17: note: in bytecode version 6 produced by: MLIR24.0.0git

input ir: "ML\\xefR\\rMLIR24.0.0git\\x00\\x01
\\x00\\x05builtin"
"""


def copied(x_ref: Any, o_ref: Any) -> None:
    o_ref[...] = x_ref[...]


def under_numbers(x_ref: Any, o_ref: Any) -> None:
    o_ref[...] = plt.load(x_ref, mask=jnp.arange(128)[None, :] // 64, other=0)


def under_a_number(x_ref: Any, o_ref: Any) -> None:
    plt.store(o_ref, x_ref[...], mask=x_ref[0, 0])


def under_bits(x_ref: Any, o_ref: Any) -> None:
    x = plt.load(x_ref, mask=x_ref[0, 0] > 0, other=0)
    plt.store(o_ref, x, mask=jnp.arange(128)[None, :] < 64)


def unused(x_ref: Any, o_ref: Any) -> None:
    o_ref[0] = x_ref[0]
    _ = x_ref[...]


CASES: dict[str, tuple[Callable[..., None], tuple[int, int], dict[str, int]]] = {
    "no warps": (copied, (8, 128), {"num_warps": 0}),
    "1 warp": (copied, (8, 128), {"num_warps": 1}),
    "3 warps": (copied, (8, 128), {"num_warps": 3}),
    "16 warps": (copied, (8, 128), {"num_warps": 16}),
    "24 warps": (copied, (8, 128), {"num_warps": 24}),
    "32 warps": (copied, (8, 128), {"num_warps": 32}),
    "no stages": (copied, (8, 128), {"num_stages": 0}),
    "1 stage": (copied, (8, 128), {"num_stages": 1}),
    "7 stages": (copied, (8, 128), {"num_stages": 7}),
    "all the elements there can be": (copied, (1024, 1024), {"num_warps": 32}),
    "twice as many": (copied, (1024, 2048), {"num_warps": 32}),
    "a mask of numbers": (under_numbers, (8, 128), {}),
    "a mask of one number": (under_a_number, (8, 128), {}),
    "masks of bits": (under_bits, (8, 128), {}),
}


def recorded(
    kernel: Callable[..., None], sizes: tuple[int, int], params: dict[str, int], chip: Target
) -> tuple[Call, ObjectRecorder]:
    array: Any = jax.eval_shape(lambda: jnp.zeros(sizes, jnp.int8))
    call = pl.pallas_call(kernel, array, compiler_params=plt.CompilerParams(**params))
    recorder = Recorder()
    with recorder.installed(), as_if_on(chip, True):
        jax.eval_shape(call, array)
    (found,) = recorder.calls
    return found, recorder.objects


def lowered_for(case: str, chip: Target) -> tuple[bool, Lowered]:
    """Whether something is told against the call, and the call lowered."""
    call, objects = recorded(*CASES[case], chip)
    lowered = lower(call, chip)
    assert lowered.error is None
    return bool(find_failures(call, lowered, chip, objects).failures), lowered


@pytest.mark.gpu_compiler
@pytest.mark.parametrize("case", CASES)
def test_what_is_told_is_what_the_compiler_says(case: str) -> None:
    told, outcomes = [], []
    for chip in CHIPS:
        is_refused, lowered = lowered_for(case, chip)
        told.append((chip.name, not is_refused))
        (outcome,) = compile_jobs([Job(case, chip, module_bytes(lowered), 60.0)])
        outcomes.append((chip.name, outcome.status == "ok"))
    assert told == outcomes


def test_a_place_where_triton_reads_its_module_is_found() -> None:
    call, objects = recorded(copied, (1024, 2048), {}, default_target("gpu"))
    line = copied.__code__.co_firstlineno + 1
    text = PARSED.format(file=__file__, line=line)
    failure = compile_failure(call, text, default_target("gpu"), objects, "JaxRuntimeError")
    assert failure.place is not None
    assert (failure.place.filename, failure.place.line) == (__file__, line)
    assert (failure.place.col, failure.place.end_col) == (17, 27)
    assert failure.ref is not None
    assert failure.ref.name == "x_ref"


def test_bytes_of_a_module_are_not_shown() -> None:
    text = plain_text(PARSED.format(file="cell.py", line=3))
    assert text.startswith("Maximum allowed number of elements is 1048576, but %13")
    assert text.endswith('note: see current operation: %13 = "tt.splat"(%12)')


def test_a_load_that_is_not_used_is_not_told() -> None:
    chip = default_target("gpu")
    call, objects = recorded(unused, (1024, 2048), {}, chip)
    told = find_failures(call, lower(call, chip), chip, objects).failures
    assert told == ()
