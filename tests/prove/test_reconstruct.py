"""Calls rebuilt from the exception that their lowering raised, and fixes proved on them."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import pytest

from pallas_magic.bridge import reconstruct
from pallas_magic.bridge.devices import target_mesh
from pallas_magic.bridge.failures import find_failures
from pallas_magic.bridge.lowering import lower, whole_tracebacks
from pallas_magic.bridge.reconstruct import Reconstructed, reconstruct_call
from pallas_magic.failure import Candidate
from pallas_magic.prove.proof import Prover
from pallas_magic.prove.verdict import Claim, Verdict
from pallas_magic.report import Proof, TextEdit
from tests.prove.cells import Notebook

PROVED = Proof(gone=True, lowers=True, compiles=None, same_values=True)
STORE = "o_ref[...] = jnp.sum(x_ref[...], keepdims=True)"
SCALAR = "o_ref[0, 0] = jnp.sum(x_ref[...])"


class Plain(Notebook):
    """A notebook whose cells run with no recorder open."""

    def fails(self, text: str) -> Reconstructed:
        """Lower ``entry`` of the cell for the target, as a user would, and catch the error."""
        self.add(text)
        entry, operands = self.namespace["entry"], self.namespace["operands"]
        kinds = (ValueError, NotImplementedError)
        with pytest.raises(kinds) as caught, whole_tracebacks(), target_mesh(self.target):
            jax.jit(entry).trace(*operands).lower(lowering_platforms=(self.target.platform,))
        found = reconstruct_call(caught.value)
        assert found is not None
        return found

    def prove_on(self, found: Reconstructed, *edits: TextEdit) -> Verdict:
        def find(call: Any, target: Any) -> Any:
            return find_failures(call, lower(call, target), target, found.objects).failures

        failure = find(found.call, self.target)[0]
        prover = Prover(found.objects, self.library, find)
        return prover.prove(Claim(found.call, Candidate("fix", edits), failure, self.target))


@dataclasses.dataclass(frozen=True)
class Layout:
    name: str
    text: str
    old: str = STORE
    new: str = SCALAR


TOTAL = f"def total(x_ref, o_ref):\n    {STORE}\n"
ENTRY = """
def entry(x):
    return pl.pallas_call(
        {kernel},
        out_shape=jax.ShapeDtypeStruct((1, 1), jnp.float32),
        out_specs=pl.BlockSpec(memory_space=pltpu.SMEM),
    )(x)

operands = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
"""
GRID = """
def gather(rows_ref, x_ref, o_ref, total_ref, acc_ref):
    acc_ref[...] = x_ref[...]
    o_ref[...] = acc_ref[...]
    total_ref[...] = jnp.sum(x_ref[...], keepdims=True)

def entry(rows, x):
    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=(2,),
        in_specs=[pl.BlockSpec((8, 128), lambda i, rows: (rows[i], 0))],
        out_specs=(
            pl.BlockSpec((8, 128), lambda i, rows: (i, 0)),
            pl.BlockSpec(memory_space=pltpu.SMEM),
        ),
        scratch_shapes=[pltpu.VMEM((8, 128), jnp.float32)],
    )
    out = jax.ShapeDtypeStruct((16, 128), jnp.float32), jax.ShapeDtypeStruct((1, 1), jnp.float32)
    return pl.pallas_call(gather, grid_spec=spec, out_shape=out)(rows, x)

