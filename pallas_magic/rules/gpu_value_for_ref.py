"""# PM713: a value where a copy or a barrier of a GPU needs a ref

## What it means
`x_gmem[...]` loads a value, and so does `barriers[0]`. `plgpu.copy_gmem_to_smem`,
`plgpu.barrier_wait` and their like take the ref itself, or a part of it taken with
`.at`.

## Why the hardware says no
The copy engine and the barrier unit are given addresses. A value that was loaded lies
in the registers of the threads and has none.

## Fix
Leave `[...]` out; take a part with `x_gmem.at[0:64]`, one of several barriers with
`barriers.at[i]`. A value that was computed is stored to shared memory first.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu


def copied(x_gmem, o_gmem, buffer, barrier):
    plgpu.copy_gmem_to_smem(x_gmem[...], buffer, barrier)
    plgpu.barrier_wait(barrier)
    o_gmem[...] = buffer[...]


fn = plgpu.kernel(
    copied,
    out_type=jax.ShapeDtypeStruct((256,), jnp.float32),
    scratch_types=[plgpu.SMEM((256,), jnp.float32), plgpu.Barrier()],
)
args = [jax.ShapeDtypeStruct((256,), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu


def copied(x_gmem, o_gmem, buffer, barrier):
    plgpu.copy_gmem_to_smem(x_gmem, buffer, barrier)
    plgpu.barrier_wait(barrier)
    o_gmem[...] = buffer[...]


fn = plgpu.kernel(
    copied,
    out_type=jax.ShapeDtypeStruct((256,), jnp.float32),
    scratch_types=[plgpu.SMEM((256,), jnp.float32), plgpu.Barrier()],
)
args = [jax.ShapeDtypeStruct((256,), jnp.float32)]
```

## Fix safety
`x_gmem.at[index]` is the part of memory that `x_gmem[index]` loads: nothing else can
be meant. It is safe where the kernel then lowers.

## References
- JAX documentation, "Writing Mosaic GPU kernels with Pallas": asynchronous copies.
- PM109, which is this for a TPU; PM708 (several barriers given for one).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic
from pallas_magic.rules._gpu.calls import GpuCall, gpu_call
from pallas_magic.rules._refs.loads import loads_among, refs_instead
from pallas_magic.rules._specs.wording import diagnostic
from pallas_magic.source.document import Library

code = "PM713"
name = "gpu-value-for-ref"

_VALUE = re.compile(r"Can only call `\w+` on a `Ref`: (?:\w*Tracer\((?P<type>\w+\[[\d,]*\])\))?")
# What each function takes as refs, by name and in this order.
_REFS = {
    "copy_gmem_to_smem": ("src", "dst", "barrier"),
    "copy_smem_to_gmem": ("src", "dst"),
    "async_prefetch": ("ref",),
    "barrier_arrive": ("barrier",),
    "barrier_wait": ("barrier",),
    "tcgen05_commit_arrive": ("barrier",),
    "async_load_tmem": ("src",),
    "async_store_tmem": ("ref",),
    "async_copy_scales_to_tmem": ("smem_ref", "tmem_ref"),
    "async_copy_sparse_metadata_to_tmem": ("smem_ref", "tmem_ref"),
    "async_copy_smem_to_tmem": ("smem_ref", "tmem_ref"),
    "load": ("src",),
}


def match(failure: Failure) -> bool:
    is_gpu = any("mosaic_gpu.primitives" in one for one in failure.passed)
    return failure.stage == "trace" and is_gpu and _VALUE.match(failure.text) is not None


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    call, found = gpu_call(failure, sources), _VALUE.match(failure.text)
    loads = _loads(call) if call is not None else []
    spans = [call.syntax.span(one) for one in loads] if call is not None else []
    takes = f"`{call.text(call.node.func)}`" if call is not None else "this"
    if call is not None and loads:
        message = f"`{call.text(loads[0])}` loads a value; {takes} takes a ref"
    else:
        value = found["type"] if found is not None and found["type"] else "a value"
        message = f"{takes} takes a ref; it is given {value}"
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=message,
        primary=spans[0] if spans else None,
        mark="a value, expected a ref",
        effects=spans[1:],
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    call = gpu_call(failure, sources)
    loads = _loads(call) if call is not None else []
    if call is None or not loads:
        return
    yield from refs_instead(call.syntax, loads)


def _loads(call: GpuCall) -> list[ast.Subscript]:
    """The loads of refs among what the call takes as refs."""
    names = _REFS.get(call.name, ())
    given = [call.argument(one, position) for position, one in enumerate(names)]
    return loads_among(given)
