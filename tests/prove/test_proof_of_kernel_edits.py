"""Fixes in kernel functions, proved on real kernels of every shape a user writes."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import pytest

from pallas_magic.report import Proof, Span, TextEdit
from tests.prove.cells import Notebook

PROVED = Proof(gone=True, lowers=True, compiles=None, same_values=True)

ENTRY = """
def entry(x):
    return pl.pallas_call(
        {kernel},
        out_shape=jax.ShapeDtypeStruct((1, 1), jnp.float32),
        out_specs=pl.BlockSpec(memory_space=pltpu.SMEM),
    )(x)

jax.make_jaxpr({outer})(jax.ShapeDtypeStruct(({batch}8, 128), jnp.float32))
"""


def entry(kernel: str, outer: str = "entry", batch: str = "") -> str:
    return ENTRY.format(kernel=kernel, outer=outer, batch=batch)


STORE = "o_ref[...] = jnp.sum(x_ref[...], keepdims=True)"
SCALAR = "o_ref[0, 0] = jnp.sum(x_ref[...])"


@dataclasses.dataclass(frozen=True)
class Layout:
    """A cell whose kernel stores a vector to SMEM; the fix stores a scalar."""

    name: str
    text: str
    old: str = STORE
    new: str = SCALAR


LAYOUTS = (
    Layout("a function", f"def total(x_ref, o_ref):\n    {STORE}\n" + entry("total")),
    Layout(
        "a partial",
        f"def total(scale, x_ref, o_ref, *, shift):\n    {STORE}\n"
        + entry("functools.partial(functools.partial(total, 2.0), shift=1)"),
    ),
    Layout(
        "a lambda",
        "total = lambda x_ref, o_ref: o_ref.__setitem__(..., jnp.ones((1, 1)) * x_ref[0, 0])\n"
        + entry("total"),
        "o_ref.__setitem__(..., jnp.ones((1, 1)) * x_ref[0, 0])",
        "o_ref.__setitem__((0, 0), x_ref[0, 0])",
    ),
    Layout(
        "a lambda inside the call",
        entry("lambda x_ref, o_ref: o_ref.__setitem__(..., jnp.sum(x_ref[...], keepdims=True))"),
        "o_ref.__setitem__(..., jnp.sum(x_ref[...], keepdims=True))",
        "o_ref.__setitem__((0, 0), jnp.sum(x_ref[...]))",
    ),
    Layout(
        "a closure",
        """\
def make(scale):
    shift = scale + 1
    def total(x_ref, o_ref):
        o_ref[...] = jnp.sum(x_ref[...] * scale + shift, keepdims=True)
    return total
"""
        + entry("make(2.0)"),
        "o_ref[...] = jnp.sum(x_ref[...] * scale + shift, keepdims=True)",
        "o_ref[0, 0] = jnp.sum(x_ref[...] * scale + shift)",
    ),
    Layout(
        "a function in a kernel",
        f"""\
def total(x_ref, o_ref):
    @pl.when(True)
    def store():
        {STORE}
"""
        + entry("total"),
    ),
    Layout(
        "a helper",
        f"def store(x_ref, o_ref):\n    {STORE}\n\n"
        "def total(x_ref, o_ref):\n    store(x_ref, o_ref)\n" + entry("total"),
    ),
    Layout(
        "a helper that calls itself",
        f"""\
def store(x_ref, o_ref, depth):
    if depth:
        return store(x_ref, o_ref, depth - 1)
    {STORE}

def total(x_ref, o_ref):
    store(x_ref, o_ref, 3)
"""
        + entry("total"),
    ),
    Layout(
        "a helper passed by partial",
        f"def store(x_ref, o_ref):\n    {STORE}\n\n"
        "def total(x_ref, o_ref, how):\n    how(x_ref, o_ref)\n"
        + entry("functools.partial(total, how=store)"),
    ),
    Layout(
        "a decorated kernel",
        f"""\
def traced(function):
    @functools.wraps(function)
    def wrapper(*refs):
        return function(*refs)
    return wrapper

@traced
def total(x_ref, o_ref):
    {STORE}
"""
        + entry("total"),
    ),
    Layout(
        "a method",
        """\
class Sum:
    scale = 2.0

    def total(self, x_ref, o_ref):
        o_ref[...] = jnp.sum(self.scale * x_ref[...], keepdims=True)
