"""A kernel on arrays that are spread over devices, in a process that has several."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

import pallas_magic

mesh = Mesh(np.array(jax.devices()), ("d",))
parts = P("d", None)
x = jax.ShapeDtypeStruct((32, 128), jnp.float32, sharding=NamedSharding(mesh, parts))


def scale(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0


def scaled(x):
    return pl.pallas_call(scale, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def spread(x):
    return scaled(x)


def divided(x):
    return jax.shard_map(scaled, mesh=mesh, in_specs=parts, out_specs=parts, check_vma=False)(x)


def refused(fn):
    try:
        jax.jit(fn).trace(x).lower(lowering_platforms=("tpu",))
    except NotImplementedError as error:
        return "automatically partitioned" in str(error)
    return False


for fn in (spread, divided):
    report = pallas_magic.check(fn, x, target="tpu:v5e", compile=False)
    places = [(one.code, one.primary.start_line, one.primary_text) for one in report.diagnostics]
    causes = [label.span.start_line for one in report.diagnostics for label in one.labels]
    print(fn.__name__, refused(fn), places, causes)
"""


def test_a_spread_array_is_refused_as_jax_refuses_it(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    flags = {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
    shown = subprocess.run(
        [sys.executable, path],
        env={**os.environ, **flags},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert shown.splitlines() == [
        "spread True [('PM907', 24, 'not under `shard_map`')] [20]",
        "divided False [] []",
    ]
