"""Fixes that are wrong, that cannot be tried, or whose values cannot be compared."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from pallas_magic.prove.verdict import Verdict
from tests.prove.cells import HEADER, Notebook

STORE = "o_ref[...] = jnp.sum(x_ref[...], keepdims=True)"
SCALAR = "o_ref[0, 0] = jnp.sum(x_ref[...])"


def cell(kernel: str, outer: str = "entry") -> str:
    return f"""{kernel}

def entry(x):
    return pl.pallas_call(
        total,
        out_shape=jax.ShapeDtypeStruct((1, 1), jnp.float32),
        out_specs=pl.BlockSpec(memory_space=pltpu.SMEM),
    )(x)

jax.make_jaxpr({outer})(jax.ShapeDtypeStruct((8, 128), jnp.float32))
"""


TOTAL = cell(f"def total(x_ref, o_ref):\n    {STORE}\n")


def prove(text: str, old: str, new: str) -> Verdict:
    notebook = Notebook()
    notebook.run(text)
    return notebook.prove(notebook.edit(old, new))


@dataclasses.dataclass(frozen=True)
class Wrong:
    """An edit that must not become a safe fix, and what is said of it."""

    name: str
    text: str
    old: str
    new: str
    applicability: str | None
    why: str


COUNT = """\
def histogram(x_ref, counts_ref):
    counts_ref[...] = jnp.sum((x_ref[...] > 0).astype(jnp.int32), axis=0)

def count(x):
    return pl.pallas_call(
        histogram,
        out_shape=jax.ShapeDtypeStruct((128,), jnp.int32),
        out_specs=pl.BlockSpec(memory_space=pltpu.SMEM),
    )(x)

