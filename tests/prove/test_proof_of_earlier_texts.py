"""Fixes of what was built in cells and modules that ran before the check."""

from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import jax
import pytest

from pallas_magic.report import Proof, TextEdit
from tests.prove.cells import HEADER, Notebook

PROVED = Proof(gone=True, lowers=True, compiles=None, same_values=True)

HISTOGRAM = """\
def histogram(x_ref, counts_ref):
    counts_ref[...] = jnp.sum((x_ref[...] > 0).astype(jnp.int32), axis=0)
"""
ADD = """\
def add(x_ref, y_ref, o_ref):
    o_ref[...] = x_ref[...] + y_ref[...]
"""
X = "jax.ShapeDtypeStruct((8, 128), jnp.float32)"
OUT = "jax.ShapeDtypeStruct((128,), jnp.int32)"


@dataclasses.dataclass(frozen=True)
class Layout:
    """Cells of which only the last is checked, and the one edit, in cell ``cell``, that mends."""

    name: str
    cells: tuple[str, ...]
    checked: str
    cell: int
    old: str = "pltpu.SMEM"
    new: str = "pltpu.VMEM"


LAYOUTS = (
    Layout(
        "a call put together in an earlier cell",
        (
            HISTOGRAM,
            f"""\
f = pl.pallas_call(
    histogram,
    out_shape={OUT},
    out_specs=pl.BlockSpec(memory_space=pltpu.SMEM),
)
""",
        ),
        f"jax.make_jaxpr(f)({X})",
        2,
    ),
    Layout(
        "its kernel",
        (
            "def total(x_ref, o_ref):\n    o_ref[...] = jnp.sum(x_ref[...], keepdims=True)\n",
            """\
f = pl.pallas_call(
    total,
    out_shape=jax.ShapeDtypeStruct((1, 1), jnp.float32),
    out_specs=pl.BlockSpec(memory_space=pltpu.SMEM),
)
""",
        ),
        f"jax.make_jaxpr(f)({X})",
        1,
        "o_ref[...] = jnp.sum(x_ref[...], keepdims=True)",
        "o_ref[0, 0] = jnp.sum(x_ref[...])",
    ),
    Layout(
        "a spec added to a call of an earlier cell",
        (
            "def total(x_ref, o_ref):\n    o_ref[0] = jnp.sum(x_ref[...])\n",
            "f = jax.jit(pl.pallas_call(total, jax.ShapeDtypeStruct((1,), jnp.float32)))\n",
        ),
        f"jax.make_jaxpr(f)({X})",
        2,
        "jnp.float32)))",
        "jnp.float32), out_specs=pl.BlockSpec(memory_space=pltpu.SMEM)))",
    ),
    Layout(
        "a decorator of an earlier cell",
        (
            f"""\
@functools.partial(
    pl.pallas_call, out_shape={OUT}, out_specs=pl.BlockSpec(memory_space=pltpu.SMEM)
)
{HISTOGRAM}""",
        ),
        f"jax.make_jaxpr(histogram)({X})",
        1,
    ),
    Layout(
        "a partial kernel and a size of an earlier cell",
        (
            """\
def scale(by, x_ref, o_ref):
    o_ref[...] = x_ref[...] * by
""",
            "rows = 8\nshape = jax.ShapeDtypeStruct((16, 128), jnp.float32)\n",
            """\
f = pl.pallas_call(
    functools.partial(scale, 3.0),
    shape,
    grid=2,
    in_specs=[pl.BlockSpec((rows, 128), lambda i: (i, 0), memory_space=pltpu.SMEM)],
    out_specs=pl.BlockSpec((rows, 128), lambda i: (i, 0)),
)
""",
        ),
        "jax.make_jaxpr(f)(shape)",
        3,
    ),
    Layout(
        "a spec of an earlier cell",
        (HISTOGRAM, "counted = pl.BlockSpec(memory_space=pltpu.SMEM)\n"),
        f"jax.make_jaxpr(pl.pallas_call(histogram, out_shape={OUT}, out_specs=counted))({X})",
        2,
    ),
    Layout(
        "a scratch shape of an earlier cell",
        (
            """\
def square(x_ref, o_ref, acc_ref):
    acc_ref[...] = x_ref[...] * x_ref[...]
    o_ref[...] = acc_ref[...] + 1.0
""",
            "acc = pltpu.SMEM((8, 128), jnp.float32)\n",
        ),
        f"jax.make_jaxpr(pl.pallas_call(square, {X}, scratch_shapes=[acc]))({X})",
        2,
    ),
    Layout(
        "a list of specs, a function that calls, and its call",
        (
            ADD,
            """\
specs = [
    pl.BlockSpec((8, 128), lambda i: (i, 0), memory_space=pltpu.SMEM),
    pl.BlockSpec((8, 128), lambda i: (i, 0)),
]
""",
            """\
def entry(x, y):
    return pl.pallas_call(
        add,
        grid=(2,),
        in_specs=specs,
        out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((16, 128), jnp.float32),
    )(x, y)
""",
        ),
        "jax.make_jaxpr(entry)(*[jax.ShapeDtypeStruct((16, 128), jnp.float32)] * 2)",
        2,
    ),
    Layout(
        "a name in a list of specs",
        (
            ADD,
            "small = pl.BlockSpec(memory_space=pltpu.SMEM)\n",
            "specs = small, small\n",
        ),
        f"jax.make_jaxpr(pl.pallas_call(add, {X}, in_specs=specs))({X}, {X})",
        3,
        "small, small",
        "pl.BlockSpec(memory_space=pltpu.VMEM), pl.BlockSpec(memory_space=pltpu.VMEM)",
    ),
    Layout(
        "specs given to the function that calls",
        (
            ADD,
            "specs = {'in': pl.BlockSpec(memory_space=pltpu.SMEM), 'out': pl.BlockSpec()}\n",
            f"""\
def entry(x, y, specs):
    return pl.pallas_call(
        add, {X}, in_specs=[specs["in"], specs["in"]], out_specs=specs["out"]
    )(x, y)
""",
        ),
        f"jax.make_jaxpr(lambda x, y: entry(x, y, specs))({X}, {X})",
        2,
    ),
    Layout(
        "a grid spec of an earlier cell",
        (
            "def total(x_ref, o_ref):\n    o_ref[0] = jnp.sum(x_ref[...])\n",
            "grid_spec = pl.GridSpec(grid=(1,))\n",
        ),
        f"""\
shape = jax.ShapeDtypeStruct((1,), jnp.float32)
jax.make_jaxpr(pl.pallas_call(total, grid_spec=grid_spec, out_shape=shape))({X})
""",
        2,
        "grid=(1,)",
        "grid=(1,), out_specs=pl.BlockSpec(memory_space=pltpu.SMEM)",
    ),
    Layout(
        "specs in a grid spec of an earlier cell",
        (
            HISTOGRAM,
            """\
grid_spec = pltpu.PrefetchScalarGridSpec(
    num_scalar_prefetch=0,
    grid=(1,),
    in_specs=[pl.BlockSpec()],
    out_specs=pl.BlockSpec(memory_space=pltpu.SMEM),
)
""",
        ),
        f"jax.make_jaxpr(pl.pallas_call(histogram, grid_spec=grid_spec, out_shape={OUT}))({X})",
        2,
    ),
    Layout(
        "the name was another spec before",
        (
            HISTOGRAM,
            "counted = pl.BlockSpec((8, 128), lambda: (0, 0))\n",
            "counted = pl.BlockSpec(memory_space=pltpu.SMEM)\n",
        ),
        f"jax.make_jaxpr(pl.pallas_call(histogram, out_shape={OUT}, out_specs=counted))({X})",
        3,
    ),
)


