"""# PM104: an operand in HBM used without a copy

## What it means
A kernel loads or stores through a ref that was left where the array lies, by
`memory_space=pl.ANY` or `pltpu.HBM`. Such a ref can be copied from and to; its
elements cannot be touched.

## Why the hardware says no
Neither the vector unit nor the scalar core reaches HBM. Data comes to VMEM or
SMEM by DMA: the pipeline that `pl.pallas_call` builds from its block specs does
that before the kernel's body runs, or the body does it itself with
`pltpu.make_async_copy` or `pltpu.sync_copy`.

## Fix
- an array that fits: put it in VMEM, and the pipeline copies it;
- single numbers only: put it in SMEM;
- an array that does not fit, or of which only a part is needed: keep it in HBM,
  add a VMEM scratch and a DMA semaphore, and copy the part into the scratch
  before it is used.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def double(x_hbm, o_ref):
    o_ref[...] = x_hbm[...] * 2.0


fn = pl.pallas_call(
    double,
    out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
    in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
)
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def double(x_hbm, o_ref, x_ref, semaphore):
    copy = pltpu.make_async_copy(x_hbm, x_ref, semaphore)
    copy.start()
    copy.wait()
    o_ref[...] = x_ref[...] * 2.0


fn = pl.pallas_call(
    double,
    out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
    in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
    scratch_shapes=[pltpu.VMEM((8, 128), jnp.float32), pltpu.SemaphoreType.DMA],
)
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Fix safety
Moving a ref changes where its values lie, not the values: interpreted, the
kernel before and after must agree exactly. A ref is moved to VMEM up to 2**19
elements and to SMEM up to 8192; a bigger one has to be copied in parts. The copy
into a block at the start of the kernel is the same as the pipeline's, made by hand:
the place to begin from when only a part is needed.

## References
- Pallas documentation, "TPU details": memory spaces, and "Pipelining".
- PM103 (a vector loaded from SMEM), PM102 (a scalar stored to VMEM).
"""

from __future__ import annotations

from collections.abc import Iterable

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic
from pallas_magic.rules._memory.candidates import unplaced_fixes
from pallas_magic.rules._memory.wording import cause_in, diagnostic, ref_name, value_words
from pallas_magic.source.document import Library

code = "PM104"
name = "hbm-access"

_RAISED_IN = (
    "jax.pallas.mosaic.lowering._load_lowering_rule",
    "jax.pallas.mosaic.lowering._masked_swap_lowering_rule",
)
_TEXTS = (
    "Loads are only allowed on VMEM and SMEM references.",
    "Loads and stores are only allowed on VMEM and SMEM references.",
)
_SPACES = ("any", "hbm")


def match(failure: Failure) -> bool:
    known = failure.raised_in in _RAISED_IN and failure.text.startswith(_TEXTS)
    in_hbm = failure.ref is not None and failure.ref.memory_space in _SPACES
    return known and in_hbm and failure.access is not None


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    assert failure.access is not None
    assert failure.ref is not None
    space = failure.ref.memory_space.upper()
    verb = failure.access.kind
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=f"`{ref_name(failure, sources)}` is in {space}, which only copies reach;"
        f" this {verb}s {value_words(failure.access)}",
        mark=f"{verb} without a copy",
        cause=cause_in(failure, sources, space),
        note="DMA brings data from HBM to VMEM or SMEM before a kernel can use it",
    )


def fixes(failure: Failure, sources: Library) -> Iterable[Candidate]:
    return unplaced_fixes(failure, sources)
