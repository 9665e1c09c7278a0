"""Cells that a real kernel checks in the browser, and their texts after each fix."""

IMPORTS = """\
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu
from jax.experimental.pallas import tpu as pltpu
"""
SETUP = f"""\
%load_ext pallas_magic
{IMPORTS}
x = jnp.linspace(-1.0, 1.0, 8 * 128).reshape(8, 128)
"""

# An emoji is one code point, two units of the page's strings and four bytes: it tells a
# column counted in the wrong unit.
HISTOGRAM = """\
def histogram(x_ref, counts_ref):
    above = x_ref[...] > 0.0
    mark = "🎯"; counts_ref[...] = jnp.sum(above.astype(jnp.int32), axis=0)


def counted(x):
    return pl.pallas_call(
        histogram,
        out_specs=pl.BlockSpec(memory_space=pltpu.SMEM),
        out_shape=jax.ShapeDtypeStruct((128,), jnp.int32),
    )(x)
"""
CHECKED_HISTOGRAM = f"%%pallas_check\n{HISTOGRAM}\n\ncounted(x).sum()"
HISTOGRAM_FIX_1 = "Insert fix 1: Move counts_ref to VMEM"
ZEROS_FIX_1 = "Insert fix 1: Move the store of block out of the warp-level region"
LOSSES_FIX_1 = "Insert fix 1: Move rows_ref to VMEM"
LOSSES_FIX_3 = "Insert fix 3: Move total_ref to SMEM"
LOSSES_FIX_ALL = "Insert all 2 fixes: 1, 3"

ZEROS = """\
%%pallas_check --target gpu:h100
def zeros(o_gmem, block):
    @plgpu.warp_map
    def _(warp):  # 🎯
        block[...] = jnp.zeros((128,), jnp.float32)

    o_gmem[...] = block[...]


def cleared():
    return plgpu.kernel(
        zeros,
        out_type=jax.ShapeDtypeStruct((128,), jnp.float32),
        scratch_types=[plgpu.SMEM((128,), jnp.float32)],
    )()


cleared()"""

# One ref that has to leave SMEM, one that has to go there.
LOSSES = """\
%%pallas_check
def losses(x_ref, rows_ref, total_ref):
    rows_ref[...] = jnp.sum(x_ref[...], axis=0)
    mark = "🎯"; total_ref[0, 0] = jnp.sum(x_ref[...])


def lost(x):
    return pl.pallas_call(
        losses,
        out_specs=(pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec(memory_space=pltpu.VMEM)),
        out_shape=(
            jax.ShapeDtypeStruct((128,), jnp.float32),
            jax.ShapeDtypeStruct((1, 1), jnp.float32),
        ),
    )(x)


rows, total = lost(x)"""

LOWERED = f"""\
{HISTOGRAM}

lowered = jax.jit(counted).trace(x).lower(lowering_platforms=("tpu",))"""

DOUBLED = """\
def double(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0


pl.pallas_call(double, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)"""


# A kernel, the specs of its outputs and its call, in cells of their own.
LOSSES_KERNEL = """\
def losses(x_ref, rows_ref, total_ref):
    rows_ref[...] = jnp.sum(x_ref[...], axis=0)
    mark = "🎯"; total_ref[0, 0] = jnp.sum(x_ref[...])"""

ROWS_SPEC = """\
def rows_spec():
    return pl.BlockSpec(memory_space=pltpu.SMEM)"""

TOTAL_SPEC = """\
def total_spec():
    return pl.BlockSpec(memory_space=pltpu.VMEM)"""

LOSSES_CALL = """\
%%pallas_check
rows, total = pl.pallas_call(
    losses,
    out_specs=(rows_spec(), total_spec()),
    out_shape=(
        jax.ShapeDtypeStruct((128,), jnp.float32),
        jax.ShapeDtypeStruct((1, 1), jnp.float32),
    ),
)(x)"""


def in_vmem(text: str) -> str:
    """``text`` with its one memory space moved from SMEM."""
    return _replaced(text, "pltpu.SMEM", "pltpu.VMEM")


def in_smem(text: str) -> str:
    """``text`` with its one memory space moved from VMEM."""
    return _replaced(text, "pltpu.VMEM", "pltpu.SMEM")


def counts_in_vmem(text: str) -> str:
    """``text`` after the fix that moves the counts of the histogram."""
    return _replaced(
        text, "BlockSpec(memory_space=pltpu.SMEM)", "BlockSpec(memory_space=pltpu.VMEM)"
    )


def rows_in_vmem(text: str) -> str:
    """``LOSSES`` after fix 1."""
    return _replaced(
        text, "=(pl.BlockSpec(memory_space=pltpu.SMEM)", "=(pl.BlockSpec(memory_space=pltpu.VMEM)"
    )


def total_in_smem(text: str) -> str:
    """``LOSSES`` after fix 3."""
    return _replaced(
        text, " pl.BlockSpec(memory_space=pltpu.VMEM))", " pl.BlockSpec(memory_space=pltpu.SMEM))"
    )


def zeros_hoisted(text: str) -> str:
    """``ZEROS`` after fix 1."""
    region = """\
    @plgpu.warp_map
    def _(warp):  # 🎯
        block[...] = jnp.zeros((128,), jnp.float32)
"""
    return _replaced(text, region, "    block[...] = jnp.zeros((128,), jnp.float32)\n")


def _replaced(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1
    return text.replace(old, new)
