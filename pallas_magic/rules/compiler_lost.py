"""# PM902: the compiler gave no answer

## What it means
The kernel lowers. The vendor's compiler then ended itself, was ended, or took
longer than its limit. It runs in a process of its own, so nothing of yours was
lost, and the next check starts a new one.

## Why the hardware says no
It does not: nothing is known of the kernel's right or wrong.
Compilers check their own assumptions and abort where one does not hold. Most
often the kernel holds something that they have not been taught: on the machine
with the accelerator the same kernel would take the Python process down. Very
large blocks can keep a compiler busy for minutes, and a machine that runs out
of memory may end the process.

## Fix
The text of the abort often names the operation. Otherwise make the blocks
smaller, or take the kernel apart until it compiles. The environment variable
`PALLAS_MAGIC_COMPILE_SECONDS` sets the limit for one kernel.

## Example
libtpu aborts on this one for TPU v4, v5e and v5p:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def numbered(x_ref, o_ref):
    row = jax.lax.broadcasted_iota(jnp.int16, (32, 128), 0)
    o_ref[...] = x_ref[...] * row.astype(jnp.float32)


fn = pl.pallas_call(numbered, out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((32, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def numbered(x_ref, o_ref):
    row = jax.lax.broadcasted_iota(jnp.int32, (32, 128), 0)
    o_ref[...] = x_ref[...] * row.astype(jnp.float32)


fn = pl.pallas_call(numbered, out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((32, 128), jnp.float32)]
```

## Fix safety
There is no ready fix. This is a warning: it does not show that the kernel is
wrong.

## References
"Copy as bug report" in an error's card; https://github.com/jax-ml/jax/issues
"""

from __future__ import annotations

from collections.abc import Iterable

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic
from pallas_magic.source.document import Library

code = "PM902"
name = "compiler-lost"


def match(failure: Failure) -> bool:
    return failure.stage == "compile" and failure.error_type == "CompilerLost"


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    return Diagnostic(
        code=code,
        name=name,
        severity="warning",
        stage="compile",
        targets=(failure.target.name,),
        kernel=failure.kernel,
        message=f"`{failure.kernel}` could not be compiled for {failure.target.title}:"
        f" {failure.text}",
        primary=sources.span(failure.place) or sources.span(failure.call.build),
        primary_text="not compiled",
    )


def fixes(failure: Failure, sources: Library) -> Iterable[Candidate]:
    return ()
