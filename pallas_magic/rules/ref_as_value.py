"""# PM601: a ref used as an array

## What it means
A kernel computes with a ref, or stores one ref into another. A ref is a place in
memory; the array that lies there is read with `ref[...]`.

## Why the hardware says no
It does not: what is computed on are registers, and an array gets there by a
load. JAX asks for the load to be written.

## Fix
Write `x_ref[...]` for the whole array, or index the part that is needed.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def double(x_ref, o_ref):
    o_ref[...] = x_ref * 2.0


fn = pl.pallas_call(double, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def double(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0


fn = pl.pallas_call(double, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Fix safety
There is one array behind a ref, and `[...]` reads it. All refs of the kernel
that stand where an array belongs are read at once.

## References
- Pallas documentation, "Pallas quickstart": reading from and writing to refs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic
from pallas_magic.rules._refs.bare_refs import bare_refs
from pallas_magic.rules._refs.expressions import complete
from pallas_magic.rules._specs.wording import diagnostic
from pallas_magic.source.document import Library
from pallas_magic.source.syntax import end_of

code = "PM601"
name = "ref-as-value"

_TEXTS = re.compile(
    r"Cannot store a Ref into another Ref"
    r"|'AbstractRef' object has no attribute"
    r"|\w+ got a Ref of type .* a Ref can't be passed where an array is expected"
    r"|Attempting to pass a Ref"
    r"|TransformedRefs cannot be abstractified"
)
# Older releases only say that it is no array.
_NO_ARRAY = re.compile(r"\w+ requires ndarray or scalar arguments, got <class .*Tracer'>")


def match(failure: Failure) -> bool:
    if failure.stage != "trace" or not failure.raised_in.startswith("jax."):
        return False
    return bool(_TEXTS.match(failure.text) or _NO_ARRAY.match(failure.text))


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    kernel, bare = bare_refs(failure, sources)
    place = failure.place
    here = [node for node in bare if place is not None and node.lineno >= place.line]
    first = next(iter((*here, *bare)), None)
    spans = [kernel.syntax.span(node) for node in bare] if kernel is not None else []
    subject = f"`{first.id}`" if first is not None else "what stands here"
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=f"{subject} is a ref, used as an array; `[...]` reads the array behind it",
        primary=kernel.syntax.span(first) if kernel is not None and first is not None else None,
        mark="a ref",
        effects=spans,
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    kernel, bare = bare_refs(failure, sources)
    if kernel is None:
        return
    if edits := complete([kernel.syntax.insert(end_of(node), "[...]") for node in bare]):
        names = " and ".join(dict.fromkeys(f"`{node.id}[...]`" for node in bare))
        yield Candidate(f"read {names}", edits, mechanical=True)
