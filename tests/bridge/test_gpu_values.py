"""The values of Mosaic GPU kernels on a machine without a GPU: right ones, or none."""

from __future__ import annotations

import textwrap
from typing import Any

import jax
import numpy as np
import pytest
from jax import lax
from jax.experimental.pallas import mosaic_gpu as plgpu

from pallas_magic.bridge.gpu_values import (
    interpretable_params,
    interprets_warp_regions,
    why_stopped,
)
from pallas_magic.stopping import StopCell
from tests.bridge.cells import NAMES, Cell

GPU_NAMES = {**NAMES, "lax": lax, "plgpu": plgpu}
KERNELS = """\
V = jax.ShapeDtypeStruct((128,), jnp.float32)
M = jax.ShapeDtypeStruct((4, 128), jnp.float32)
x = jnp.arange(128.0)
m = jnp.arange(512.0).reshape(4, 128)

def double(x, o):
    o[...] = x[...] * 2.0

def copy_through(x, o, buf, arrived):
    plgpu.copy_gmem_to_smem(x, buf, arrived)
    plgpu.barrier_wait(arrived)
    buf[...] = buf[...] + 1.0
    plgpu.commit_smem()
    plgpu.copy_smem_to_gmem(buf, o)
    plgpu.wait_smem_to_gmem(0)

def by_row(x, o):
    row = lax.axis_index("row")
    o[row] = x[row] * 3.0

twice = plgpu.kernel(double, out_type=V)
one_more = plgpu.kernel(
    copy_through, out_type=V, scratch_types=[plgpu.SMEM((128,), jnp.float32), plgpu.Barrier()]
)
rows = plgpu.kernel(by_row, out_type=M, grid=(4,), grid_names=("row",))
threads = plgpu.kernel(by_row, out_type=M, num_threads=4, thread_name="row")
"""
WARPS = """\
def by_warp(x, o, buf):
    buf[...] = x[...] * 3.0
    plgpu.commit_smem()
    @plgpu.warp_map
    def _(warp):
        @pl.when(warp == 1)
        def _():
            plgpu.copy_smem_to_gmem(buf, o)
            plgpu.wait_smem_to_gmem(0)

triple = plgpu.kernel(by_warp, out_type=V, scratch_types=[plgpu.SMEM((128,), jnp.float32)])
"""
X = np.arange(128.0, dtype=np.float32)
M = np.arange(512.0, dtype=np.float32).reshape(4, 128)


def run(code: str, **watch: Any) -> Cell:
    return Cell(KERNELS + WARPS + textwrap.dedent(code), dict(GPU_NAMES), **watch)


@pytest.mark.parametrize(
    ("use", "value"),
    [
        ("twice(x)", X * 2),
        ("one_more(x)", X + 1),
        ("rows(m)", M * 3),
        ("threads(m)", M * 3),
        ("jax.jit(lambda x: one_more(twice(x)))(x)", X * 2 + 1),
        ("jax.vmap(twice)(m)", M * 2),
        ("jax.vmap(one_more)(m)", M + 1),
        ("lax.scan(lambda c, _: (one_more(c), None), x, None, length=2)[0]", X + 2),
        ("lax.cond(x[0] == 0, one_more, lambda x: x, x)", X + 1),
        ("lax.fori_loop(0, 2, lambda i, c: one_more(c), x)", X + 2),
        ("jax.checkpoint(one_more)(x)", X + 1),
        ("jax.jit(one_more, donate_argnums=0)(x + 0.0)", X + 1),
    ],
)
def test_values_are_right(use: str, value: np.ndarray[Any, Any]) -> None:
    cell = run(f"value = jnp.asarray({use})")
    assert cell.raised is None
    np.testing.assert_array_equal(np.asarray(cell.names["value"]), value)
    assert cell.watch.interpreted
    assert {kernel.stages["lower"].status for kernel in cell.report().kernels} == {"ok"}


def test_gradients_are_right() -> None:
    cell = run("""
        f = jax.custom_vjp(one_more)
        f.defvjp(lambda x: (one_more(x), None), lambda _, g: (one_more(g),))
        value = jax.grad(lambda x: f(x).sum())(x)
        plain = jax.custom_vjp(twice)
        plain.defvjp(lambda x: (twice(x), None), lambda _, g: (twice(g),))
        remade = jax.grad(lambda x: jax.checkpoint(plain)(x).sum())(x)
    """)
    assert cell.raised is None
    np.testing.assert_array_equal(np.asarray(cell.names["value"]), np.full(128, 2.0))
    np.testing.assert_array_equal(np.asarray(cell.names["remade"]), np.full(128, 2.0))


def test_a_warp_level_region_has_right_values_or_none() -> None:
    cell = run("value = jnp.asarray(triple(x))")
    if interprets_warp_regions():
        np.testing.assert_array_equal(np.asarray(cell.names["value"]), X * 3)
    else:
        assert isinstance(cell.raised, StopCell)
        why = f"JAX {jax.__version__} cannot interpret a warp-level region"
        assert str(cell.raised) == f"interpret mode cannot run this kernel: {why}"
        assert "value" not in cell.names


def test_what_the_interpreter_would_fail_at_stops_the_cell_before() -> None:
    cell = run("""
        def pipelined(x, o):
            def body(_, x, o):
                o[...] = x[...] * 2.0
            spec = plgpu.BlockSpec((1, 128), lambda i: (i, 0))
            plgpu.emit_pipeline(body, grid=(4,), in_specs=[spec], out_specs=[spec])(x, o)

        value = jnp.asarray(plgpu.kernel(pipelined, out_type=M)(m))
    """)
    assert isinstance(cell.raised, StopCell)
    why = f"JAX {jax.__version__} cannot interpret a copy under a predicate"
    assert cell.watch.stop_reason == f"interpret mode cannot run this kernel: {why}"
    assert "value" not in cell.names


def test_a_kernel_that_fails_while_it_is_interpreted_says_so_and_harms_no_other() -> None:
    bad = run("""
        def outside(x, o):
            i = lax.axis_index("row")
            o[i] = x[i + 7]

        value = jnp.asarray(plgpu.kernel(outside, out_type=M, grid=(4,), grid_names=("row",))(m))
        value.block_until_ready()
    """)
    assert bad.raised is not None
    assert bad.watch.stop_reason.startswith("interpret mode cannot run this kernel: IndexError")
    good = run("value = jnp.asarray(one_more(x))")
    np.testing.assert_array_equal(np.asarray(good.names["value"]), X + 1)


def test_other_errors_are_not_taken_for_ours() -> None:
    assert why_stopped(ValueError("Effects not supported in partial-eval")) == ""
    assert why_stopped(RuntimeError("INTERNAL: CpuCallback error calling callback")) == ""


def test_parameters_that_ask_for_interpret_mode_stay_as_they_are() -> None:
    params = {"interpret": True, "meshes": (), "jaxprs": ()}
    assert interpretable_params(None, params) is params


def test_a_lowering_for_a_gpu_is_jax_s_own() -> None:
    lowered = "jax.jit(one_more).trace(x).lower(lowering_platforms=('cuda',))"
    cell = run(f"text = {lowered}.as_text()")
    assert cell.raised is None
    assert "mosaic_gpu" in cell.names["text"]
    assert "callback" not in cell.names["text"]


def test_a_cell_that_is_not_to_run_stops_after_its_kernel_and_not_in_it() -> None:
    cell = run("value = triple(x)\nafter = True", run=False)
    assert isinstance(cell.raised, StopCell)
    assert "after" not in cell.names
    assert [kernel.name for kernel in cell.report().kernels] == ["by_warp"]
