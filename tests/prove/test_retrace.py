"""Calls made again from what was recorded are the calls that were recorded."""

from __future__ import annotations

import dataclasses

import jax
import pytest

from pallas_magic.bridge.devices import chip_queries_answered
from pallas_magic.bridge.retrace import NotRetraceable, call_text, parts_of, retrace
from tests.prove.cells import Notebook

DOUBLE = """\
def double(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2

def entry(x):
    block = pl.BlockSpec((8, 128), lambda i: (i, 0))
    return pl.pallas_call(
        double,
        grid=(2,),
        in_specs=[block],
        out_specs=block,
        out_shape=jax.ShapeDtypeStruct((16, 128), jnp.float32),
    )(x)

x = jax.ShapeDtypeStruct((16, 128), jnp.float32)
xs = jax.ShapeDtypeStruct((3, 16, 128), jnp.float32)
many = jax.ShapeDtypeStruct((5, 16, 3, 128), jnp.float32)
"""

USES = {
    "eager": "jax.make_jaxpr(entry)(x)",
    "jit": "jax.make_jaxpr(jax.jit(entry))(x)",
    "vmap": "jax.make_jaxpr(jax.vmap(entry))(xs)",
    "vmap of jit": "jax.make_jaxpr(jax.vmap(jax.jit(entry)))(xs)",
    "jit of vmap": "jax.make_jaxpr(jax.jit(jax.vmap(entry)))(xs)",
    "two vmaps": "jax.make_jaxpr(jax.vmap(jax.vmap(entry, in_axes=1)))(many)",
    "another axis": "jax.make_jaxpr(jax.vmap(entry, in_axes=2))"
    "(jax.ShapeDtypeStruct((16, 128, 3), jnp.float32))",
    "jvp": "jax.make_jaxpr(lambda x: jax.jvp(entry, (x,), (x,)))(x)",
    "jvp of vmap": "jax.make_jaxpr(lambda x: jax.jvp(jax.vmap(entry), (x,), (x,)))(xs)",
    "vmap of jvp": "jax.make_jaxpr(jax.vmap(lambda x: jax.jvp(entry, (x,), (x,))))(xs)",
    "scan": "jax.make_jaxpr(lambda x: jax.lax.scan(lambda c, _: (entry(c), 0), x, None, 3))(x)",
    "cond": "jax.make_jaxpr(lambda x: jax.lax.cond(x[0, 0] > 0, entry, lambda x: x, x))(x)",
    "checkpoint": "jax.make_jaxpr(jax.checkpoint(entry))(x)",
    "in a mesh": "jax.make_jaxpr(jax.shard_map(entry, mesh=jax.make_mesh((1,), ('d',)), "
    "in_specs=jax.P(), out_specs=jax.P(), check_vma=False))(x)",
}


@pytest.mark.parametrize("use", USES)
def test_a_call_is_made_again_with_what_transformed_it(use: str) -> None:
    notebook = Notebook()
    notebook.run(DOUBLE + USES[use])
    call = notebook.call
    assert call_text(retrace(call, parts_of(call))) == call_text(call)


