"""Fixes in specs, scratch shapes and grid specs, proved on real kernels."""

from __future__ import annotations

import dataclasses

import pytest

from pallas_magic.report import Proof
from tests.prove.cells import Notebook

PROVED = Proof(gone=True, lowers=True, compiles=None, same_values=True)

HISTOGRAM = """\
def histogram(x_ref, counts_ref):
    counts_ref[...] = jnp.sum((x_ref[...] > 0).astype(jnp.int32), axis=0)

"""
ADD = """\
def add(x_ref, y_ref, o_ref):
    o_ref[...] = x_ref[...] + y_ref[...]

"""


@dataclasses.dataclass(frozen=True)
class Layout:
    """A cell with a broken kernel and the one edit that mends it."""

    name: str
    text: str
    old: str
    new: str


LAYOUTS = (
    Layout(
        "the only output",
        HISTOGRAM
        + """\
def count(x):
    return pl.pallas_call(
        histogram,
        out_shape=jax.ShapeDtypeStruct((128,), jnp.int32),
        out_specs=pl.BlockSpec(memory_space=pltpu.SMEM),
    )(x)

jax.make_jaxpr(count)(jax.ShapeDtypeStruct((8, 128), jnp.float32))
""",
        "pltpu.SMEM",
        "pltpu.VMEM",
    ),
    Layout(
        "a keyword taken away",
        HISTOGRAM
        + """\
def count(x):
    return pl.pallas_call(
        histogram,
        out_shape=jax.ShapeDtypeStruct((128,), jnp.int32),
        out_specs=pl.BlockSpec(memory_space=pltpu.SMEM),
    )(x)

jax.make_jaxpr(count)(jax.ShapeDtypeStruct((8, 128), jnp.float32))
""",
        "memory_space=pltpu.SMEM",
        "",
    ),
    Layout(
        "a block with an index map",
        ADD
        + """\
def entry(x, y):
    rows = x.shape[0] // 2
    return pl.pallas_call(
        add,
        grid=(2,),
        in_specs=[
            pl.BlockSpec((rows, 128), lambda i: (i, 0), memory_space=pltpu.SMEM),
            pl.BlockSpec((rows, 128), lambda i: (i, 0)),
        ],
        out_specs=pl.BlockSpec((rows, 128), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((16, 128), jnp.float32),
    )(x, y)

jax.make_jaxpr(entry)(*[jax.ShapeDtypeStruct((16, 128), jnp.float32)] * 2)
""",
        "pltpu.SMEM",
        "pltpu.VMEM",
    ),
    Layout(
        "a spec in a variable",
        HISTOGRAM
        + """\
whole = pl.BlockSpec(memory_space=pltpu.SMEM)

@jax.jit
def count(x):
    return pl.pallas_call(
        histogram, out_shape=jax.ShapeDtypeStruct((128,), jnp.int32), out_specs=whole
    )(x)

jax.make_jaxpr(count)(jax.ShapeDtypeStruct((8, 128), jnp.float32))
""",
        "pltpu.SMEM",
        "pltpu.VMEM",
    ),
    Layout(
        "a spec from a function that counts its calls",
        HISTOGRAM
        + """\
made = []

def in_smem(shape=None):
    made.append(shape)
    return pl.BlockSpec(shape, memory_space=pltpu.SMEM)

def count(x):
    return pl.pallas_call(
        histogram, out_shape=jax.ShapeDtypeStruct((128,), jnp.int32), out_specs=in_smem()
    )(x)

jax.make_jaxpr(count)(jax.ShapeDtypeStruct((8, 128), jnp.float32))
""",
        "pltpu.SMEM",
        "pltpu.VMEM",
    ),
    Layout(
        "one spec for two operands",
        ADD
        + """\
small = pl.BlockSpec(memory_space=pltpu.SMEM)

def entry(x, y):
    return pl.pallas_call(
        add,
        in_specs=[small, small],
        out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
    )(x, y)

jax.make_jaxpr(entry)(*[jax.ShapeDtypeStruct((8, 128), jnp.float32)] * 2)
""",
        "[small, small]",
        "[pl.BlockSpec(memory_space=pltpu.VMEM), pl.BlockSpec(memory_space=pltpu.VMEM)]",
    ),
    Layout(
        "a list times a number",
        ADD
        + """\
def entry(x, y):
    spec = pl.BlockSpec(memory_space=pltpu.SMEM)
    return pl.pallas_call(
        add,
        in_specs=[spec] * 2,
        out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
    )(x, y)

jax.make_jaxpr(entry)(*[jax.ShapeDtypeStruct((8, 128), jnp.float32)] * 2)
""",
        "[spec] * 2",
        "[pl.BlockSpec(memory_space=pltpu.VMEM)] * 2",
    ),
    Layout(
        "a list comprehension",
        ADD
        + """\
def entry(x, y):
    return pl.pallas_call(
        add,
        in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM) for _ in range(2)],
        out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
    )(x, y)

jax.make_jaxpr(entry)(*[jax.ShapeDtypeStruct((8, 128), jnp.float32)] * 2)
""",
        "pltpu.SMEM",
        "pltpu.VMEM",
    ),
    Layout(
        "no spec was given",
        """\
def total(x_ref, o_ref):
    o_ref[0] = jnp.sum(x_ref[...])

def entry(x):
    return pl.pallas_call(total, out_shape=jax.ShapeDtypeStruct((1,), jnp.float32))(x)

jax.make_jaxpr(entry)(jax.ShapeDtypeStruct((8, 128), jnp.float32))
""",
        "pl.pallas_call(total, ",
        "pl.pallas_call(total, out_specs=pl.BlockSpec(memory_space=pltpu.SMEM), ",
    ),
    Layout(
        "scratch in a list",
        """\
def square(x_ref, o_ref, acc_ref):
    acc_ref[...] = x_ref[...] * x_ref[...]
    o_ref[...] = acc_ref[...] + 1.0

def entry(x):
    return pl.pallas_call(
        square,
        out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
        scratch_shapes=[pltpu.SMEM((8, 128), jnp.float32)],
    )(x)

jax.make_jaxpr(entry)(jax.ShapeDtypeStruct((8, 128), jnp.float32))
""",
        "pltpu.SMEM",
        "pltpu.VMEM",
    ),
    Layout(
        "scratch by keyword",
        """\
def square(x_ref, o_ref, *, acc_ref):
    acc_ref[...] = x_ref[...] * x_ref[...]
    o_ref[...] = acc_ref[...] + 1.0

def entry(x):
    return pl.pallas_call(
        square,
        out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
        scratch_shapes={"acc_ref": pltpu.SMEM(shape=(8, 128), dtype=jnp.float32)},
    )(x)

jax.make_jaxpr(entry)(jax.ShapeDtypeStruct((8, 128), jnp.float32))
""",
        "pltpu.SMEM",
        "pltpu.VMEM",
    ),
    Layout(
        "a grid spec",
        ADD
        + """\
def entry(x, y):
    block = pl.BlockSpec((8, 128), lambda i: (i, 0))
    spec = pl.GridSpec(
        grid=(2,),
        in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0), memory_space=pltpu.SMEM), block],
        out_specs=block,
    )
    out = jax.ShapeDtypeStruct((16, 128), jnp.float32)
    return pl.pallas_call(add, grid_spec=spec, out_shape=out)(x, y)

jax.make_jaxpr(entry)(*[jax.ShapeDtypeStruct((16, 128), jnp.float32)] * 2)
""",
        "pltpu.SMEM",
        "pltpu.VMEM",
    ),
    Layout(
        "a keyword added to a grid spec",
        """\
def total(x_ref, o_ref):
    o_ref[0] = jnp.sum(x_ref[...])

def entry(x):
    return pl.pallas_call(
        total,
        grid_spec=pl.GridSpec(grid=(1,)),
        out_shape=jax.ShapeDtypeStruct((1,), jnp.float32),
    )(x)

jax.make_jaxpr(entry)(jax.ShapeDtypeStruct((8, 128), jnp.float32))
""",
        "grid=(1,)",
        "grid=(1,), out_specs=pl.BlockSpec(memory_space=pltpu.SMEM)",
    ),
    Layout(
        "a prefetching grid spec with scratch",
        """\
def gather(rows_ref, x_ref, o_ref, acc_ref):
    acc_ref[...] = x_ref[...] * 2.0
    o_ref[...] = acc_ref[...]

def entry(rows, x):
    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=(2,),
        in_specs=[pl.BlockSpec((8, 128), lambda i, rows: (rows[i], 0))],
        out_specs=pl.BlockSpec((8, 128), lambda i, rows: (i, 0)),
        scratch_shapes=[pltpu.SMEM((8, 128), jnp.float32)],
    )
    out = jax.ShapeDtypeStruct((16, 128), jnp.float32)
    return pl.pallas_call(gather, grid_spec=spec, out_shape=out)(rows, x)

jax.make_jaxpr(entry)(
    jax.ShapeDtypeStruct((2,), jnp.int32), jax.ShapeDtypeStruct((24, 128), jnp.float32)
)
""",
        "pltpu.SMEM",
        "pltpu.VMEM",
    ),
    Layout(
        "a dictionary of outputs",
        """\
def both(x_ref, out_ref):
    out_ref["sum"][...] = x_ref[...] + 1.0
    out_ref["total"][0] = jnp.sum(x_ref[...])

def entry(x):
    return pl.pallas_call(
        both,
        out_shape={
            "sum": jax.ShapeDtypeStruct((8, 128), jnp.float32),
            "total": jax.ShapeDtypeStruct((1,), jnp.float32),
        },
        out_specs={
            "sum": pl.BlockSpec(memory_space=pltpu.SMEM),
            "total": pl.BlockSpec(memory_space=pltpu.SMEM),
        },
    )(x)

jax.make_jaxpr(entry)(jax.ShapeDtypeStruct((8, 128), jnp.float32))
""",
        '"sum": pl.BlockSpec(memory_space=pltpu.SMEM)',
        '"sum": pl.BlockSpec(memory_space=pltpu.VMEM)',
    ),
    Layout(
        "a decorator with the specs",
        """\
@functools.partial(
    pl.pallas_call,
    out_shape=jax.ShapeDtypeStruct((128,), jnp.int32),
    out_specs=pl.BlockSpec(memory_space=pltpu.SMEM),
)
def histogram(x_ref, counts_ref):
    counts_ref[...] = jnp.sum((x_ref[...] > 0).astype(jnp.int32), axis=0)

jax.make_jaxpr(histogram)(jax.ShapeDtypeStruct((8, 128), jnp.float32))
""",
        "pltpu.SMEM",
        "pltpu.VMEM",
    ),
    Layout(
        "a keyword added to a decorator",
        """\
@functools.partial(pl.pallas_call, out_shape=jax.ShapeDtypeStruct((1,), jnp.float32))
def total(x_ref, o_ref):
    o_ref[0] = jnp.sum(x_ref[...])

jax.make_jaxpr(total)(jax.ShapeDtypeStruct((8, 128), jnp.float32))
""",
        "(pl.pallas_call, ",
        "(pl.pallas_call, out_specs=pl.BlockSpec(memory_space=pltpu.SMEM), ",
    ),
    Layout(
        "vmap around",
        """\
def histogram(x_ref, counts_ref):
    counts_ref[...] = jnp.sum((x_ref[...] > 0).astype(jnp.int32), axis=0, keepdims=True)

def count(x):
    return pl.pallas_call(
        histogram,
        out_shape=jax.ShapeDtypeStruct((1, 128), jnp.int32),
        out_specs=pl.BlockSpec(memory_space=pltpu.SMEM),
    )(x)

jax.make_jaxpr(jax.vmap(count))(jax.ShapeDtypeStruct((3, 8, 128), jnp.float32))
""",
        "pltpu.SMEM",
        "pltpu.VMEM",
    ),
    Layout(
        "jit, scan and a custom gradient around",
        """\
def square(x_ref, o_ref):
    o_ref[...] = x_ref[...] * x_ref[...]

@jax.custom_vjp
def squared(x):
    return pl.pallas_call(
        square,
        out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
        in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM)],
    )(x)

squared.defvjp(lambda x: (squared(x), x), lambda x, g: (2 * x * g,))

@jax.jit
def loss(x):
    return jax.lax.scan(lambda c, _: (squared(c), None), x, None, length=3)[0].sum()

jax.make_jaxpr(jax.grad(loss))(jax.ShapeDtypeStruct((8, 128), jnp.float32))
""",
        "pltpu.SMEM",
        "pltpu.VMEM",
    ),
)


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_a_right_fix_is_safe(layout: Layout) -> None:
    notebook = Notebook()
    notebook.run(layout.text)
    made = len(notebook.namespace.get("made", ()))
    verdict = notebook.prove(notebook.edit(layout.old, layout.new))
    assert verdict == (PROVED, "safe")
    assert len(notebook.namespace.get("made", ())) == made