operands = [
    jax.ShapeDtypeStruct((2,), jnp.int32), jax.ShapeDtypeStruct((24, 128), jnp.float32)
]
"""
LAYOUTS = (
    Layout("a kernel", TOTAL + ENTRY.format(kernel="total")),
    Layout("a jitted caller", TOTAL + ENTRY.format(kernel="total") + "entry = jax.jit(entry)\n"),
    Layout(
        "a partial that is still alive",
        f"def total(scale, x_ref, o_ref):\n    {STORE}\nscaled = functools.partial(total, 2)\n"
        + ENTRY.format(kernel="scaled"),
    ),
    Layout("its spec", TOTAL + ENTRY.format(kernel="total"), "pltpu.SMEM", "pltpu.VMEM"),
    Layout(
        "a spec in a grid spec",
        TOTAL
        + ENTRY.format(kernel="total").replace(
            "out_specs=pl.BlockSpec(memory_space=pltpu.SMEM)",
            "grid_spec=pl.GridSpec((1,), out_specs=pl.BlockSpec(memory_space=pltpu.SMEM))",
        ),
        "pltpu.SMEM",
        "pltpu.VMEM",
    ),
    Layout(
        "prefetch, scratch and two outputs",
        GRID,
        "total_ref[...] = jnp.sum(x_ref[...], keepdims=True)",
        "total_ref[0, 0] = jnp.sum(x_ref[...])",
    ),
)


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_a_fix_is_proved_on_a_rebuilt_call(layout: Layout) -> None:
    notebook = Plain()
    found = notebook.fails(layout.text)
    edit = notebook.edit(layout.old, layout.new)
    assert notebook.prove_on(found, edit) == (PROVED, "safe")


GPU = """\
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu

def kernel(x_ref, o_ref, buf_ref):
    @plgpu.warp_map
    def _(warp):
        buf_ref[...] = x_ref[...]
    o_ref[...] = buf_ref[...]

def entry(x):
    return plgpu.kernel(
        kernel,
        out_type=jax.ShapeDtypeStruct((128,), jnp.float32),
        scratch_types=[plgpu.SMEM((128,), jnp.float32)],
    )(x)

operands = [jax.ShapeDtypeStruct((128,), jnp.float32)]
"""
REGION = "@plgpu.warp_map\n    def _(warp):\n        buf_ref[...] = x_ref[...]"


@pytest.mark.parametrize("more", ["", "entry = jax.jit(entry)\n"])
def test_a_fix_is_proved_on_a_rebuilt_gpu_kernel(more: str) -> None:
    notebook = Plain("gpu:h100", "")
    found = notebook.fails(GPU + more)
    proof, applicability = notebook.prove_on(
        found, notebook.edit(REGION, "buf_ref[...] = x_ref[...]")
    )
    interprets = jax.__version_info__ >= (0, 11)
    assert (proof.gone, proof.lowers) == (True, True)
    assert applicability == ("safe" if interprets else "unsafe")


def test_a_kernel_that_is_gone_cannot_be_proved_on(monkeypatch: pytest.MonkeyPatch) -> None:
    # When Python frees it depends on what else JAX's caches hold: it is gone here at once.
    monkeypatch.setattr(reconstruct, "_living_kernels", lambda info: iter(()))
    notebook = Plain()
    text = f"def make():\n    def total(x_ref, o_ref):\n        {STORE}\n    return total\n"
    found = notebook.fails(text + ENTRY.format(kernel="make()"))
    proof, applicability = notebook.prove_on(found, notebook.edit(STORE, SCALAR))
    assert applicability == "display"
    assert proof.why == "the call that made this kernel was not seen"


def test_what_the_kernel_prints_is_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    text = TOTAL.replace("    o_ref", '    print("tracing")\n    o_ref')
    found = Plain().fails(text + ENTRY.format(kernel="total"))
    assert found.call.built is not None
    assert capsys.readouterr().out == "tracing\n"


def test_two_kernels_that_could_both_be_it_are_not_guessed_between() -> None:
    notebook = Plain()
    text = f"""\
def make(scale):
    def total(x_ref, o_ref):
        scale
        {STORE}
    return total
kernels = [make(1), make(2)]
"""
    found = notebook.fails(text + ENTRY.format(kernel="kernels[0]"))
    assert found.call.built is None


def test_other_errors_are_of_no_call() -> None:
    assert reconstruct_call(ValueError("no frames")) is None
    with pytest.raises(TypeError) as caught:
        jax.jit(functools.partial)(None)
    assert reconstruct_call(caught.value) is None
