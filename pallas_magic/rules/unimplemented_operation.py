"""# PM301: an operation that the compiler does not have

## What it means
A kernel uses a function of JAX that the compiler of the chip has no code for:
`jnp.sort`, `jnp.cumsum`, `x.at[i].set(v)`, a value indexed by a number that is
known only when the kernel runs. Interpreted, on a CPU, it works.

## Why the hardware says no
A vector register is not memory: nothing in it has an address that a program
could compute. What moves single rows or lanes about by such a number, sorts or
scatters, has to be written with what the vector unit does: arithmetic, masks,
rolls and reductions. A ref is memory, and takes a computed index.

## Fix
- a value that was loaded from a ref: index the ref, `x_ref[pl.ds(start, 8), :]`;
- `x.at[i].set(v)`: `jnp.where(count == i, v, x)` with `count` from
  `lax.broadcasted_iota`;
- a running sum: as many steps of a roll and a mask as its length has binary
  digits, or a product with a triangle of ones;
- `jnp.flip`: rows put together in reverse, or `jnp.take_along_axis`;
- `jnp.expm1` and its like: a formula of functions that there are;
- `jnp.sort`, `jnp.linalg.cholesky`, `jnp.fft`: outside the kernel.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl


def clear_row(x_ref, o_ref):
    x = x_ref[...]
    o_ref[...] = x.at[0].set(0.0)


fn = pl.pallas_call(clear_row, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl


def clear_row(x_ref, o_ref):
    x = x_ref[...]
    o_ref[...] = jnp.where(lax.broadcasted_iota(jnp.int32, x.shape, 0) == 0, 0.0, x)


fn = pl.pallas_call(clear_row, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Fix safety
A slice, a mask and a reversal hold the same numbers: interpreted, the kernel
before and after must agree exactly. What adds in another order, or works a
function out by a formula, says so in its title and must agree up to the
rounding of its type. JAX moves the start of a slice of a value into range and
counts negative indices from the end; a ref and a mask do neither. A fix that
depends on it is safe where the kernel shows the range of the index, by its grid
or its loops, and unsafe otherwise. What is moved out of the kernel is shown, not
inserted.

## References
- Pallas documentation, "TPU details": supported operations.
- PM302 (rows taken by a vector of indices), PM303 (a scan over arrays), PM304
  (a limit of an operation that there is).
"""

from __future__ import annotations

from collections.abc import Iterable

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic
from pallas_magic.rules._operations.kinds import MISSING, is_gather, is_limit, is_missing, is_scan
from pallas_magic.rules._operations.table import rewrites
from pallas_magic.rules._operations.wording import back_end, diagnostic, what_was_written
from pallas_magic.rules._operations.wording import key as key
from pallas_magic.source.document import Library

code = "PM301"
name = "unimplemented-operation"

_AT_RUN_TIME = "a value in registers has no address; a ref takes an index of run time"
_ALSO_CALLED = {
    "rev": ("flip", "::-1"),
    "reduce_prod": ("prod",),
    "dynamic_slice": ("dynamic_index_in_dim",),
    "dynamic_update_slice": ("dynamic_update_index_in_dim",),
    "atan": ("arctan",),
    "asin": ("arcsin",),
    "acos": ("arccos",),
    "asinh": ("arcsinh",),
    "acosh": ("arccosh",),
    "atanh": ("arctanh",),
}
_NOTES = {
    "dynamic_slice": _AT_RUN_TIME,
    "dynamic_update_slice": _AT_RUN_TIME,
    "gather": _AT_RUN_TIME,
    "sort": "sort before the kernel and give it the result, or take a few extremes in rounds",
    "top_k": "take the largest before the kernel, or in rounds of maximum and mask",
    "cholesky": "factorize before the kernel and give it the result",
    "fft": "transform before the kernel, or multiply by the matrix of the transform",
    "dot_general": "a matrix product on a GPU is `plgpu.wgmma` or `plgpu.tcgen05_mma`",
    "remat2": "leave `jax.checkpoint` out: a kernel is not differentiated through",
    "checkpoint": "leave `jax.checkpoint` out: a kernel is not differentiated through",
}


def match(failure: Failure) -> bool:
    others = is_gather(failure) or is_scan(failure) or is_limit(failure)
    return is_missing(failure) and not others and failure.warp is None


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=_message(failure, sources),
        mark="not implemented",
        notes=_notes(failure),
    )


def fixes(failure: Failure, sources: Library) -> Iterable[Candidate]:
    return rewrites(failure, sources)


def _message(failure: Failure, sources: Library) -> str:
    written, compiler = what_was_written(failure, sources), back_end(failure)
    if failure.primitive in ("dynamic_slice", "gather") and written.endswith("]`"):
        return f"{written} indexes a value at run time, which {compiler} does not implement"
    missing = [one.primitive for one in (failure, *failure.also) if one.text.startswith(MISSING)]
    primitive = missing[0] if missing else failure.primitive
    direct = (failure.primitive, *_ALSO_CALLED.get(failure.primitive, ()))
    is_update = failure.primitive.startswith("scatter") and ".at[" in written
    if is_update or any(one in written for one in direct):
        return f"{written} is not implemented by {compiler}"
    return f"{written} needs `{primitive}`, which is not implemented by {compiler}"


def _notes(failure: Failure) -> tuple[str, ...]:
    known = _NOTES.get(failure.primitive)
    if known is None and failure.primitive.startswith("scatter"):
        known = "a row of a value cannot be stored to; a mask or a store to a ref can do it"
    return (known,) if known is not None else ()
