"""# PM302: rows of a value taken by a vector of indices

## What it means
A kernel indexes an array that it has loaded by an array of indices: `table[ids]`
or `jnp.take(table, ids, axis=0)`.

## Why the hardware says no
The vector unit gathers within a register only, along one axis and between
arrays of one shape, which is `jnp.take_along_axis`. Rows that lie anywhere in a
table are not in reach of it.

## Fix
- a small table: a product with a one-hot matrix, which the matrix unit does;
- a big table: prefetch the indices as scalars and let the index map of the
  table's block spec pick the row, or copy rows from HBM one by one;
- indices of the same shape as the array: `jnp.take_along_axis`.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl


def embed(ids_ref, table_ref, o_ref):
    table = table_ref[...]
    ids = ids_ref[...]
    o_ref[...] = table[ids]


fn = pl.pallas_call(embed, out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((32,), jnp.int32), jax.ShapeDtypeStruct((256, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl


def embed(ids_ref, table_ref, o_ref):
    table = table_ref[...]
    ids = ids_ref[...]
    chosen = lax.broadcasted_iota(jnp.int32, (32, 256), 1) == ids[:, None]
    o_ref[...] = jnp.dot(chosen.astype(table.dtype), table, precision=lax.Precision.HIGHEST)


fn = pl.pallas_call(embed, out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((32,), jnp.int32), jax.ShapeDtypeStruct((256, 128), jnp.float32)]
```

## Fix safety
The product is not called safe. It adds one row to zeros, at the highest
precision the row itself, as long as the table is finite: an infinity or NaN
anywhere in a column makes all of it NaN. Indices out of range give zeros, where
JAX takes the last row, and negative ones are not counted from the end. The
product reads the whole table for each block of indices. A row of a ref is safe
where the kernel shows that its index is in range.

## References
- Pallas documentation, "Scalar prefetch and block-sparse computation".
- PM301 (operations that the compiler does not have).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic
from pallas_magic.rules._operations.called import called
from pallas_magic.rules._operations.gathers import gather_fixes
from pallas_magic.rules._operations.kinds import is_gather
from pallas_magic.rules._operations.sliced_refs import index_fixes
from pallas_magic.rules._operations.wording import back_end, diagnostic, what_was_written
from pallas_magic.rules._operations.wording import key as key
from pallas_magic.source.document import Library

code = "PM302"
name = "gathered-rows"


def match(failure: Failure) -> bool:
    return is_gather(failure)


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    written, compiler = what_was_written(failure, sources), back_end(failure)
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=f"{written} gathers from a value, which {compiler} does along one axis only",
        mark="gather",
        notes=("for a big table, prefetch the indices and pick rows in the index map",),
    )


def fixes(failure: Failure, sources: Library) -> Iterable[Candidate]:
    return _fixes(failure, sources)


def _fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    one = called(failure, sources)
    if one is None:
        return
    indices = failure.operation.inputs[1:2]
    if indices and len(indices[0].shape) == 1:
        yield from index_fixes(one)
    yield from gather_fixes(one)
