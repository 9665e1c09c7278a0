"""# PM907: a kernel in a program for several devices

## What it means
A kernel is called on arrays that are spread over several TPUs, under `jax.jit` and
not under `jax.shard_map`.

## Why the hardware says no
XLA would have to divide the kernel among the devices, and a kernel is one program
for one of them: nothing tells which part of its work goes where.

## Fix
Wrap the call in `jax.shard_map`, which gives each device its part of the arrays
and runs the kernel on that.

## Example
Fails, where `x` is spread over the devices of `mesh`:

```python
def scaled(x):
    return pl.pallas_call(scale, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


y = jax.jit(scaled)(x)
```

## Use instead
```python
parts = P("d", None)
each = jax.shard_map(scaled, mesh=mesh, in_specs=parts, out_specs=parts, check_vma=False)
y = jax.jit(each)(x)
```

## Fix safety
How the arrays are divided, and what the devices have to tell one another, only
you know: there is no fix to insert.

## References
- JAX documentation, `jax.shard_map`; Pallas documentation, "Distributed computing".
- `jax/_src/tpu_custom_call.py`, `_tpu_custom_call_lowering`.
"""

from __future__ import annotations

from collections.abc import Iterable

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic, Label
from pallas_magic.rules._specs.wording import diagnostic
from pallas_magic.source.document import Library

code = "PM907"
name = "automatic-partitioning"

_TEXT = "Mosaic kernels cannot be automatically partitioned"
_NOTE = "`jax.shard_map` gives each device its part of the arrays, and a kernel of its own"


def match(failure: Failure) -> bool:
    return failure.text.startswith(_TEXT)


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    call = sources.span(failure.call.applied)
    here = call is not None and failure.call.applied != failure.place
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=f"`{failure.kernel}` is called on arrays spread over several devices;"
        " a kernel is compiled for one",
        primary=None,
        mark="not under `shard_map`",
        causes=(Label(call, "the kernel", "cause"),) if here and call is not None else (),
        notes=(_NOTE,),
    )


def fixes(failure: Failure, sources: Library) -> Iterable[Candidate]:
    return ()
