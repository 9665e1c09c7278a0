"""Cells that the tests run. ``MARK`` stands where what is found must point."""

BAD = """\
def scale(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0

scaled = pl.pallas_call(
    scale,
    out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
    out_specs=pl.BlockSpec(memory_space=pltpu.SMEM),
)
result = scaled(jnp.ones((8, 128), jnp.float32))
"""
GOOD = BAD.replace("pltpu.SMEM", "pltpu.VMEM")
# A store to SMEM and, in another kernel, one to VMEM: two findings.
BAD_TOO = BAD.replace("scale", "triple").replace("2.0", "3.0").replace("result", "other")
BAD_TRACE = """\
def count(x_ref, o_ref):
    o_ref[...] = jnp.reshape(x_ref[...], (3, 5))

counted = pl.pallas_call(count, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))
counted(jnp.ones((8, 128)))
"""


def checked(code: str, options: str = "") -> str:
    """``code`` under the magic."""
    return f"%%pallas_check {options}".rstrip() + f"\n{code}"


def stored_at(code: str) -> tuple[int, int, int]:
    """The line and columns of the store that is found in ``BAD``, inside ``code``."""
    for number, line in enumerate(code.split("\n"), 1):
        if "o_ref[...] = " in line:
            start = line.index("o_ref[...] = ")
            return number, start, start + len("o_ref[...]")
    raise AssertionError("no store")