def prove(layout: Layout) -> tuple[Proof, str | None]:
    notebook = Notebook()
    for text in layout.cells:
        notebook.add(text)
    notebook.run(layout.checked)
    return notebook.prove(notebook.edit(layout.old, layout.new, layout.cell))


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_a_right_fix_is_safe(layout: Layout) -> None:
    assert prove(layout) == (PROVED, "safe")


CALL = f"jax.make_jaxpr(pl.pallas_call(histogram, out_shape={OUT}, out_specs=counted))({X})"


def test_a_gpu_kernel_of_an_earlier_cell() -> None:
    notebook = Notebook(
        "gpu:h100",
        """\
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
""",
    )
    notebook.add("""\
def kernel(x_ref, o_ref, buf_ref):
    @plgpu.warp_map
    def _(warp):
        buf_ref[...] = x_ref[...]
    o_ref[...] = buf_ref[...]
""")
    out, scratch = (
        ("out_type", "scratch_types")
        if jax.__version_info__ >= (0, 11)
        else ("out_shape", "scratch_shapes")
    )
    notebook.add(f"""\
f = plgpu.kernel(
    kernel,
    {out}=jax.ShapeDtypeStruct((128,), jnp.float32),
    {scratch}=[plgpu.SMEM((128,), jnp.float32)],
)
""")
    notebook.run("jax.make_jaxpr(f)(jax.ShapeDtypeStruct((128,), jnp.float32))")
    region = "@plgpu.warp_map\n    def _(warp):\n        buf_ref[...] = x_ref[...]"
    hoisted = notebook.edit(region, "buf_ref[...] = x_ref[...]", 1)
    proof, applicability = notebook.prove(hoisted)
    assert (proof.gone, proof.lowers, applicability in ("safe", "unsafe")) == (True, True, True)
    smaller = notebook.edit("SMEM((128,)", "SMEM((64,)", 2)
    proof, applicability = notebook.prove(hoisted, smaller)
    assert applicability is None
    assert proof.why.startswith("the edited kernel fails: ")


