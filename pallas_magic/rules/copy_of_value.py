"""# PM109: a value where a copy or a semaphore needs a ref

## What it means
`x_ref[...]` loads a value. A copy goes from one ref to another, and a semaphore is
a ref too: what they are given is the ref itself, or a part of it taken with `.at`.

## Why the hardware says no
A DMA engine is given addresses. A value that was loaded lies in registers and has
none.

## Fix
Leave `[...]` out; take a part with `x_ref.at[0:8]` or `semaphores.at[i]`. A value that
was computed is stored to a ref first.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def copied(x_ref, o_ref):
    pltpu.sync_copy(x_ref[...], o_ref)


fn = pl.pallas_call(copied, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def copied(x_ref, o_ref):
    pltpu.sync_copy(x_ref, o_ref)


fn = pl.pallas_call(copied, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Fix safety
`x_ref.at[index]` is the part of memory that `x_ref[index]` loads: nothing else can be
meant. It is safe where the kernel then lowers.

## References
- Pallas documentation, "Pallas quickstart": refs and views of them.
- PM601 (a ref where a value is needed), which is the reverse.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic
from pallas_magic.rules._dma.calls import RefCall, copy_call
from pallas_magic.rules._refs.loads import loads_among, refs_instead
from pallas_magic.rules._specs.wording import diagnostic
from pallas_magic.source.document import Library

code = "PM109"
name = "copy-of-value"

_TEXT = re.compile(
    r"DMA (?:source/destination(?:/semaphore)? arguments|(?:source|destination) semaphore) must be"
    r"|Cannot \w+ on a non-semaphore Ref: "
)


def match(failure: Failure) -> bool:
    return failure.stage == "trace" and _TEXT.match(failure.text) is not None


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    call = copy_call(failure, sources)
    values = _values(call) if call is not None else []
    spans = [call.syntax.span(one) for one in values] if call is not None else []
    if call is not None and values:
        message = f"`{call.syntax.text(values[0])}` loads a value; `{call.name}` needs a ref"
    else:
        message = f"this is given a value; `{call.name if call else 'it'}` needs a ref"
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=message,
        primary=spans[0] if spans else (call.span() if call is not None else None),
        mark="a value, expected a ref",
        effects=spans[1:],
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    call = copy_call(failure, sources)
    values = _values(call) if call is not None else []
    if call is None or not values:
        return
    yield from refs_instead(call.syntax, values)


def _values(call: RefCall) -> list[ast.Subscript]:
    """The loads among what the call takes as refs."""
    given = [*call.ends, *call.semaphores()] if call.takes_ends else call.semaphores()
    return loads_among(given)
