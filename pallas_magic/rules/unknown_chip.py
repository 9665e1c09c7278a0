"""# PM903: no chip to lower for

## What it means
A kernel was lowered for TPUs on a machine that has none. Some parts of its
lowering depend on the generation of the chip, and nothing says which one is
meant.

## Why the hardware says no
Which blocks of rank 1 a kernel may have, the types of the matrix unit and the
size of on-chip memory differ from one TPU to the next. JAX asks the device, or
the mesh in force, for its kind; a CPU's is `cpu` (JAX 0.12.0.1,
`jax/_src/tpu_info.py`).

## Fix
`%%pallas_check --target tpu:v5e` lowers the cell's kernels for that chip and
answers the question. Code of your own that lowers for another platform does
it under a mesh that names the chip.

## Example
Fails on a machine without a TPU:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def total(x_ref, o_ref):
    o_ref[...] = jnp.sum(x_ref[...], axis=0)


fn = pl.pallas_call(total, out_shape=jax.ShapeDtypeStruct((128,), jnp.float32))
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]


def lower():
    return jax.jit(fn).trace(*args).lower(lowering_platforms=("tpu",))
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.sharding import AbstractDevice, AbstractMesh


def total(x_ref, o_ref):
    o_ref[...] = jnp.sum(x_ref[...], axis=0)


fn = pl.pallas_call(total, out_shape=jax.ShapeDtypeStruct((128,), jnp.float32))
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
v5e = AbstractDevice(device_kind="TPU v5 lite", num_cores=1, platform="tpu")


def lower():
    with jax.sharding.use_abstract_mesh(AbstractMesh((), (), abstract_device=v5e)):
        return jax.jit(fn).trace(*args).lower(lowering_platforms=("tpu",))
```

## Fix safety
The fix changes no kernel: it asks for a check instead of a lowering.

## References
JAX's documentation of `jax.sharding.use_abstract_mesh`.
"""

from __future__ import annotations

from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic
from pallas_magic.rules._environment.checks import check_instead, diagnostic
from pallas_magic.source.document import Library

code = "PM903"
name = "unknown-chip"


def match(failure: Failure) -> bool:
    return failure.text.startswith("Unsupported TPU device kind")


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=f"`{failure.kernel}` was lowered for a TPU, and nothing says for which one",
        mark="depends on the chip",
        note="JAX sees no TPU on this machine, and no mesh in force names one",
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    yield from check_instead(failure, sources, "check it for one with `%%pallas_check`")