UNCERTAIN = (
    Layout(
        "the text of the name is not what it holds",
        (
            HISTOGRAM,
            "counted = pl.BlockSpec((128,), memory_space=pltpu.SMEM)\ncounted.block_shape = None\n",
        ),
        CALL,
        2,
    ),
    Layout(
        "the name is bound twice",
        (
            HISTOGRAM,
            "counted = None\ncounted = pl.BlockSpec(memory_space=pltpu.SMEM)\n",
        ),
        CALL,
        2,
    ),
    Layout(
        "the name was bound again, in another way",
        (
            HISTOGRAM,
            "counted = pl.BlockSpec(memory_space=pltpu.SMEM)\n",
            "for counted in [pl.BlockSpec(memory_space=pltpu.SMEM)]:\n    pass\n",
        ),
        CALL,
        2,
    ),
    Layout(
        "a function of the user's built it",
        (
            HISTOGRAM,
            """\
def in_smem():
    return pl.BlockSpec(memory_space=pltpu.SMEM)

counted = in_smem()
""",
        ),
        CALL,
        2,
    ),
    Layout(
        "a list that was added to",
        (
            HISTOGRAM,
            "specs = [pl.BlockSpec(memory_space=pltpu.SMEM)]\nspecs.append(pl.BlockSpec())\n",
        ),
        CALL.replace("=counted", "=specs[0]"),
        2,
    ),
    Layout(
        "another call by the same text",
        (
            HISTOGRAM,
            f"""\
f = pl.pallas_call(histogram, {OUT}, out_specs=pl.BlockSpec(memory_space=pltpu.SMEM))
other = pl.BlockSpec(None, None, memory_space=pltpu.SMEM)
g = pl.pallas_call(histogram, {OUT}, out_specs=other)
""",
        ),
        f"jax.make_jaxpr(f)({X})",
        2,
        "None, None, memory_space=pltpu.SMEM",
        "",
    ),
    Layout(
        "a kernel that is another one now",
        (
            HISTOGRAM,
            f"""\
f = pl.pallas_call(histogram, {OUT}, out_specs=pl.BlockSpec(memory_space=pltpu.SMEM))
""",
            "def histogram(x_ref, o_ref):\n    o_ref[...] = x_ref[0]\n",
        ),
        f"jax.make_jaxpr(f)({X})",
        2,
    ),
)


