"""# PM702: a vector loaded in a warp-level region

## What it means
Inside `plgpu.warp_map`, or another region over a `plgpu.WarpMesh`, the kernel
loads a whole array or a slice of one, in a statement of its own. Such a region
takes scalars, and operations that a single thread starts: copies, barriers,
tensor core instructions.

## Why the hardware says no
An array in a Mosaic GPU kernel is spread over the registers of a warpgroup's
128 threads. A warp-level region lets the 4 warps of the warpgroup run apart,
each for itself, so that none of them holds an array.

## Fix
Move the load out of the region with all that works on the loaded array, to
where the whole warpgroup runs it; or load the single elements that the region
needs.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu


def kernel(x_gmem, o_gmem):
    @plgpu.warp_map
    def _(wid):
        x = x_gmem[...]
        o_gmem[...] = x + 1.0


fn = plgpu.kernel(kernel, out_type=jax.ShapeDtypeStruct((128,), jnp.float32))
args = [jax.ShapeDtypeStruct((128,), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu


def kernel(x_gmem, o_gmem):
    x = x_gmem[...]
    o_gmem[...] = x + 1.0


fn = plgpu.kernel(kernel, out_type=jax.ShapeDtypeStruct((128,), jnp.float32))
args = [jax.ShapeDtypeStruct((128,), jnp.float32)]
```

## Fix safety
As for PM701: what moves depends on no warp's number and overtakes nothing that
it shares a name with, and where JAX interprets warp-level regions the kernel
before and after must agree exactly.

## References
- JAX documentation, "Writing Mosaic GPU kernels with Pallas".
- `jax/_src/pallas/mosaic_gpu/lowering.py`: the load rules for
  `PrimitiveSemantics.Warp`.
- Its twin: PM701 (a vector stored in a warp-level region).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic
from pallas_magic.rules._warp.hoisting import hoisted
from pallas_magic.rules._warp.statements import head
from pallas_magic.rules._warp.wording import diagnostic
from pallas_magic.source.document import Library

code = "PM702"
name = "warp-vector-load"


def match(failure: Failure) -> bool:
    first = head(failure)
    return first is not None and first.access.kind == "load"


def key(failure: Failure) -> Hashable:
    """One diagnosis for the loads of one ref and what flows from them."""
    first = head(failure)
    return first.ref if first is not None else None


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    return diagnostic(failure, sources, code=code, name=name)


def fixes(failure: Failure, sources: Library) -> Iterable[Candidate]:
    candidate = hoisted(failure, sources)
    return (candidate,) if candidate is not None else ()