jax.make_jaxpr(count)(jax.ShapeDtypeStruct((8, 128), jnp.float32))
"""

CASES = (
    Wrong("other values", TOTAL, STORE, SCALAR + " * 2", None, "the values differ"),
    Wrong(
        "fewer elements are written",
        COUNT,
        "counts_ref[...] = jnp.sum((x_ref[...] > 0).astype(jnp.int32), axis=0)",
        "counts_ref[0] = jnp.sum((x_ref[...] > 0).astype(jnp.int32))",
        None,
        "other elements of the output are written",
    ),
    Wrong(
        "nothing changes", TOTAL, STORE, STORE + "  # to SMEM", None, "the failure is still there"
    ),
    Wrong(
        "another failure",
        TOTAL,
        STORE,
        SCALAR + "\n    x_ref[...] = jnp.flip(x_ref[...], 0)",
        None,
        "another failure comes up",
    ),
    Wrong(
        "does not trace",
        TOTAL,
        STORE,
        SCALAR + " + missing",
        None,
        "the edited kernel fails: name 'missing' is not defined",
    ),
    Wrong(
        "does not parse",
        TOTAL,
        STORE,
        SCALAR + " +",
        "display",
        "the edited text does not parse: invalid syntax",
    ),
    Wrong(
        "outside kernel and specs",
        TOTAL,
        "jax.make_jaxpr(entry)",
        "jax.eval_shape(entry)",
        "display",
        "line 12 of In[1] is neither in the kernel nor in its specs",
    ),
    Wrong(
        "the user's own function would be called",
        COUNT,
        "pl.BlockSpec(memory_space=pltpu.SMEM)",
        "count(None)",
        "display",
        "`count(...)` would have to be called again",
    ),
    Wrong(
        "another kernel",
        COUNT,
        "        histogram,\n",
        "        count,\n",
        "display",
        "`kernel=` of `pl.pallas_call` changes",
    ),
    Wrong(
        "another type for the caller",
        cell(
            "def total(x_ref, o_ref):\n"
            "    o_ref[...] = jnp.full(o_ref.shape, jnp.sum(x_ref[...]))\n"
        ),
        "(1, 1), jnp.float32),\n        out_specs=pl.BlockSpec(memory_space=pltpu.SMEM)",
        "(8, 128), jnp.float32)",
        "unsafe",
        "the caller gets another shape or dtype",
    ),
    Wrong(
        "how the kernel is defined",
        TOTAL,
        "def total(x_ref, o_ref):\n    " + STORE,
        "def total(x_ref, o_ref, scale=2):\n    " + SCALAR,
        "display",
        "the edit changes how a function is defined",
    ),
    Wrong(
        "another name of outside the kernel",
        cell(
            "def make(scale):\n"
            f"    def total(x_ref, o_ref):\n        {STORE}\n"
            "    return total\ntotal = make(2.0)\n"
        ),
        STORE,
        SCALAR + " * scale",
        "display",
        "the edited `total` uses `scale` of outside it",
    ),
    Wrong(
        "a helper behind jit",
        cell(
            "@jax.jit\ndef double(x):\n    return x + x\n\n"
            "def total(x_ref, o_ref):\n    o_ref[...] = double(x_ref[:1, :1])\n"
        ),
        "    return x + x",
        "    return x * 2",
        "display",
        "line 3 of In[1] is neither in the kernel nor in its specs",
    ),
    Wrong(
        "random numbers",
        cell(f"def total(x_ref, o_ref):\n    pltpu.prng_seed(0)\n    {STORE}\n"),
        STORE,
        SCALAR,
        "unsafe",
        "it draws random numbers",
    ),
    Wrong(
        "prints while it runs",
        cell(f'def total(x_ref, o_ref):\n    pl.debug_print("here")\n    {STORE}\n'),
        STORE,
        SCALAR,
        "unsafe",
        "it calls back to Python while it runs",
    ),
    Wrong(
        "always the same output",
        cell("def total(x_ref, o_ref):\n    o_ref[...] = jnp.maximum(x_ref[:1, :1], 1e9)\n"),
        "o_ref[...] = jnp.maximum(x_ref[:1, :1], 1e9)",
        "o_ref[0, 0] = jnp.maximum(x_ref[0, 0], 1e9)",
        "unsafe",
        "the outputs do not vary with the inputs",
    ),
    Wrong(
        "undefined values",
        cell("def total(x_ref, o_ref):\n    o_ref[...] = jnp.log(-jnp.abs(x_ref[:1, :1]))\n"),
        "o_ref[...] = jnp.log(-jnp.abs(x_ref[:1, :1]))",
        "o_ref[0, 0] = jnp.log(-jnp.abs(x_ref[0, 0]))",
        "unsafe",
        "most values are undefined in interpret mode",
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_fix_that_was_not_shown_right_is_not_safe(case: Wrong) -> None:
    proof, applicability = prove(case.text, case.old, case.new)
    assert (applicability, proof.why) == (case.applicability, case.why)


def test_a_constant_output_that_reads_nothing_is_the_same() -> None:
    text = cell("def total(x_ref, o_ref):\n    o_ref[...] = jnp.zeros((1, 1))\n")
    _, applicability = prove(text, "o_ref[...] = jnp.zeros((1, 1))", "o_ref[0, 0] = 0.0")
    assert applicability == "safe"


def test_the_rules_own_bound_is_kept() -> None:
    notebook = Notebook()
    notebook.run(TOTAL)
    proof, applicability = notebook.prove(notebook.edit(STORE, SCALAR), applicability="unsafe")
    assert (proof.same_values, applicability) == (True, "unsafe")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, None),
        ({"applicability": "unsafe"}, "unsafe"),
        ({"keeps_values": False}, "unsafe"),
        ({"applicability": "unsafe", "keeps_values": True}, None),
    ],
)
def test_other_values_refute_what_claims_to_keep_them(
    options: dict[str, Any], expected: str | None
) -> None:
    notebook = Notebook()
    notebook.run(TOTAL)
    proof, applicability = notebook.prove(notebook.edit(STORE, SCALAR + " * 2"), **options)
    assert (proof.gone, proof.lowers, proof.same_values) == (True, True, False)
    assert applicability == expected


def test_rounding_is_let_pass_only_where_sums_are_reordered() -> None:
    text = cell("def total(x_ref, o_ref):\n    o_ref[...] = jnp.sum(x_ref[...], keepdims=True)\n")
    notebook = Notebook()
    notebook.run(text)
    edit = notebook.edit(STORE, "o_ref[0, 0] = jnp.sum(jnp.sum(x_ref[...], axis=1)) * 1.0000002")
    exactly, rounded = (notebook.prove(edit, exact=exact) for exact in (True, False))
    assert exactly[0].why == "the values differ in their last digits"
    assert (exactly[1], rounded[1]) == ("unsafe", "safe")


def test_a_kernel_that_would_not_be_traced_the_same_is_not_trusted() -> None:
    notebook = Notebook()
    scaled = "o_ref[...] = jnp.sum(x_ref[...] * scale, keepdims=True)"
    notebook.run(cell(f"scale = 2.0\ndef total(x_ref, o_ref):\n    {scaled}\n"))
    notebook.namespace["scale"] = 3.0
    edit = notebook.edit(scaled, SCALAR)
    proof, applicability = notebook.prove(edit)
    assert (proof.gone, proof.lowers, applicability) == (True, True, "unsafe")
    assert proof.why == "the kernel traced again is not the one that ran"


def test_a_large_kernel_is_not_run() -> None:
    text = COUNT.replace("(8, 128)", "(65536, 128)")
    proof, applicability = prove(text, "pltpu.SMEM", "pltpu.VMEM")
    assert (proof.why, applicability) == ("too large to run in interpret mode here", "unsafe")


def test_what_remains_is_counted() -> None:
    kernel = f"def total(x_ref, o_ref):\n    {STORE}\n    x_ref[...] = jnp.flip(x_ref[...], 0)\n"
    proof, applicability = prove(cell(kernel), STORE, SCALAR)
    assert (proof.gone, proof.lowers, proof.remaining) == (True, False, 1)
    assert applicability == "safe"


def test_a_compiler_that_refuses_the_fix_is_believed() -> None:
    notebook = Notebook()
    notebook.run(TOTAL)
    claim = notebook.claim(notebook.edit(STORE, SCALAR))
    for answer, expected in ((True, "safe"), (False, "unsafe"), (None, "safe")):
        prover = notebook.prover(compile_stage=lambda call, target, answer=answer: answer)
        proof, applicability = prover.prove(claim)
        assert (proof.compiles, applicability) == (answer, expected)


def test_a_change_to_the_file_after_its_import_is_noticed() -> None:
    notebook = Notebook()
    notebook.run(TOTAL)
    edit = notebook.edit(STORE, SCALAR)
    function = notebook.namespace["total"]
    function.__code__ = compile(
        f"def total(x_ref, o_ref):\n    pass\n    {STORE}\n", "<cell-1>", "exec"
    ).co_consts[0]
    _, applicability = notebook.prove(edit)
    assert applicability == "display"


def test_ctrl_c_ends_a_proof_and_leaves_streams_as_they_were() -> None:
    import sys

    notebook = Notebook()
    notebook.run(HEADER + TOTAL)
    claim = notebook.claim(notebook.edit(STORE, SCALAR))
    streams = sys.stdout, sys.stderr

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    prover = notebook.prover(compile_stage=interrupted)
    with pytest.raises(KeyboardInterrupt):
        prover.prove(claim)
    assert (sys.stdout, sys.stderr) == streams