@pytest.mark.parametrize("layout", UNCERTAIN, ids=lambda layout: layout.name)
def test_what_is_not_certain_is_not_proved(layout: Layout) -> None:
    proof, applicability = prove(layout)
    assert applicability == "display"
    is_call_earlier = "make_jaxpr(f)" in layout.checked
    assert re.fullmatch(
        rf"line \d of In\[{layout.cell}\] ran before the check: what it built is not known"
        if is_call_earlier
        else rf"line \d of In\[{layout.cell}\] is neither in the kernel nor in its specs",
        proof.why,
    )


def test_a_name_that_may_have_changed_is_not_used() -> None:
    notebook = Notebook()
    notebook.add(HISTOGRAM)
    notebook.add("counted = pl.BlockSpec(memory_space=pltpu.SMEM)\n")
    notebook.add("space = pltpu.VMEM\nspaces = [space]\n")
    notebook.run(CALL)
    proof, applicability = notebook.prove(notebook.edit("pltpu.SMEM", "spaces[0]", 2))
    assert applicability == "display"
    assert proof.why == "`spaces` may have been something else when this was built"


def test_nothing_that_has_an_effect_runs_again() -> None:
    notebook = Notebook()
    notebook.add(HISTOGRAM)
    notebook.add("""\
seen = []

def count(value):
    seen.append(value)
    return value

f = pl.pallas_call(
    histogram,
    out_shape=jax.ShapeDtypeStruct(count((128,)), jnp.int32),
    out_specs=pl.BlockSpec(memory_space=pltpu.SMEM),
    name=count("counts"),
)
""")
    notebook.run(f"jax.make_jaxpr(f)({X})")
    assert notebook.prove(notebook.edit("pltpu.SMEM", "pltpu.VMEM", 2)) == (PROVED, "safe")
    assert notebook.namespace["seen"] == [(128,), "counts"]


KERNELS = f"""\
import jax.numpy as jnp


{HISTOGRAM}"""
SPECS = """\
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

SIZE = 128
SPECS = [pl.BlockSpec(memory_space=pltpu.SMEM)]
"""
CALLS = """\
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from {kernels} import histogram
from {specs} import SIZE, SPECS

count = pl.pallas_call(
    histogram, out_shape=jax.ShapeDtypeStruct((SIZE,), jnp.int32), out_specs=SPECS[0]
)


def count_again(x):
    shape = jax.ShapeDtypeStruct((SIZE,), jnp.int32)
    return pl.pallas_call(histogram, out_shape=shape, out_specs=SPECS[0])(x)
"""


@dataclasses.dataclass(frozen=True)
class Modules:
    """Names of three modules of the user's, imported before the check."""

    folder: Path
    kernels: str
    specs: str
    calls: str

    def edit(self, notebook: Notebook, module: str, old: str, new: str) -> TextEdit:
        document = notebook.library.find(str(self.folder / f"{module}.py"))
        assert document is not None
        return notebook.edit_in(document.key, old, new)


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Modules]:
    names = [f"{kind}_{tmp_path.name}" for kind in ("kernels", "specs", "calls")]
    texts = (KERNELS, SPECS, CALLS.format(kernels=names[0], specs=names[1]))
    for name, text in zip(names, texts, strict=True):
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    yield Modules(tmp_path, *names)
    for name in names:
        sys.modules.pop(name, None)


@pytest.mark.parametrize("function", ["count", "count_again"])
@pytest.mark.parametrize("how", ["import {0}\nrun = {0}.{1}\n", "from {0} import {1} as run\n"])
def test_a_spec_of_an_imported_module(function: str, how: str, modules: Modules) -> None:
    notebook = Notebook()
    notebook.add(how.format(modules.calls, function))
    notebook.run(f"jax.make_jaxpr(run)({X})")
    edit = modules.edit(notebook, modules.specs, "pltpu.SMEM", "pltpu.VMEM")
    assert notebook.prove(edit) == (PROVED, "safe")


