"""# PM905: a parameter that a function of Pallas does not take any more

## What it means
A function or class of Pallas is given an argument that earlier releases of JAX
took, under a name that it does not have now.

## Why the hardware says no
It does not: Python refuses the call, before there is a kernel.

## Fix
Give the argument as it is taken today:

| then | now |
|---|---|
| `plgpu.kernel(body, out_shape=..., scratch_shapes=...)` | `out_type=..., scratch_types=...` |
| `plgpu.kernel(body, shape)` | `plgpu.kernel(body, out_type=shape)` |
| `pl.kernel(body, out_shape=..., mesh=...)` | `out_type=...` |
| `plgpu.load(ref, idx)` | `plgpu.load(ref.at[idx])` |
| `plgpu.Barrier(for_tensor_core=True)` | `orders_tensor_core=True` |
| `pl.semaphore_wait(sem, dec=1)` | `value=1` |
| `pl.pallas_call(..., backend="mosaic_gpu")` | `compiler_params=plgpu.CompilerParams()` |
| `pl.BlockSpec(block, indexing_mode=pl.unblocked)` | `pl.Element(size)` in the block |

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def double(x_ref, o_ref, semaphore):
    pl.semaphore_signal(semaphore)
    pl.semaphore_wait(semaphore, dec=1)
    o_ref[...] = x_ref[...] * 2.0


fn = pl.pallas_call(
    double,
    out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
    scratch_shapes=[pltpu.SemaphoreType.REGULAR],
)
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def double(x_ref, o_ref, semaphore):
    pl.semaphore_signal(semaphore)
    pl.semaphore_wait(semaphore, value=1)
    o_ref[...] = x_ref[...] * 2.0


fn = pl.pallas_call(
    double,
    out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
    scratch_shapes=[pltpu.SemaphoreType.REGULAR],
)
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Fix safety
Only what is taken unchanged under another name is renamed, in all calls of the
cell or file, and that is safe. Where the new way is another one, the message
says which.

## References
- The change log of Pallas in JAX's documentation.
- PM904 (names that are gone).
"""

from __future__ import annotations

from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic
from pallas_magic.rules._drift.parameters import (
    Given,
    Parameter,
    calls_of,
    name_place,
    old_arguments,
    parameter_of,
    refused_call,
)
from pallas_magic.rules._drift.proposals import SAME
from pallas_magic.rules._drift.wording import told, usual
from pallas_magic.rules._specs.wording import counted, diagnostic
from pallas_magic.source.document import Library

code = "PM905"
name = "removed-parameters"


def match(failure: Failure) -> bool:
    return failure.absent is not None and parameter_of(failure.absent) is not None


def key(failure: Failure) -> object:
    return failure.absent


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    absent = failure.absent
    assert absent is not None
    known, found = parameter_of(absent), refused_call(absent, sources)
    assert known is not None
    function, spans = usual(absent.owner), []
    if found is not None:
        syntax, call = found
        function = syntax.text(call.func)
        given = _first(old_arguments(syntax, call, absent.owner), absent.name)
        spans = [sources.span(name_place(syntax, one.node)) for one in given]
    what = f"no `{absent.name}`" if absent.kind == "parameter" else "no second argument"
    return told(
        failure,
        diagnostic(
            failure,
            sources,
            code=code,
            name=name,
            message=f"`{function}` takes {what} since JAX {known.gone}; {_instead(known)}",
            primary=spans[0] if spans else None,
            mark=f"not taken since JAX {known.gone}",
            effects=spans[1:],
        ),
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    absent = failure.absent
    assert absent is not None
    found = refused_call(absent, sources)
    if found is None:
        return
    syntax, failing = found
    own = old_arguments(syntax, failing, absent.owner)
    others = [
        given
        for call in calls_of(sources, syntax, absent.owner)
        if call is not failing
        for given in old_arguments(syntax, call, absent.owner)
    ]
    edits = [given.edit for given in (*own, *others) if given.edit is not None]
    if not own or any(given.edit is None for given in own):
        return
    names = dict.fromkeys(f"`{one.known.now}`" for one in own if one.known.now)
    title = f"name it {' and '.join(names)}" if names else "take the part with `.at`"
    calls = sum(given.edit is not None for given in others)
    more = f", here and in {counted(calls, 'more place')}" if calls else ""
    yield Candidate(title + more, tuple(edits), why=SAME, shown_by="nature")


def _first(given: list[Given], name: str) -> list[Given]:
    """The argument that Python named, then the others."""
    return sorted(given, key=lambda one: getattr(one.node, "arg", "") != name)


def _instead(known: Parameter) -> str:
    return f"it is `{known.now}` now" if known.now else known.instead
