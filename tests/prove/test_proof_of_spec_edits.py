"""Fixes in specs, scratch shapes and grid specs, proved on real kernels."""

from __future__ import annotations

from pallas_magic.report import Proof
from tests.prove.cells import Notebook

PROVED = Proof(gone=True, lowers=True, compiles=None, same_values=True)
HISTOGRAM = """\
def histogram(x_ref, counts_ref):
    counts_ref[...] = jnp.sum((x_ref[...] > 0).astype(jnp.int32), axis=0)

"""


def test_the_memory_space_of_the_only_output() -> None:
    notebook = Notebook()
    notebook.run(
        HISTOGRAM
        + """\
def count(x):
    return pl.pallas_call(
        histogram,
        out_shape=jax.ShapeDtypeStruct((128,), jnp.int32),
        out_specs=pl.BlockSpec(memory_space=pltpu.SMEM),
    )(x)

jax.make_jaxpr(count)(jax.ShapeDtypeStruct((8, 128), jnp.float32))
"""
    )
    proof, applicability = notebook.prove(notebook.edit("pltpu.SMEM", "pltpu.VMEM"))
    assert (proof, applicability) == (PROVED, "safe")
