"""# PM304: an operation that the compiler has in part

## What it means
The compiler has code for this operation, but not for this type or with these
arguments: `jnp.argmax` of integers, a choice among more than two values, a
`lax.top_k` that keeps the order of equal values, a value taken apart in steps
(`x[::2]`), a row of floats that counts, the inner product of two vectors.

## Why the hardware says no
The vector unit finds the place of the largest element of float32 vectors only,
its select takes one mask and two values, it counts in integers, and it loads
from memory in steps but cannot pick every second row out of a register. The
matrix unit multiplies matrices. What goes beyond that takes several
instructions, and those have to be written.

## Fix
- `jnp.argmax` and `jnp.argmin` of integers: the smallest place at which the
  extreme stands, or the numbers compared as float32;
- `jnp.select` and `lax.select_n`: `jnp.where` inside `jnp.where`;
- `lax.top_k`: rounds of maximum and mask;
- `x[::2]`: the ref read in steps, `x_ref[pl.ds(0, 4, stride=2), :]`, or the rows
  put together;
- `jnp.arange(128.0)`: integers that count, converted;
- `jnp.vdot(x, y)`: `jnp.sum(x * y)`;
- `lax.bitcast_convert_type` to another width: `pltpu.bitcast`, which joins or
  parts rows instead of adding an axis.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl


def best(x_ref, o_ref):
    o_ref[...] = jnp.argmax(x_ref[...], axis=1)[:, None]


fn = pl.pallas_call(best, out_shape=jax.ShapeDtypeStruct((8, 1), jnp.int32))
args = [jax.ShapeDtypeStruct((8, 128), jnp.int32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl


def best(x_ref, o_ref):
    x = x_ref[...]
    is_best = x == jnp.max(x, axis=1, keepdims=True)
    places = jnp.where(is_best, lax.broadcasted_iota(jnp.int32, x.shape, 1), 128)
    o_ref[...] = jnp.min(places, axis=1, keepdims=True)


fn = pl.pallas_call(best, out_shape=jax.ShapeDtypeStruct((8, 1), jnp.int32))
args = [jax.ShapeDtypeStruct((8, 128), jnp.int32)]
```

## Fix safety
All of these give the same numbers: interpreted, the kernel before and after must
agree exactly; a sum of products adds in another order. Compared as float32,
integers beyond 2**24 can fall together; rounds of maximum and mask do not tell an
element that is -infinity from one that was taken.

## References
- Pallas documentation, "TPU details": supported operations.
- PM301 (operations that the compiler does not have).
"""

from __future__ import annotations

from collections.abc import Iterable

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic
from pallas_magic.rules._operations.best_places import place_fixes
from pallas_magic.rules._operations.called import called
from pallas_magic.rules._operations.choices import choice_fixes
from pallas_magic.rules._operations.counting import counting_fixes
from pallas_magic.rules._operations.inner_products import inner_product_fixes
from pallas_magic.rules._operations.kinds import (
    ONLY_FLOAT,
    REDUCE_INDEX,
    SELECT,
    WIDTHS,
    is_float_count,
    is_inner_product,
    is_limit,
    is_strided,
)
from pallas_magic.rules._operations.largest import largest_fixes
from pallas_magic.rules._operations.strided_slices import strided_fixes
from pallas_magic.rules._operations.wording import back_end, diagnostic, what_was_written
from pallas_magic.rules._operations.wording import key as key
from pallas_magic.source.document import Library

code = "PM304"
name = "operation-limits"

_FIXES = {
    "argmax": place_fixes,
    "argmin": place_fixes,
    "top_k": largest_fixes,
    "slice": strided_fixes,
    "iota": counting_fixes,
    "dot_general": inner_product_fixes,
}
_ANOTHER_WIDTH = "`pltpu.bitcast` joins or parts rows, and has no new axis"


def match(failure: Failure) -> bool:
    return is_limit(failure)


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=f"{what_was_written(failure, sources)} {_limit(failure)}",
        mark="not implemented",
        notes=(_ANOTHER_WIDTH,) if failure.text.startswith(WIDTHS) else (),
    )


def fixes(failure: Failure, sources: Library) -> Iterable[Candidate]:
    one = called(failure, sources)
    if one is None:
        return ()
    if one.name in ("select", "select_n"):
        return choice_fixes(one)
    return _FIXES[failure.primitive](one) if failure.primitive in _FIXES else ()


def _limit(failure: Failure) -> str:
    compiler = back_end(failure)
    kinds = {one.primitive for one in (failure, *failure.also)}
    if failure.text.startswith(SELECT) or "select_n" in kinds:
        return f"chooses among more than two values, which {compiler} does not implement"
    if failure.text.startswith((REDUCE_INDEX, ONLY_FLOAT)):
        dtype = failure.operation.inputs[0].dtype if failure.operation.inputs else "this type"
        return f"of {dtype} is not implemented by {compiler}, that of float32 is"
    if is_strided(failure):
        return f"takes a value apart in steps, which {compiler} does not implement"
    if is_float_count(failure):
        return f"counts in floating point, which {compiler} does in integers only"
    if is_inner_product(failure):
        return f"multiplies two vectors; {compiler} multiplies matrices"
    if failure.text.startswith(WIDTHS):
        return f"changes the width of elements, which {compiler} does not implement"
    if "is_stable" in failure.text:
        return f"keeps the order of equal values, which {compiler} does not implement"
    return f"is not implemented by {compiler}"
