"""# PM103: a vector loaded from SMEM

## What it means
A kernel reads a whole array, or a slice of one, through a ref that lives in
SMEM. SMEM gives one scalar at a time.

## Why the hardware says no
SMEM is the memory of the TPU's scalar core: it is read one 32-bit word at a
time. Vector registers are loaded from VMEM, and there is no path from SMEM to a
vector register but through a scalar.

## Fix
Decide by how the kernel uses the ref:

- only arrays and slices: put the ref in VMEM;
- one number: keep it in SMEM and index it down to a scalar;
- prefetched operands, and arrays that are also read element by element at an
  index known only when the kernel runs: these must stay in SMEM; a short one
  can be read one scalar at a time and stacked.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def scale(scale_ref, x_ref, o_ref):
    o_ref[...] = x_ref[...] * scale_ref[...]


fn = pl.pallas_call(
    scale,
    out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
    in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec()],
)
args = [jax.ShapeDtypeStruct((128,), jnp.float32), jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def scale(scale_ref, x_ref, o_ref):
    o_ref[...] = x_ref[...] * scale_ref[...]


fn = pl.pallas_call(
    scale,
    out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
    in_specs=[pl.BlockSpec(memory_space=pltpu.VMEM), pl.BlockSpec()],
)
args = [jax.ShapeDtypeStruct((128,), jnp.float32), jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Fix safety
Moving a ref changes where its values lie, not the values: interpreted, the
kernel before and after must agree exactly. A ref of which single elements are
read at a lane known only at run time is not moved: the lowering takes that and
the compiler does not. Stacked scalar loads are offered for up to 32 elements of
a 32-bit type.

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
- Its twins: PM101 (a vector stored to SMEM), PM102 (a scalar stored to VMEM).
"""

from __future__ import annotations

from collections.abc import Iterable

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic
from pallas_magic.rules._memory.candidates import vector_fixes
from pallas_magic.rules._memory.wording import cause_in, diagnostic, ref_name, value_words
from pallas_magic.source.document import Library

code = "PM103"
name = "smem-vector-load"

_RAISED_IN = "jax.pallas.mosaic.lowering._load_lowering_rule"
_TEXT = "Can only load scalars from SMEM"


def match(failure: Failure) -> bool:
    known = failure.raised_in == _RAISED_IN and failure.text == _TEXT
    return known and failure.ref is not None and failure.access is not None


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    assert failure.access is not None
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=f"`{ref_name(failure, sources)}` is in SMEM, which holds scalars;"
        f" this loads {value_words(failure.access)}",
        mark="vector load",
        cause=cause_in(failure, sources, "SMEM"),
        note="SMEM feeds the scalar core one value at a time; arrays live in VMEM",
    )


def fixes(failure: Failure, sources: Library) -> Iterable[Candidate]:
    return vector_fixes(failure, sources)
