"""# PM304: an operation that the compiler has in part

## What it means
The compiler has code for this operation, but not for this type or with these
arguments: `jnp.argmax` of integers, a choice among more than two values, a
`lax.top_k` that keeps the order of equal values.

## Why the hardware says no
The vector unit finds the place of the largest element of float32 vectors only,
and its select takes one mask and two values. What goes beyond that takes several
instructions, and those have to be written.

## Fix
- `jnp.argmax` and `jnp.argmin` of integers: the smallest place at which the
  extreme stands, or the numbers compared as float32;
- `jnp.select` and `lax.select_n`: `jnp.where` inside `jnp.where`;
- `lax.top_k`: rounds of maximum and mask.

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
agree exactly. Compared as float32, integers beyond 2**24 can fall together;
rounds of maximum and mask do not tell an element that is -infinity from one that
was taken.

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
from pallas_magic.rules._operations.kinds import ONLY_FLOAT, REDUCE_INDEX, SELECT, is_limit
from pallas_magic.rules._operations.largest import largest_fixes
from pallas_magic.rules._operations.wording import back_end, diagnostic, what_was_written
from pallas_magic.rules._operations.wording import key as key
from pallas_magic.source.document import Library

code = "PM304"
name = "operation-limits"

_FIXES = {"argmax": place_fixes, "argmin": place_fixes, "top_k": largest_fixes}


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
        notes=(),
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
    if "is_stable" in failure.text:
        return f"keeps the order of equal values, which {compiler} does not implement"
    return f"is not implemented by {compiler}"
