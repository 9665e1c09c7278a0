"""# PM501: an index of run time where a TPU asks for a known multiple

## What it means
A load or store begins at a lane, or at a row of a packed type, that is known only when
the kernel runs, and the compiler cannot prove that it is a multiple of the tile.

## Why the hardware says no
A vector register holds 8 rows of 128 lanes, and the load unit addresses whole registers.
An unaligned place takes shifts between lanes, which the compiler puts in where it knows
the place. Rows may begin anywhere for 32-bit types; two bfloat16 or int16 rows, or four
int8 rows, share a word, so that their place must be known as well: multiples of 8 for
16 bits, of 32 for 8 bits.

## Fix
- One element along the axis: read the whole ref and pick it with a mask; to store, write
  the ref back with the new element under a mask.
- Several elements: `pltpu.roll` brings them to the front of the value.
- Where the index is a multiple of the tile, say so: `pl.multiple_of(i, 128)`, or pass the
  number of the block and multiply it in the kernel.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def sums(x_ref, o_ref):
    j = pl.program_id(0)
    o_ref[:, j] = jnp.sum(x_ref[...], axis=1)


fn = pl.pallas_call(
    sums,
    grid=(4,),
    in_specs=[pl.BlockSpec((8, 128), lambda j: (0, j))],
    out_specs=pl.BlockSpec((8, 128), lambda j: (0, 0)),
    out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
)
args = [jax.ShapeDtypeStruct((8, 512), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl


def sums(x_ref, o_ref):
    j = pl.program_id(0)
    lane = lax.broadcasted_iota(jnp.int32, o_ref.shape, 1)
    o_ref[...] = jnp.where(lane == j, jnp.sum(x_ref[...], axis=1, keepdims=True), o_ref[...])


fn = pl.pallas_call(
    sums,
    grid=(4,),
    in_specs=[pl.BlockSpec((8, 128), lambda j: (0, j))],
    out_specs=pl.BlockSpec((8, 128), lambda j: (0, 0)),
    out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
)
args = [jax.ShapeDtypeStruct((8, 512), jnp.float32)]
```

## Fix safety
A mask picks exactly the element of the index, and the rest is written back as it was:
interpreted, both kernels must agree exactly. A roll goes round at the end of the ref,
where a slice that begins too late is moved back; it is not called safe. Nor is a promise
that an index is a multiple: the compiler believes it.

## References
- Pallas documentation, "TPU details": array layouts.
- XLA's page on E2003: https://openxla.org/xla/errors/error_2003
- Compiled for TPU v4, v5e, v5p, v6e and v7x with libtpu 0.0.42.1, 0.0.50.1 and
  0.0.52. For indices of which nothing is known it is told without a compiler.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic, Label
from pallas_magic.rules._alignment.masked_access import (
    Access,
    Edits,
    accesses,
    masked,
    promised,
    rolled,
)
from pallas_magic.rules._refs.expressions import complete
from pallas_magic.rules._specs.wording import diagnostic
from pallas_magic.source.document import Library
from pallas_magic.source.names import spelled
from pallas_magic.source.resolve import Expression, resolve

code = "PM501"
name = "run-time-index"

_TEXT = re.compile(r"statically prove that index in dimension (\d+) is a multiple of (\d+)")
_ACCESSES = ("get", "swap", "load", "store", "masked_load", "masked_swap", "addupdate")
_TPU = "jax.experimental.pallas.tpu"
_GOES_ROUND = "a slice that begins too late goes round to the front"
_PROMISE = "right only where the index is a multiple of {multiple}"


def match(failure: Failure) -> bool:
    known = failure.stage == "compile" and failure.primitive in _ACCESSES
    return known and failure.ref is not None and _TEXT.search(failure.text) is not None


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    assert failure.ref is not None
    axis, multiple = _asked(failure)
    is_last = axis == len(failure.ref.shape) - 1
    what = "lane" if is_last else "row"
    kinds = {one.access.kind for one in (failure, *failure.also) if one.access is not None}
    does = "loads from" if kinds == {"load"} else "stores to" if kinds == {"store"} else "uses"
    named = f"`{failure.ref.name}`" if failure.ref.name else "the ref"
    dtype = "" if is_last else f" of {failure.ref.dtype}"
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=f"this {does} a {what} of {named} that is known only when the kernel runs;"
        f" a TPU takes multiples of {multiple}{dtype}",
        primary=None,
        mark=f"{what} of run time",
        effects=[sources.span(later.place) for later in failure.also],
        causes=_causes(failure, sources, axis),
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    assert failure.ref is not None
    axis, multiple = _asked(failure)
    found = [*accesses(failure, sources, axis)]
    known = [one for one in found if one is not None]
    if not known or len(known) < len(found):
        return
    dtype, extent = failure.ref.dtype, failure.ref.shape[axis]
    if edits := _of_all([masked(one, dtype) for one in known]):
        yield Candidate("use a mask over the whole ref", edits)
    tpu = spelled(sources, known[0].one.syntax.document, _TPU, "roll")
    if edits := _of_all([rolled(one, extent, tpu) for one in known]):
        yield Candidate("roll the value to its front", edits, "unsafe", why=_GOES_ROUND)
    if edits := _of_all([promised(one, multiple) for one in known]):
        why = _PROMISE.format(multiple=multiple)
        yield Candidate(f"declare a multiple of {multiple}", edits, "unsafe", why=why)


def _asked(failure: Failure) -> tuple[int, int]:
    found = _TEXT.search(failure.text)
    assert found is not None
    return int(found[1]), int(found[2])


def _of_all(parts: list[Edits]) -> Edits:
    """The edits of every part, none where one could not be made."""
    return complete([edit for part in parts for edit in part]) if all(parts) else ()


def _causes(failure: Failure, sources: Library, axis: int) -> Iterator[Label]:
    """Where the index comes from, where it has a name."""
    told = set()
    for one in accesses(failure, sources, axis):
        cause = _cause(one, sources) if one is not None else None
        if cause is not None and cause.span not in told:
            told.add(cause.span)
            yield cause


def _cause(one: Access, sources: Library) -> Label | None:
    if not isinstance(one.start, ast.Name):
        return None
    given = resolve(sources, Expression(one.one.syntax, one.start))
    span = given.syntax.span(given.node) if given.node is not one.start else None
    return Label(span, "known only when the kernel runs", "cause") if span is not None else None
