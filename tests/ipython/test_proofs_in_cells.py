"""Fixes are proved in cells as they are in files."""

from __future__ import annotations

from tests.ipython.cells import checked
from tests.ipython.kernel import IMPORTS, Kernel

# Both findings have a fix of the spec and one of the kernel.
HISTOGRAM = """\
def histogram(x_ref, counts_ref, total_ref):
    counts = jnp.sum(x_ref[...], axis=0)
    counts_ref[...] = counts
    total_ref[0, 0] = jnp.sum(counts)

outputs = [(8,), (1, 1)]
made = pl.pallas_call(
    histogram,
    out_shape=[jax.ShapeDtypeStruct(shape, jnp.float32) for shape in outputs],
    out_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec(memory_space=pltpu.VMEM)],
)(jnp.ones((8, 8)))
"""


def test_edits_of_a_kernel_are_proved_beside_the_imports_it_uses(kernel: Kernel) -> None:
    # A statement that is compiled with an import beside it has other code.
    for code in (HISTOGRAM, IMPORTS + HISTOGRAM):
        card = kernel.run(checked(code)).card
        fixes = [fix for diagnostic in card["diagnostics"] for fix in diagnostic["fixes"]]
        assert len(fixes) == 4
        assert [fix["applicability"] for fix in fixes] == ["safe"] * 4
