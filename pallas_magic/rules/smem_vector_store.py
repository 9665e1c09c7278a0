"""# PM101: a vector stored to SMEM

## What it means
A kernel stores a whole array, or a slice of one, through a ref that lives in
SMEM. SMEM takes one scalar at a time. A store under a mask is a vector store
too.

## Why the hardware says no
SMEM is the memory of the TPU's scalar core: it is read and written one 32-bit
word at a time, which is what loop bounds, offsets and flags need. Vector
registers are loaded from and stored to VMEM, and there is no path from a
vector register to SMEM.

## Fix
Decide by how the kernel uses the ref:

- only arrays and slices: put the ref in VMEM;
- one number: keep it in SMEM and index it down to a scalar;
- a few numbers, and no other use: store them one scalar at a time;
- arrays here and single elements there: put it in VMEM, and store single
  elements by rewriting their row under a mask.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def histogram(x_ref, counts_ref):
    counts_ref[...] = jnp.sum((x_ref[...] > 0).astype(jnp.int32), axis=0)


fn = pl.pallas_call(
    histogram,
    out_shape=jax.ShapeDtypeStruct((128,), jnp.int32),
    out_specs=pl.BlockSpec(memory_space=pltpu.SMEM),
)
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def histogram(x_ref, counts_ref):
    counts_ref[...] = jnp.sum((x_ref[...] > 0).astype(jnp.int32), axis=0)


fn = pl.pallas_call(
    histogram,
    out_shape=jax.ShapeDtypeStruct((128,), jnp.int32),
    out_specs=pl.BlockSpec(memory_space=pltpu.VMEM),
)
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Fix safety
Moving a ref changes where its values lie, not the values: interpreted, the
kernel before and after must agree exactly. A loop of scalar stores is offered
for up to 128 elements of a 32-bit type; it is unrolled, so each element costs
an instruction or two.

## Prevent it
Arrays go to VMEM; SMEM is for scalars and PRNG keys. A function that builds
every spec can hold to that:

```python
def spec_for(array, block=None, index_map=None):
    space = pltpu.SMEM if array.size == 1 else pltpu.VMEM
    return pl.BlockSpec(block, index_map, memory_space=space)
```

and one line before a call checks specs that come from elsewhere:

```python
assert all((s.memory_space == pltpu.SMEM) == (x.size == 1) for s, x in zip(specs, arrays))
```

## References
- Pallas documentation, "TPU details": memory spaces.
- Its twins: PM102 (a scalar stored to VMEM), PM103 (a vector loaded from SMEM).
"""

from __future__ import annotations

from collections.abc import Iterable

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic
from pallas_magic.rules._memory.candidates import vector_fixes
from pallas_magic.rules._memory.wording import cause_in, diagnostic, ref_name, value_words
from pallas_magic.source.document import Library

code = "PM101"
name = "smem-vector-store"

_RAISED_IN = "jax.pallas.mosaic.lowering._masked_swap_lowering_rule"
_TEXTS = ("Can only store scalars to SMEM", "SMEM store does not support masks")


def match(failure: Failure) -> bool:
    known = failure.raised_in == _RAISED_IN and failure.text in _TEXTS
    return known and failure.ref is not None and failure.access is not None


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    assert failure.access is not None
    value = value_words(failure.access)
    masked = " under a mask" if failure.access.masked else ""
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=f"`{ref_name(failure, sources)}` is in SMEM, which holds scalars;"
        f" this stores {value}{masked}",
        mark="masked store" if masked else "vector store",
        cause=cause_in(failure, sources, "SMEM"),
        note="SMEM feeds the scalar core one value at a time; arrays live in VMEM",
    )


def fixes(failure: Failure, sources: Library) -> Iterable[Candidate]:
    return vector_fixes(failure, sources)
