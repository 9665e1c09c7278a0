"""Several fixes at once, and calls that share text with the fixed one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import pytest

from pallas_magic.bridge.capture import Call
from pallas_magic.failure import Candidate, Failure
from pallas_magic.prove.proof import Prover
from pallas_magic.prove.verdict import Claim
from pallas_magic.report import Proof, TextEdit
from pallas_magic.targets import Target
from tests.prove.cells import Notebook

PROVED = Proof(gone=True, lowers=True, compiles=None, same_values=True)

TWO = """\
def total(x_ref, o_ref, n_ref):
    o_ref[...] = jnp.sum(x_ref[...], keepdims=True)
    n_ref[...] = jnp.sum(x_ref[...] * 2, axis=0)

def entry(x):
    return pl.pallas_call(
        total,
        out_shape=(
            jax.ShapeDtypeStruct((1, 1), jnp.float32),
            jax.ShapeDtypeStruct((128,), jnp.float32),
        ),
        out_specs=(
            pl.BlockSpec(memory_space=pltpu.SMEM),
            pl.BlockSpec((128,), lambda: (0,), memory_space=pltpu.SMEM),
        ),
    )(x)

jax.make_jaxpr(entry)(jax.ShapeDtypeStruct((8, 128), jnp.float32))
"""


def claims(notebook: Notebook, *edits: TextEdit) -> list[Claim]:
    failures = notebook.failures(notebook.call, notebook.target)
    assert len(failures) == len(edits)
    return [
        Claim(notebook.call, Candidate("fix", (edit,)), failure, notebook.target)
        for edit, failure in zip(edits, failures, strict=True)
    ]


def two() -> tuple[Notebook, list[Claim]]:
    notebook = Notebook()
    notebook.run(TWO)
    scalar = notebook.edit(
        "o_ref[...] = jnp.sum(x_ref[...], keepdims=True)", "o_ref[0, 0] = jnp.sum(x_ref[...])"
    )
    space = notebook.edit("lambda: (0,), memory_space=pltpu.SMEM", "lambda: (0,)")
    return notebook, claims(notebook, scalar, space)


def test_each_fix_leaves_the_other_failure_and_both_leave_none() -> None:
    notebook, both = two()
    prover = notebook.prover()
    for claim in both:
        proof, applicability = prover.prove(claim)
        assert (proof.gone, proof.lowers, proof.remaining) == (True, False, 1)
        assert applicability == "safe"
    assert prover.prove_together(both) == (PROVED, "safe")


def test_the_least_of_the_fixes_bounds_the_set() -> None:
    notebook, (first, second) = two()
    weak = Candidate("fix", second.candidate.edits, applicability="unsafe")
    second = Claim(second.call, weak, second.failure, second.target)
    assert notebook.prover().prove_together([first, second]) == (PROVED, "unsafe")


def test_two_edits_of_one_place_do_not_go_together() -> None:
    notebook, (first, second) = two()
    other = Candidate("fix", (notebook.edit("jnp.sum(x_ref[...], keepdims=True)", "0"),))
    second = Claim(second.call, other, second.failure, second.target)
    proof, applicability = notebook.prover().prove_together([first, second])
    assert applicability == "display"
    assert proof.why == "the edits do not fit In[1]: two edits change the same text"


SHARED = """\
def small():
    return pl.BlockSpec(memory_space=pltpu.SMEM)

def histogram(x_ref, counts_ref):
    counts_ref[...] = jnp.sum((x_ref[...] > 0).astype(jnp.int32), axis=0)

def total(x_ref, o_ref):
    o_ref[0] = jnp.sum(x_ref[...])

def count(x):
    shape = jax.ShapeDtypeStruct((128,), jnp.int32)
    return pl.pallas_call(histogram, out_shape=shape, out_specs=small())(x)

def add(x):
    shape = jax.ShapeDtypeStruct((1,), jnp.float32)
    return pl.pallas_call(total, out_shape=shape, out_specs=small())(x)

jax.make_jaxpr(count)(jax.ShapeDtypeStruct((8, 128), jnp.float32))
jax.make_jaxpr(add)(jax.ShapeDtypeStruct((8, 128), jnp.float32))
"""


def test_a_fix_that_breaks_another_call_is_dropped() -> None:
    notebook = Notebook()
    notebook.run(SHARED)
    first, second = notebook.recorder.calls
    claim = notebook.claim(notebook.edit("pltpu.SMEM", "pltpu.VMEM"), call=first)
    prover = notebook.prover()
    assert prover.prove(claim) == (PROVED, "safe")
    proof, applicability = prover.prove(claim, others=[(second, notebook.target)])
    assert (proof.why, applicability) == ("`total` fails with it", None)


def test_a_call_that_shares_nothing_is_not_lowered_again() -> None:
    notebook = Notebook()
    notebook.run(SHARED)
    first, second = notebook.recorder.calls
    edit = notebook.edit("jnp.int32), axis=0)", "jnp.int32), axis=0) + 0")
    claim = notebook.claim(edit, call=first)
    lowered: list[Call] = []

    def find(call: Call, target: Target) -> Sequence[Failure]:
        lowered.append(call)
        return notebook.failures(call, target)

    prover = Prover(notebook.recorder.objects, notebook.library, find)
    prover.prove(claim, others=[(second, notebook.target)])
    assert all(call.name == "histogram" for call in lowered)


@pytest.mark.parametrize("wrap", ["jit", "vmap", "nothing"])
def test_a_proof_leaves_no_trace_in_the_caches_of_jax(wrap: str) -> None:
    notebook = Notebook()
    notebook.run(TWO)
    entry = notebook.namespace["entry"]
    wraps: dict[str, Callable[..., Any]] = {"jit": jax.jit, "vmap": jax.vmap}
    function = wraps[wrap](entry) if wrap in wraps else entry
    batch = (2,) if wrap == "vmap" else ()
    operand = jax.ShapeDtypeStruct((*batch, 8, 128), "float32")  # type: ignore[no-untyped-call]
    with notebook.recorder.installed():
        jax.make_jaxpr(function)(operand)
    calls = [call for call in notebook.recorder.calls if call.avals[0].shape == operand.shape]
    edit = notebook.edit("lambda: (0,), memory_space=pltpu.SMEM", "lambda: (0,)")
    failures = notebook.failures(calls[-1], notebook.target)
    claim = Claim(calls[-1], Candidate("fix", (edit,)), failures[-1], notebook.target)
    notebook.prover().prove(claim)
    with pytest.raises(Exception, match=r"TPU|scalar|SMEM"):
        jax.jit(function).trace(operand).lower(lowering_platforms=("tpu",))
    with pytest.raises(ValueError, match="Only interpret mode is supported on CPU backend"):
        jax.jit(function).trace(operand).lower()
