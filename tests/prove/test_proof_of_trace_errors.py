"""Fixes of kernels that could not be traced, where there is no original program."""

from __future__ import annotations

import pytest

from pallas_magic.report import Proof
from tests.prove.cells import Notebook

TRACED = Proof(gone=True, lowers=True, why="there is no original program to compare with")

SWAP = """\
def scale(x_ref, o_ref):
    o_ref[...] = x_ref[...].astype(jnp.float32) * 2

def entry(x):
    return pl.pallas_call(
        scale, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.bfloat16), {more}
    )(x)

jax.make_jaxpr({outer})(jax.ShapeDtypeStruct(({batch}8, 128), jnp.bfloat16))
"""
OLD = ".astype(jnp.float32) * 2"
NEW = " * 2"


@pytest.mark.parametrize("outer", ["entry", "jax.jit(entry)", "jax.vmap(entry)"])
def test_a_mechanical_fix_is_safe_and_another_is_not(outer: str) -> None:
    notebook = Notebook()
    notebook.fail(SWAP.format(more="", outer=outer, batch="3, " if "vmap" in outer else ""))
    edit = notebook.edit(OLD, NEW)
    assert notebook.prove_unfinished(edit, mechanical=True) == (TRACED, "safe")
    assert notebook.prove_unfinished(edit) == (TRACED, "unsafe")


def test_a_failure_of_what_the_fix_wrote_drops_it() -> None:
    notebook = Notebook()
    more = "out_specs=pl.BlockSpec(memory_space=pltpu.SMEM)"
    notebook.fail(SWAP.format(more=more, outer="entry", batch=""))
    _, applicability = notebook.prove_unfinished(notebook.edit(OLD, NEW), mechanical=True)
    assert applicability is None


def test_a_failure_on_another_line_is_only_counted() -> None:
    notebook = Notebook()
    text = SWAP.format(more="", outer="entry", batch="")
    flip = "\n    x_ref[...] = jnp.flip(x_ref[...], 0)"
    notebook.fail(text.replace("\n\ndef entry", flip + "\n\ndef entry"))
    proof, applicability = notebook.prove_unfinished(notebook.edit(OLD, NEW), mechanical=True)
    assert (proof.gone, proof.lowers, proof.remaining) == (True, False, 1)
    assert applicability == "unsafe"


def test_a_fix_that_does_not_trace_is_dropped() -> None:
    notebook = Notebook()
    notebook.fail(SWAP.format(more="", outer="entry", batch=""))
    proof, applicability = notebook.prove_unfinished(notebook.edit(OLD, " * missing"))
    assert (proof.why, applicability) == (
        "the edited kernel fails: name 'missing' is not defined",
        None,
    )


def test_an_index_map() -> None:
    notebook = Notebook()
    notebook.fail("""\
def copy(x_ref, o_ref):
    o_ref[...] = x_ref[...]

def entry(x):
    return pl.pallas_call(
        copy,
        grid=(2, 2),
        in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((8, 128), lambda i, j: (i, j)),
        out_shape=jax.ShapeDtypeStruct((16, 256), jnp.float32),
    )(x)

jax.make_jaxpr(entry)(jax.ShapeDtypeStruct((16, 256), jnp.float32))
""")
    edit = notebook.edit("lambda i: (i, 0)", "lambda i, j: (i, j)")
    assert notebook.prove_unfinished(edit, mechanical=True) == (TRACED, "safe")


def test_the_number_of_specs() -> None:
    notebook = Notebook()
    notebook.fail("""\
def add(x_ref, y_ref, o_ref):
    o_ref[...] = x_ref[...] + y_ref[...]

def entry(x, y):
    whole = pl.BlockSpec(memory_space=pltpu.VMEM)
    return pl.pallas_call(
        add, jax.ShapeDtypeStruct((8, 128), jnp.float32), in_specs=[whole]
    )(x, y)

jax.make_jaxpr(entry)(*[jax.ShapeDtypeStruct((8, 128), jnp.float32)] * 2)
""")
    edit = notebook.edit("[whole]", "[whole, whole]")
    assert notebook.prove_unfinished(edit, mechanical=True) == (TRACED, "safe")


def test_an_array_stored_in_a_warp_region() -> None:
    notebook = Notebook(
        "gpu:h100",
        """\
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
mask = np.arange(128, dtype=np.float32)
""",
    )
    text = """\
def kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...] + mask

def entry(x):
    return plgpu.kernel(kernel, out_type=jax.ShapeDtypeStruct((128,), jnp.float32))(x)

jax.make_jaxpr(entry)(jax.ShapeDtypeStruct((128,), jnp.float32))
"""
    notebook.fail(text)
    edit = notebook.edit("mask", "2.0")
    assert notebook.prove_unfinished(edit, mechanical=True) == (TRACED, "safe")
