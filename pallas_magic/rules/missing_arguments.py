"""# PM908: a call of Pallas without an argument that it needs

## What it means
A function or a type of Pallas is called without an argument that it cannot do without.

## Why the hardware says no
It does not: Python refuses the call, before there is a kernel. Where it is a memory
space that is called, `pltpu.VMEM((8, 128))`, Python names a class of JAX's instead.

## Fix
Give the argument. A buffer needs a shape and a dtype, `pltpu.VMEM((8, 128),
jnp.float32)`; a call needs `out_shape`, the shape and dtype of what it returns.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def summed(x_ref, o_ref, total_ref):
    total_ref[...] = x_ref[...] + 1.0
    o_ref[...] = total_ref[...]


def fn(x):
    buffer = pltpu.VMEM((8, 128))
    return pl.pallas_call(summed, out_shape=x, scratch_shapes=[buffer])(x)


args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def summed(x_ref, o_ref, total_ref):
    total_ref[...] = x_ref[...] + 1.0
    o_ref[...] = total_ref[...]


def fn(x):
    buffer = pltpu.VMEM((8, 128), jnp.float32)
    return pl.pallas_call(summed, out_shape=x, scratch_shapes=[buffer])(x)


args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Fix safety
Nothing tells what the argument is meant to be: there is no ready fix.

## References
- PM905 (parameters that are not taken any more), PM906 (names that are not there).
"""

from __future__ import annotations

from collections.abc import Iterable

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic
from pallas_magic.rules._drift.parameters import refused_call
from pallas_magic.rules._drift.wording import told, usual
from pallas_magic.rules._specs.wording import diagnostic
from pallas_magic.source.document import Library

code = "PM908"
name = "missing-arguments"


def match(failure: Failure) -> bool:
    return failure.absent is not None and failure.absent.kind == "argument"


def key(failure: Failure) -> object:
    return failure.absent


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    absent = failure.absent
    assert absent is not None
    found = refused_call(absent, sources)
    function = found[0].text(found[1].func) if found is not None else usual(absent.owner)
    names = [f"`{name}`" for name in absent.name.split(", ")]
    listed = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
    return told(
        failure,
        diagnostic(
            failure,
            sources,
            code=code,
            name=name,
            message=f"`{function}` needs {listed}, which it is not given",
            primary=sources.span(absent.place),
            mark=f"without {listed}",
        ),
    )


def fixes(failure: Failure, sources: Library) -> Iterable[Candidate]:
    return ()
