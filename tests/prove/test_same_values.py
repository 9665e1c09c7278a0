"""What counts as the same values."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pallas_magic.prove.same_values import Comparison, compare, draw
from tests.prove.cells import Notebook

NAN = float("nan")
INF = float("inf")
EMPTY = np.iinfo(np.int32).min
SAME = Comparison(True)
DIFFERENT = Comparison(False, "the values differ")
UNWRITTEN = Comparison(False, "other elements of the output are written")
MORE = Comparison(None, "more elements of the output are written")
ROUNDED = Comparison(None, "the values differ in their last digits")


@pytest.mark.parametrize(
    ("expected", "found", "dtype", "exact", "verdict"),
    [
        ([1.0, 2.0], [1.0, 2.0], "float32", True, SAME),
        ([1.0, NAN], [1.0, NAN], "float32", True, SAME),
        ([1.0, NAN], [1.0, 2.0], "float32", False, MORE),
        ([1.0, NAN], [1.5, 2.0], "float32", False, DIFFERENT),
        ([1.0, NAN], [NAN, 2.0], "float32", False, UNWRITTEN),
        ([1.0, NAN], [1.0000001, 2.0], "float32", True, ROUNDED),
        ([1.0, 2.0], [1.0, NAN], "float32", False, UNWRITTEN),
        ([1.0, 2.0], [1.0, 2.0000003], "float32", True, ROUNDED),
        ([1.0, 2.0], [1.0, 2.0000003], "float32", False, SAME),
        ([1.0, 2.0], [1.0, 2.001], "float32", False, DIFFERENT),
        ([1.0, INF], [1.0, INF], "float32", False, SAME),
        ([1.0, INF], [1.0, -INF], "float32", False, DIFFERENT),
        ([1.0, INF], [1.0, 3.0], "float32", False, DIFFERENT),
        ([1.0, 2.0], [1.0, 2.016], "bfloat16", False, SAME),
        ([1.0, 2.0], [1.0, 2.125], "bfloat16", False, DIFFERENT),
        ([1, 2], [1, 2], "int32", True, SAME),
        ([1, 2], [1, 3], "int32", False, DIFFERENT),
        ([1, EMPTY], [1, EMPTY], "int32", True, SAME),
        ([1, EMPTY], [1, 0], "int32", True, MORE),
        ([True, False], [True, False], "bool", True, SAME),
        ([True, False], [True, True], "bool", False, DIFFERENT),
    ],
)
def test_compare(
    expected: list[Any], found: list[Any], dtype: str, exact: bool, verdict: Comparison
) -> None:
    kind = jnp.dtype(dtype)
    assert compare(np.asarray(expected, kind), np.asarray(found, kind), exact) == verdict


CAST = """\
def cast(i_ref, u_ref, f_ref, h_ref, b_ref, o_ref):
    o_ref[...] = i_ref[...] + u_ref[...] + f_ref[...] + h_ref[...] + b_ref[...]

def entry(*operands):
    return pl.pallas_call(cast, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))(*operands)

names = "int32", "uint8", "float32", "bfloat16", "bool"
jax.make_jaxpr(entry)(*[jax.ShapeDtypeStruct((8, 128), jnp.dtype(name)) for name in names])
"""


def test_operands_are_small_varied_and_repeatable() -> None:
    notebook = Notebook()
    notebook.run(CAST)
    first, again, other = (draw(notebook.call, seed) for seed in (1, 1, 2))
    for aval, one, same, another in zip(notebook.call.avals, first, again, other, strict=True):
        assert (one.shape, one.dtype) == (aval.shape, aval.dtype)
        assert np.array_equal(one, same)
        assert not np.array_equal(one, another)
        assert len(np.unique(one.astype(np.float32))) > 1
    assert {int(value) for value in np.unique(first[0])} == {0, 1, 2}


def test_the_users_random_state_is_not_touched() -> None:
    notebook = Notebook()
    notebook.run(CAST)
    np.random.seed(3)  # noqa: NPY002 (the user's global state is what is tested)
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    draw(notebook.call, 1)
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002


ALIASED = """\
def bump(x_ref, o_ref):
    {store}

def entry(x):
    return pl.pallas_call(
        bump,
        out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
        in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM)],
        input_output_aliases={{0: 0}},
    )(x)