@pytest.mark.parametrize("function", ["count", "count_again"])
def test_a_call_of_an_imported_module(function: str, modules: Modules) -> None:
    notebook = Notebook()
    notebook.add(f"import {modules.calls}\nrun = {modules.calls}.{function}\n")
    notebook.run(f"jax.make_jaxpr(run)({X})")
    old = ", out_specs=SPECS[0]"
    old = f"jnp.int32){old}" if function == "count" else f"=shape{old}"
    edit = modules.edit(notebook, modules.calls, old, old.replace("SPECS[0]", "pl.BlockSpec()"))
    assert notebook.prove(edit) == (PROVED, "safe")


def test_a_module_that_changed_on_disk_is_not_believed(modules: Modules) -> None:
    notebook = Notebook()
    notebook.add(f"import {modules.calls}\nrun = {modules.calls}.count\n")
    path = modules.folder / f"{modules.specs}.py"
    path.write_text(SPECS.replace("[pl", "[pl.BlockSpec(), pl"))
    notebook.run(f"jax.make_jaxpr(run)({X})")
    edit = modules.edit(notebook, modules.specs, "pltpu.SMEM", "pltpu.VMEM")
    _, applicability = notebook.prove(edit)
    assert applicability == "display"


INDEX_MAP = """\
def copy(x_ref, o_ref):
    o_ref[...] = x_ref[...]

def rows(i):
    return {first}

def entry(x):
    block = pl.BlockSpec((8, 128), rows)
    return pl.pallas_call(
        copy,
        grid=(2, 2),
        in_specs=[block],
        out_specs=pl.BlockSpec((8, 128), lambda i, j: (i, j)),
        out_shape=jax.ShapeDtypeStruct((16, 256), jnp.float32),
    )(x)
"""
TRACED = Proof(gone=True, lowers=True, why="there is no original program to compare with")
WHOLE = "jax.ShapeDtypeStruct((16, 256), jnp.float32)"


@pytest.mark.parametrize("is_earlier", [True, False])
def test_an_index_map_that_is_a_function(is_earlier: bool) -> None:
    notebook = Notebook()
    text, call = INDEX_MAP.format(first="i, 0"), f"jax.make_jaxpr(entry)({WHOLE})\n"
    if is_earlier:
        notebook.add(text)
        notebook.fail(call)
    else:
        notebook.fail(text + call)
    edit = notebook.edit("rows(i):\n    return i, 0", "rows(i, j):\n    return i, j", 1)
    assert notebook.prove_unfinished(edit, mechanical=True) == (TRACED, "safe")


def test_lambdas_of_earlier_specs_that_share_a_line() -> None:
    notebook = Notebook()
    notebook.add("""\
def copy(x_ref, y_ref, o_ref):
    o_ref[...] = x_ref[...] + y_ref[...]
""")
    notebook.add("""\
def blocks():
    return [pl.BlockSpec((8, 128), lambda i: (i, 0)), pl.BlockSpec((8, 128), lambda i: (0, i))]
""")
    notebook.add("specs = blocks()\nunused = blocks()\n")
    notebook.fail(f"""\
block = pl.BlockSpec((8, 128), lambda i, j: (i, j))
f = pl.pallas_call(
    copy, grid=(2, 2), in_specs=[specs[0], block], out_specs=block, out_shape={WHOLE}
)
jax.make_jaxpr(f)({WHOLE}, {WHOLE})
""")
    used = notebook.edit("lambda i: (i, 0)", "lambda i, j: (i, j)", 2)
    unused = notebook.edit("lambda i: (0, i)", "lambda i, j: (j, i)", 2)
    assert notebook.prove_unfinished(used, mechanical=True) == (TRACED, "safe")
    proof, applicability = notebook.prove_unfinished(used, unused, mechanical=True)
    assert applicability == "display"
    assert proof.why == "line 2 of In[2] is neither in the kernel nor in its specs"