"""
        + entry("Sum().total"),
        "o_ref[...] = jnp.sum(self.scale * x_ref[...], keepdims=True)",
        "o_ref[0, 0] = jnp.sum(self.scale * x_ref[...])",
    ),
    Layout(
        "two functions of one name",
        f"def total(x_ref, o_ref):\n    pass\n\ndef total(x_ref, o_ref):\n    {STORE}\n"
        + entry("total"),
    ),
    Layout(
        "two lambdas on a line",
        "first, total = (lambda a, b: None), (lambda x_ref, o_ref: "
        "o_ref.__setitem__(..., jnp.sum(x_ref[...], keepdims=True)))\n" + entry("total"),
        "o_ref.__setitem__(..., jnp.sum(x_ref[...], keepdims=True))",
        "o_ref.__setitem__((0, 0), jnp.sum(x_ref[...]))",
    ),
    Layout(
        "annotations of the future",
        "from __future__ import annotations\n"
        f"def total(x_ref: Missing, o_ref: Missing) -> None:\n    {STORE}\n" + entry("total"),
    ),
    Layout(
        "more lines than before",
        f"def total(x_ref, o_ref):\n    {STORE}\n" + entry("total"),
        STORE,
        "for row in range(1):\n        o_ref[row, 0] = jnp.sum(x_ref[...])",
    ),
    Layout(
        "a new function within",
        f"def total(x_ref, o_ref):\n    {STORE}\n" + entry("total"),
        STORE,
        "@pl.when(True)\n    def _():\n        o_ref[0, 0] = jnp.sum(x_ref[...])",
    ),
    Layout(
        "a name of JAX's imported for it",
        f"def total(x_ref, o_ref):\n    {STORE}\n" + entry("total"),
        f"def total(x_ref, o_ref):\n    {STORE}",
        "from jax import numpy as numbers\n"
        "def total(x_ref, o_ref):\n    o_ref[0, 0] = numbers.sum(x_ref[...])",
    ),
    Layout(
        "Greek before the store on its line",
        "def total(x_ref, o_ref):\n    κ = 'λ🎲'; " + STORE + "\n" + entry("total"),
    ),
    Layout(
        "a keyword-only default",
        f"def total(x_ref, o_ref, *, scale=2.0):\n    {STORE}\n" + entry("total"),
    ),
    Layout(
        "vmap of jit around",
        f"def total(x_ref, o_ref):\n    {STORE}\n"
        + entry("total", "jax.vmap(jax.jit(entry), in_axes=1)", "").replace(
            "8, 128), jnp", "8, 1, 128), jnp"
        ),
    ),
)


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_a_right_fix_is_safe(layout: Layout) -> None:
    notebook = Notebook()
    notebook.run(layout.text)
    verdict = notebook.prove(notebook.edit(layout.old, layout.new))
    assert verdict == (PROVED, "safe")


def test_a_helper_in_an_earlier_cell() -> None:
    notebook = Notebook()
    notebook.run(f"def store(x_ref, o_ref):\n    {STORE}\n")
    notebook.run("def total(x_ref, o_ref):\n    store(x_ref, o_ref)\n" + entry("total"))
    assert notebook.prove(notebook.edit(STORE, SCALAR, cell=1)) == (PROVED, "safe")


def test_edits_in_two_cells() -> None:
    notebook = Notebook()
    notebook.run(f"def total(x_ref, o_ref):\n    {STORE}\n")
    notebook.run(entry("total"))
    edits = (
        notebook.edit(STORE, SCALAR, cell=1),
        notebook.edit("pltpu.SMEM", "pltpu.MemorySpace.SMEM"),
    )
    assert notebook.prove(*edits) == (PROVED, "safe")


def test_the_users_functions_and_names_stay_as_they_are() -> None:
    notebook = Notebook()
    notebook.run(
        f"""\
traced = 0
def store(x_ref, o_ref):
    global traced
    traced += 1
    {STORE}

def total(x_ref, o_ref):
    store(x_ref, o_ref)
"""
        + entry("total")
    )
    before = dict(notebook.namespace)
    codes = before["store"].__code__, before["total"].__code__
    assert notebook.prove(notebook.edit(STORE, SCALAR)) == (PROVED, "safe")
    assert notebook.namespace == before
    assert (before["store"].__code__, before["total"].__code__) == codes


def test_what_a_kernel_prints_is_not_printed_again(capsys: pytest.CaptureFixture[str]) -> None:
    notebook = Notebook()
    notebook.run(
        f"""\
import sys, warnings
def total(x_ref, o_ref):
    print("tracing", x_ref.shape)
    print("tracing", file=sys.stderr)
    warnings.warn("traced")
    {STORE}
"""
        + entry("total")
    )
    capsys.readouterr()
    assert notebook.prove(notebook.edit(STORE, SCALAR)) == (PROVED, "safe")
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("how", ["import {0}", "from {0} import store"])
def test_a_helper_in_a_file(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"helper_{'module' if how.startswith('import') else 'name'}"
    file = tmp_path / f"{name}.py"
    file.write_text(f"import jax.numpy as jnp\n\ndef store(x_ref, o_ref):\n    {STORE}\n")
    monkeypatch.syspath_prepend(tmp_path)
    notebook = Notebook()
    called = f"{name}.store" if how.startswith("import") else "store"
    kernel = f"def total(x_ref, o_ref):\n    {called}(x_ref, o_ref)\n"
    notebook.run(how.format(name) + "\n" + kernel + entry("total"))
    module = sys.modules.pop(name)
    before = dict(vars(module))
    document = notebook.library.find(str(file))
    assert document is not None
    span = Span(document.key, 4, 4, 4, 4 + len(STORE))
    assert notebook.prove(TextEdit(span, SCALAR)) == (PROVED, "safe")
    assert dict(vars(module)) == before
