"""# PM102: a scalar stored to VMEM

## What it means
A kernel stores a single number through a ref that lives in VMEM: `o_ref[0, 0] =
loss`, or one element of a bigger array. VMEM takes vectors.

## Why the hardware says no
VMEM feeds the vector unit. Its stores come from vector registers and cover
whole sublanes; a scalar lives in the scalar core, which writes to SMEM only.

## Fix
Decide by how the kernel uses the ref:

- only single elements: put the ref in SMEM, where `o_ref[0, 0] = loss` is right;
- arrays too, the element at a known place: store a slice of one element;
- arrays too, the lane known only when the kernel runs: rewrite the row under a
  mask, `jnp.where(lane == i, value, row)`.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def total(x_ref, loss_ref):
    loss_ref[0, 0] = jnp.sum(x_ref[...])


fn = pl.pallas_call(total, out_shape=jax.ShapeDtypeStruct((1, 1), jnp.float32))
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def total(x_ref, loss_ref):
    loss_ref[0, 0] = jnp.sum(x_ref[...])


fn = pl.pallas_call(
    total,
    out_shape=jax.ShapeDtypeStruct((1, 1), jnp.float32),
    out_specs=pl.BlockSpec(memory_space=pltpu.SMEM),
)
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Fix safety
Moving a ref changes where its values lie, not the values; a slice of one
element and a masked row hold the same numbers. Interpreted, the kernel before
and after must agree exactly. A ref is moved to SMEM only up to 8192 elements,
and only when nothing loads or stores a vector of it.

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
- Its twins: PM101 (a vector stored to SMEM), PM103 (a vector loaded from SMEM).
"""

from __future__ import annotations

from collections.abc import Iterable

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic
from pallas_magic.rules._memory.candidates import scalar_fixes
from pallas_magic.rules._memory.wording import cause_in, diagnostic, ref_name, value_words
from pallas_magic.source.document import Library

code = "PM102"
name = "vmem-scalar-store"

_RAISED_IN = "jax.pallas.mosaic.lowering._masked_swap_lowering_rule"
_TEXTS = ("Cannot store scalars to VMEM", "Cannot swap scalars to VMEM.")


def match(failure: Failure) -> bool:
    known = failure.raised_in == _RAISED_IN and failure.text in _TEXTS
    return known and failure.ref is not None and failure.access is not None


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    assert failure.access is not None
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=f"`{ref_name(failure, sources)}` is in VMEM, which takes vectors;"
        f" this stores {value_words(failure.access)}",
        mark="scalar store",
        cause=cause_in(failure, sources, "VMEM"),
        note="VMEM feeds the vector unit; a single number lives in SMEM or in a vector",
    )


def fixes(failure: Failure, sources: Library) -> Iterable[Candidate]:
    return scalar_fixes(failure, sources)