CAPTURED = """\
def add_bias(x_ref, o_ref):
    o_ref[...] = x_ref[...] + bias

def entry(x):
    return pl.pallas_call(add_bias, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))(x)
"""


def pass_bias(notebook: Notebook, kernel: int, call: int) -> tuple[TextEdit, ...]:
    return (
        notebook.edit("(x_ref, o_ref)", "(x_ref, bias_ref, o_ref)", kernel),
        notebook.edit("+ bias", "+ bias_ref[...]", kernel),
        notebook.edit(")(x)", ")(x, bias)", call),
    )


@pytest.mark.parametrize("array", ["jnp.arange(128.0)", "np.hanning(128).astype(np.float32)"])
@pytest.mark.parametrize("outer", ["entry", "jax.jit(entry)"])
def test_a_captured_array_becomes_an_operand(array: str, outer: str) -> None:
    notebook = Notebook()
    notebook.add(f"import numpy as np\nbias = {array}\n")
    notebook.add(CAPTURED)
    notebook.fail(f"jax.make_jaxpr({outer})({X})\n")
    edits = pass_bias(notebook, 2, 2)
    assert notebook.prove_unfinished(*edits, mechanical=True) == (TRACED, "safe")


def test_an_operand_that_is_traced() -> None:
    notebook = Notebook()
    inner = (
        CAPTURED.replace("def entry(x):\n", "").replace("\n", "\n    ").replace("       r", "   r")
    )
    notebook.fail(f"def entry(x, bias):\n    {inner}\njax.make_jaxpr(entry)({X}, {X})\n")
    edits = pass_bias(notebook, 1, 1)
    assert notebook.prove_unfinished(*edits, mechanical=True) == (TRACED, "safe")


def test_another_array_of_the_same_name_is_no_operand() -> None:
    notebook = Notebook()
    notebook.add("bias = jnp.arange(128.0)\n")
    notebook.add(CAPTURED.replace("def entry(x):", "def entry(x, bias):"))
    notebook.fail(f"jax.make_jaxpr(entry)({X}, {X})\n")
    proof, applicability = notebook.prove_unfinished(*pass_bias(notebook, 2, 2), mechanical=True)
    assert applicability == "display"
    assert proof.why == "`bias` is another array where the kernel is called"


@pytest.mark.parametrize(
    ("new", "why"),
    [
        (")(bias, x)", "the kernel is called with other operands"),
        (")(x, pl)", "`pl` is no array where the kernel is called"),
        (")(x, jnp.sin(bias))", "`jnp.sin(...)` would have to be called again"),
    ],
)
def test_other_operands_are_not_tried(new: str, why: str) -> None:
    notebook = Notebook()
    notebook.add("bias = jnp.arange(128.0)\n")
    notebook.fail(CAPTURED + f"jax.make_jaxpr(entry)({X})\n")
    *kernel, _ = pass_bias(notebook, 2, 2)
    proof, applicability = notebook.prove_unfinished(*kernel, notebook.edit(")(x)", new, 2))
    assert (proof.why, applicability) == (why, "display")


@pytest.mark.parametrize(("before", "applicability"), [("", "safe"), ("counted = ", "display")])
def test_a_script_that_left_its_names(before: str, applicability: str, tmp_path: Path) -> None:
    spec = "pl.BlockSpec(memory_space=pltpu.SMEM)\n"
    text = f"{HEADER}{HISTOGRAM}\ncounted = {spec}"
    path = tmp_path / "script.py"
    path.write_text(text)
    notebook = Notebook()
    notebook.add(before + spec)  # where it is assigned, either text may have made the object
    names = {"__name__": "__main__", "__file__": str(path)}
    exec(compile(text, str(path), "exec"), names)
    notebook.namespace |= {name: value for name, value in names.items() if name != "__file__"}
    notebook.run(CALL)
    script = notebook.library.find(str(path))
    assert script is not None
    edit = notebook.edit_in(script.key, "pltpu.SMEM", "pltpu.VMEM")
    assert notebook.prove(edit)[1] == applicability
