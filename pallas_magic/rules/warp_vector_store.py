"""# PM701: a vector stored in a warp-level region

## What it means
Inside `plgpu.warp_map`, or another region over a `plgpu.WarpMesh`, the kernel
stores a whole array or a slice of one. Such a region takes scalars, and
operations that a single thread starts: copies, barriers, tensor core
instructions.

The same statement can fail in other words first: "Can only load scalars in
warp-level code" for `s[...] = x[...]`, an unimplemented `broadcast_in_dim` for
`s[...] = jnp.zeros(...)`, "captures non-scalar array constants" for an array
from outside the region. They are all this one mistake.

## Why the hardware says no
A Pallas thread on the GPU is a warpgroup: 4 warps of 32 threads that execute
together. An array in a Mosaic GPU kernel is spread over the registers of all
128 threads. A warp-level region lets the 4 warps run apart, each for itself, so
that none of them holds an array: a warp knows single values only.

## Fix
- Move the store out of the region, to where the whole warpgroup runs it. If the
  region then copies the stored shared memory, call `plgpu.commit_smem()` between
  the two.
- If a shared memory buffer is only written back to global memory, let the region
  start the copy: `plgpu.copy_smem_to_gmem`.
- For a few values, store them one scalar at a time.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu


def kernel(x_gmem, o_gmem, buf):
    @plgpu.warp_map
    def _(wid):
        buf[...] = x_gmem[...] * 2.0
        plgpu.copy_smem_to_gmem(buf, o_gmem)
        plgpu.wait_smem_to_gmem(0)


fn = plgpu.kernel(
    kernel,
    out_type=jax.ShapeDtypeStruct((128,), jnp.float32),
    scratch_types=[plgpu.SMEM((128,), jnp.float32)],
)
args = [jax.ShapeDtypeStruct((128,), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu


def kernel(x_gmem, o_gmem, buf):
    buf[...] = x_gmem[...] * 2.0
    plgpu.commit_smem()
    @plgpu.warp_map
    def _(wid):
        plgpu.copy_smem_to_gmem(buf, o_gmem)
        plgpu.wait_smem_to_gmem(0)


fn = plgpu.kernel(
    kernel,
    out_type=jax.ShapeDtypeStruct((128,), jnp.float32),
    scratch_types=[plgpu.SMEM((128,), jnp.float32)],
)
args = [jax.ShapeDtypeStruct((128,), jnp.float32)]
```

## Fix safety
A store is moved only if its values depend on no warp's number and if it
overtakes nothing that it shares a name with. What one warp did under
`@pl.when(wid == 0)` is then done by the warpgroup, once. Where JAX interprets
warp-level regions the kernel before and after must agree exactly; JAX 0.10
cannot, and there the fixes are marked unsafe. Interpret mode shows no
difference for a missing `commit_smem`: it is put where a copy reads what was
stored, by the text alone. A loop of scalar stores is offered for up to 1024
elements and runs in all 4 warps unless a guard picks one.

## Prevent it
Inside a region, index every ref down to one element, and leave arithmetic on
arrays to the warpgroup. Scalars are loaded from global memory; from shared
memory only under `LoweringSemantics.Lane`.

## References
- JAX documentation, "Writing Mosaic GPU kernels with Pallas" and the Blackwell
  matrix multiplication tutorial: only scalar operations are allowed in a region
  over a `WarpMesh`.
- `jax/_src/pallas/mosaic_gpu/lowering.py`: the load and store rules for
  `PrimitiveSemantics.Warp`.
- Its twin: PM702 (a vector loaded in a warp-level region).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic
from pallas_magic.rules._warp.copies import async_copy
from pallas_magic.rules._warp.hoisting import hoisted
from pallas_magic.rules._warp.scalars import scalar_loop
from pallas_magic.rules._warp.statements import head
from pallas_magic.rules._warp.wording import diagnostic
from pallas_magic.source.document import Library

code = "PM701"
name = "warp-vector-store"


def match(failure: Failure) -> bool:
    first = head(failure)
    return first is not None and first.access.kind == "store"


def key(failure: Failure) -> Hashable:
    """One diagnosis for the stores to one ref."""
    first = head(failure)
    return first.ref if first is not None else None


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    return diagnostic(failure, sources, code=code, name=name)


def fixes(failure: Failure, sources: Library) -> Iterable[Candidate]:
    for propose in (hoisted, async_copy, scalar_loop):
        candidate = propose(failure, sources)
        if candidate is not None:
            yield candidate
