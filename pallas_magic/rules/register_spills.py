"""# PM803: registers are spilled

## What it means
The kernel compiles. A thread's values do not all fit into its registers, so
the compiler keeps some in local memory, which is DRAM behind a cache, and
stores and loads them again and again.

## Why the hardware says no
A multiprocessor has 65,536 registers for all of its threads and at most 255
for one. Whole blocks held as values take registers of every thread: a
float32[128, 256] value over 128 threads takes 256 of each, which is more than
there are.

## Fix
Hold less at a time:

- smaller blocks, or more warps (`num_warps`) or threads for the same block;
- load a value where it is used rather than at the top of the kernel;
- a loop over slices in place of one expression over the whole block.

A few bytes outside of the inner loop cost nothing that can be measured; fewer
than 64 are not told.

## Example
Spills on H100:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plt


def softmax(x_ref, o_ref):
    x = x_ref[...]
    e = jnp.exp(x - jnp.max(x))
    o_ref[...] = e / jnp.sum(e)


fn = pl.pallas_call(
    softmax,
    out_shape=jax.ShapeDtypeStruct((128, 256), jnp.float32),
    compiler_params=plt.CompilerParams(num_warps=4),
)
args = [jax.ShapeDtypeStruct((128, 256), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plt


def softmax(x_ref, o_ref):
    x = x_ref[...]
    e = jnp.exp(x - jnp.max(x))
    o_ref[...] = e / jnp.sum(e)


fn = pl.pallas_call(
    softmax,
    out_shape=jax.ShapeDtypeStruct((128, 256), jnp.float32),
    compiler_params=plt.CompilerParams(num_warps=8),
)
args = [jax.ShapeDtypeStruct((128, 256), jnp.float32)]
```

## Fix safety
There is no ready fix. This is a warning: the kernel is right, and may be slow.

## References
- NVIDIA, "CUDA C++ Best Practices Guide": register pressure, local memory.
"""

from __future__ import annotations

from collections.abc import Iterable

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic
from pallas_magic.source.document import Library

code = "PM803"
name = "register-spills"


def match(failure: Failure) -> bool:
    return failure.stage == "compile" and failure.error_type == "RegisterSpills"


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    return Diagnostic(
        code=code,
        name=name,
        severity="warning",
        stage="compile",
        targets=(failure.target.name,),
        kernel=failure.kernel,
        message=f"`{failure.kernel}` spills registers on {failure.target.title}: {failure.text}",
        primary=sources.span(failure.place) or sources.span(failure.call.build),
        primary_text="spills registers",
    )


def fixes(failure: Failure, sources: Library) -> Iterable[Candidate]:
    return ()
