"""# PM303: a scan over arrays

## What it means
A kernel loops with `lax.scan` over the rows of an array, or stacks a result of
each step, or calls `lax.map`. Loops that only carry values on do lower.

## Why the hardware says no
A scan reads a row of a value, and writes one, at a step that is known only when
the loop runs. A value in registers has no address; a ref has one.

## Fix
Loop with `lax.fori_loop`, load the row of each step from the ref, and store what
was stacked to the output ref. The body of the scan can stay as it is.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl


def running(x_ref, o_ref):
    def body(total, x):
        return total + x, total + x

    total, sums = lax.scan(body, jnp.zeros((128,), jnp.float32), x_ref[...])
    o_ref[...] = sums


fn = pl.pallas_call(running, out_shape=jax.ShapeDtypeStruct((16, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((16, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl


def running(x_ref, o_ref):
    def body(total, x):
        return total + x, total + x

    def step(i, total):
        total, o_ref[i] = body(total, x_ref[i])
        return total

    lax.fori_loop(0, 16, step, jnp.zeros((128,), jnp.float32))


fn = pl.pallas_call(running, out_shape=jax.ShapeDtypeStruct((16, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((16, 128), jnp.float32)]
```

## Fix safety
The same steps in the same order: interpreted, the kernel before and after must
agree exactly. The rewrite is offered where the array is all of a ref that the
kernel does not store to, and where what is stacked is only stored to a ref.

## References
- JAX documentation, `jax.lax.fori_loop`.
- PM301 (operations that the compiler does not have).
"""

from __future__ import annotations

from collections.abc import Iterable

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic
from pallas_magic.rules._operations.called import called
from pallas_magic.rules._operations.kinds import is_scan
from pallas_magic.rules._operations.loops import scan_fixes
from pallas_magic.rules._operations.wording import back_end, diagnostic, what_was_written
from pallas_magic.rules._operations.wording import key as key
from pallas_magic.source.document import Library

code = "PM303"
name = "scanned-arrays"


def match(failure: Failure) -> bool:
    return is_scan(failure)


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    stacks = "output(s)" in failure.text
    verb = "stacks the results of its steps" if stacks else "loops over an array"
    if not failure.text.strip():
        verb = "loops over an array backwards"
    written = what_was_written(failure, sources)
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=f"{written} {verb}, which {back_end(failure)} does not implement",
        mark="scan over arrays",
        notes=("a loop can load from a ref and store to one at each step",),
    )


def fixes(failure: Failure, sources: Library) -> Iterable[Candidate]:
    one = called(failure, sources)
    return scan_fixes(one) if one is not None else ()