jax.make_jaxpr(entry)(jax.ShapeDtypeStruct((8, 128), jnp.float32))
"""


def test_an_aliased_output_must_be_written_whole() -> None:
    whole, part = "o_ref[...] = x_ref[...] + 1", "o_ref[:4] = x_ref[:4] + 1"
    verdicts = []
    for store in (whole, part):
        notebook = Notebook()
        notebook.run(ALIASED.format(store=store))
        verdicts.append(notebook.prove(notebook.edit("pltpu.SMEM", "pltpu.VMEM")))
    assert [applicability for _, applicability in verdicts] == ["safe", "unsafe"]
    assert verdicts[1][0].why == "it writes only part of an output that is also an input"


def test_what_interpret_mode_lacks_is_said_with_what_to_do() -> None:
    notebook = Notebook()
    store = (
        "pl.when(x_ref[0, 0] > 0)(lambda: o_ref.__setitem__(..., x_ref[...] + pl.program_id(0)))"
    )
    notebook.run(ALIASED.format(store=store).replace("input_output_aliases={0: 0}", "grid=(1,)"))
    proof, applicability = notebook.prove(notebook.edit("pltpu.SMEM", "pltpu.VMEM"))
    assert (proof.same_values, applicability) == (None, "unsafe")
    assert proof.why == (
        "interpret mode cannot run it: "
        "it has no `pl.program_id` inside a loop or a branch; ask for it before"
    )


GPU = """\
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
"""
WAITING = """\
def kernel(x_ref, o_ref, buf_ref, barrier_ref):
    @plgpu.warp_map
    def _(warp):
        buf_ref[...] = x_ref[...]
    plgpu.barrier_wait(barrier_ref)
    o_ref[...] = buf_ref[...]

def entry(x):
    return plgpu.kernel(
        kernel,
        out_type=jax.ShapeDtypeStruct((128,), jnp.float32),
        scratch_types=[plgpu.SMEM((128,), jnp.float32), plgpu.Barrier()],
    )(x)

jax.make_jaxpr(entry)(jax.ShapeDtypeStruct((128,), jnp.float32))
"""
REGION = "@plgpu.warp_map\n    def _(warp):\n        buf_ref[...] = x_ref[...]"


@pytest.mark.skipif(jax.__version_info__ < (0, 11), reason="cannot interpret warp-level regions")
def test_a_kernel_that_waits_for_ever_is_left_and_the_next_one_runs() -> None:
    notebook = Notebook("gpu:h100", GPU)
    notebook.run(WAITING)
    claim = notebook.claim(notebook.edit(REGION, "buf_ref[...] = x_ref[...]"))
    proof, applicability = notebook.prover(seconds=2.0).prove(claim)
    assert (proof.why, applicability) == (
        "running it in interpret mode takes too long",
        "unsafe",
    )
    notebook = Notebook("gpu:h100", GPU)
    notebook.run(WAITING.replace("    plgpu.barrier_wait(barrier_ref)\n", ""))
    _, applicability = notebook.prove(notebook.edit(REGION, "buf_ref[...] = x_ref[...]"))
    assert applicability == "safe"


@pytest.mark.skipif(jax.__version_info__ >= (0, 11), reason="interprets warp-level regions")
def test_a_release_that_cannot_interpret_warps_says_so() -> None:
    notebook = Notebook("gpu:h100", GPU)
    notebook.run(WAITING.replace("    plgpu.barrier_wait(barrier_ref)\n", ""))
    proof, applicability = notebook.prove(notebook.edit(REGION, "buf_ref[...] = x_ref[...]"))
    assert applicability == "unsafe"
    assert proof.why == f"JAX {jax.__version__} cannot interpret a warp-level region"


def test_no_time_is_no_proof() -> None:
    notebook = Notebook()
    notebook.run(ALIASED.format(store="o_ref[...] = x_ref[...] + 1"))
    claim = notebook.claim(notebook.edit("pltpu.SMEM", "pltpu.VMEM"))
    proof, applicability = notebook.prover(seconds=0.0).prove(claim)
    assert (proof.same_values, applicability) == (None, "unsafe")
    assert proof.why == "running it in interpret mode takes too long"
