"""Errors that are about the machine, not the kernel: told as such, with the way out."""

from __future__ import annotations

from tests.ipython.kernel import Kernel

CHIP = """\
def total(x_ref, o_ref):
    o_ref[...] = jnp.sum(x_ref[...], axis=0)

fn = pl.pallas_call(total, out_shape=jax.ShapeDtypeStruct((128,), jnp.float32))
jax.jit(fn).trace(jnp.ones((8, 128))).lower(lowering_platforms=("tpu",))
"""


def test_a_lowering_for_no_chip_in_particular_is_told_as_that(kernel: Kernel) -> None:
    outcome = kernel.run(CHIP)
    assert outcome.failure.startswith("ValueError: Unsupported TPU device kind: cpu")
    (diagnostic,) = outcome.card["diagnostics"]
    assert diagnostic["code"] == "PM903"
    assert diagnostic["message"] == (
        "`total` was lowered for a TPU, and nothing says for which one"
    )
    assert diagnostic["primary"]["start_line"] == 5
    (fix,) = diagnostic["fixes"]
    assert fix["edits"][0]["new_text"] == "%%pallas_check\n"


def test_its_fix_checks_the_kernel(kernel: Kernel) -> None:
    card = kernel.good("%%pallas_check\n" + CHIP).card
    assert card["ok"]
    assert [one["stages"]["lower"]["status"] for one in card["kernels"]] == ["ok"]