OTHERS = {
    "a dynamic grid": """\
def fill(o_ref):
    o_ref[...] = jnp.zeros_like(o_ref)

def entry(n):
    block = pl.BlockSpec((8, 128), lambda i, j: (i, 0))
    out = jax.ShapeDtypeStruct((16, 128), jnp.float32)
    return pl.pallas_call(fill, grid=(2, n), out_specs=block, out_shape=out)()

jax.make_jaxpr(entry)(jax.ShapeDtypeStruct((), jnp.int32))
""",
    "prefetch, scratch and an alias": """\
def kernel(index_ref, x_ref, o_ref, scratch_ref, *more):
    o_ref[...] = x_ref[...] + index_ref[0]

def entry(index, x):
    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1, grid=(2,),
        in_specs=[pl.BlockSpec((8, 128), lambda i, index: (index[i], 0))],
        out_specs=[pl.BlockSpec((8, 128), lambda i, index: (i, 0))],
        scratch_shapes=[pltpu.VMEM((8, 128), jnp.float32), pltpu.SemaphoreType.DMA],
    )
    out = [jax.ShapeDtypeStruct((16, 128), jnp.float32)]
    return pl.pallas_call(
        kernel, grid_spec=spec, out_shape=out, input_output_aliases={1: 0}, name="named",
        compiler_params=pltpu.CompilerParams(dimension_semantics=("arbitrary",)),
    )(index, x)

jax.make_jaxpr(entry)(
    jax.ShapeDtypeStruct((2,), jnp.int32), jax.ShapeDtypeStruct((16, 128), jnp.float32)
)
""",
    "scratch by name and operands in a tree": """\
def kernel(pair, o_ref, *, scratch):
    scratch["a"][...] = pair["x"][...]
    o_ref[...] = scratch["a"][...] + pair["y"][...]

def entry(x, y):
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
        scratch_shapes={"scratch": {"a": pltpu.VMEM((8, 128), jnp.float32)}},
    )({"x": x, "y": y})

jax.make_jaxpr(entry)(*[jax.ShapeDtypeStruct((8, 128), jnp.float32)] * 2)
""",
    "a kernel over a mesh of cores": """\
def entry(x):
    mesh = pltpu.create_tensorcore_mesh("core", num_cores=1)

    def kernel(x_ref, o_ref, scratch_ref, semaphore):
        pltpu.async_copy(x_ref, scratch_ref, semaphore).wait()
        pltpu.async_copy(scratch_ref, o_ref, semaphore).wait()

    return pl.kernel(
        kernel,
        jax.ShapeDtypeStruct((8, 128), jnp.float32),
        mesh=mesh,
        scratch_types=[pltpu.VMEM((8, 128), jnp.float32), pltpu.SemaphoreType.DMA],
    )(x)

jax.make_jaxpr(entry)(jax.ShapeDtypeStruct((8, 128), jnp.float32))
""",
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_call_of_any_kind_is_made_again(name: str) -> None:
    notebook = Notebook()
    with chip_queries_answered(notebook.target):
        notebook.run(OTHERS[name])
        call = notebook.call
        assert call_text(retrace(call, parts_of(call))) == call_text(call)


GPU = """\
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu

def kernel(x_ref, o_ref, scratch_ref):
    scratch_ref[...] = x_ref[...]
    o_ref[...] = scratch_ref[...] * 2

entry = plgpu.kernel(
    kernel,
    out_type=jax.ShapeDtypeStruct((128,), jnp.float32),
    scratch_types=[plgpu.SMEM((128,), jnp.float32)],
    num_threads=2,
    thread_name="wg",
)
"""


@pytest.mark.parametrize("outer", ["entry", "jax.jit(entry)"])
def test_a_gpu_kernel_is_made_again(outer: str) -> None:
    notebook = Notebook("gpu:h100", "")
    notebook.run(GPU + f"jax.make_jaxpr({outer})(jax.ShapeDtypeStruct((128,), jnp.float32))")
    call = notebook.call
    assert call_text(retrace(call, parts_of(call))) == call_text(call)


def test_a_call_that_was_not_seen_being_made_is_refused() -> None:
    notebook = Notebook()
    notebook.run(DOUBLE + USES["eager"])
    unseen = dataclasses.replace(notebook.call, built=None)
    with pytest.raises(NotRetraceable, match="the call that made this kernel was not seen"):
        parts_of(unseen)


def test_another_call_has_another_text() -> None:
    texts = set()
    for factor in (2, 3):
        notebook = Notebook()
        notebook.run(DOUBLE.replace("* 2", f"* {factor}") + USES["eager"])
        texts.add(call_text(notebook.call))
    assert len(texts) == 2


def test_the_mesh_around_is_as_it_was() -> None:
    before = jax.sharding.get_abstract_mesh()
    notebook = Notebook()
    notebook.run(DOUBLE + USES["in a mesh"])
    retrace(notebook.call, parts_of(notebook.call))
    assert jax.sharding.get_abstract_mesh() == before
