"""GPU kernels in unusual places are checked like any other, and valid ones are clean."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jax.experimental.pallas import triton
from jax.sharding import AbstractMesh, AxisType, PartitionSpec

import pallas_magic
from pallas_magic.report import Report
from tests.bridge.cells import Cell

Struct: Any = jax.ShapeDtypeStruct
Spec: Any = PartitionSpec
V = Struct((128,), jnp.float32)
PAIR = Struct((256,), jnp.float32)
TWO = AbstractMesh((2,), ("device",), axis_types=(AxisType.Auto,))
CORE_MAP = """\
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu

def by_block(refs):
    x, o = refs
    @pl.core_map(plgpu.Mesh(grid=(2,), grid_names=("block",)))
    def halves():
        half = pl.ds(lax.axis_index("block") * 128, 128)
        o[half] = {value}

def call(x):
    return pl.run_state(by_block)((x, jnp.zeros_like(x)))[1]
"""


def check(function: Callable[..., Any], *operands: Any, target: str = "gpu") -> Report:
    return pallas_magic.check(function, *operands, target=target, verify=False, compile=False)


def lowered(report: Report) -> list[str]:
    return [kernel.stages["lower"].status for kernel in report.kernels]


def double(x: Any, o: Any) -> None:
    o[...] = x[...] * 2.0


def by_device(x: Any, o: Any) -> None:
    o[...] = x[...] * lax.axis_index("device").astype(jnp.float32)


def to_neighbour(x: Any, o: Any) -> None:
    neighbour = lax.rem(lax.axis_index("device") + 1, 2)
    plgpu.remote_ref(o, neighbour)[...] = x[...]


def sorts(x: Any, o: Any) -> None:
    o[...] = jnp.sort(x[...])


@pytest.mark.parametrize("target", ["gpu:h100", "gpu:b200"])
@pytest.mark.parametrize("kernel", [double, by_device, to_neighbour])
def test_valid_kernels_in_shard_map_are_clean(kernel: Any, target: str) -> None:
    call = plgpu.kernel(kernel, out_type=V)
    sharded = jax.shard_map(
        call, mesh=TWO, in_specs=Spec("device"), out_specs=Spec("device"), check_vma=False
    )
    report = check(sharded, PAIR, target=target)
    assert (report.diagnostics, lowered(report)) == ((), ["ok"])


def test_errors_in_shard_map_are_found() -> None:
    call = plgpu.kernel(sorts, out_type=V)
    sharded = jax.shard_map(
        call, mesh=TWO, in_specs=Spec("device"), out_specs=Spec("device"), check_vma=False
    )
    report = check(sharded, PAIR)
    assert len(report.diagnostics) == 1
    assert report.diagnostics[0].primary is not None


@pytest.mark.parametrize(
    ("value", "status"), [("x[half] * 2.0", "ok"), ("jnp.sort(x[half])", "failed")]
)
def test_a_core_map_is_checked_once(value: str, status: str) -> None:
    code = CORE_MAP.format(value=value)
    traced = Cell(f"{code}jax.eval_shape(call, jax.ShapeDtypeStruct((256,), jnp.float32))", {})
    lowers = Cell(f"{code}jax.jit(call).trace(jnp.ones(256)).lower()", {})
    for cell in (traced, lowers):
        report = cell.report()
        assert lowered(report) == [status]
        places = [cell.primary_text(one) for one in report.diagnostics]
        assert places == [value] * (status == "failed")


@pytest.mark.parametrize("parameters", [None, triton.CompilerParams(num_warps=4)])
def test_a_valid_triton_kernel_is_clean(parameters: Any) -> None:
    options = {} if parameters is None else {"compiler_params": parameters}
    report = check(pl.pallas_call(double, out_shape=V, **options), V)
    assert (report.diagnostics, lowered(report)) == ((), ["ok"])


def test_a_triton_kernel_that_does_not_lower_is_told_at_the_operation() -> None:
    call = pl.pallas_call(sorts, out_shape=V, compiler_params=triton.CompilerParams())
    (one,) = check(call, V).diagnostics
    assert one.primary is not None
    assert one.primary.source == __file__


def test_a_triton_kernel_for_a_tpu_is_skipped() -> None:
    call = pl.pallas_call(double, out_shape=V, compiler_params=triton.CompilerParams())
    (kernel,) = check(call, V, target="tpu").kernels
    assert (kernel.stages["lower"].status, kernel.stages["lower"].why) == (
        "skipped",
        "it is written for GPUs",
    )


def test_the_spellings_of_a_warp_level_region_are_one() -> None:
    spellings = {
        "@plgpu.warp_map\ndef region(warp):\n": "plgpu.warp_map",
        "@pl.core_map(plgpu.WarpMesh(axis_name='w'))\ndef region():\n": (
            "pl.core_map(plgpu.WarpMesh(axis_name='w'))"
        ),
        "@pl.kernel(mesh=plgpu.WarpMesh(axis_name='w'))\ndef region():\n": "region()",
    }
    for opening, marked in spellings.items():
        body = f"{opening}    o[...] = x[...]\n" + "region()\n" * (marked == "region()")
        code = "def kernel(x, o):\n" + textwrap.indent(body, "    ")
        code += "jax.eval_shape(plgpu.kernel(kernel, out_type=V), V)\n"
        cell = Cell(code, {"jax": jax, "pl": pl, "plgpu": plgpu, "V": V})
        (one,) = cell.report().diagnostics
        assert (one.code, cell.primary_text(one)) == ("PM701", "o[...]")
        (label,) = one.labels
        lines = cell.library[label.span.source].source.text.split("\n")
        line = lines[label.span.start_line - 1]
        assert line[label.span.start_col : label.span.end_col] == marked
