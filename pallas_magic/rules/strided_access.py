"""# PM503: a load or store in steps that the back end does not have

## What it means
A ref is indexed in steps, `x_ref[:, pl.ds(0, 64, stride=2)]` or `x_ref[:, ::2]`,
where the back end has none: on a TPU along the lanes, which are the last axis, in
rows of more than 128 elements, in refs of one axis, from another lane than the
first, in stores of types shorter than 32 bits, in copies and under masks. Mosaic
GPU has no steps at all.

## Why the hardware says no
A TPU loads registers of 8 rows and 128 lanes. It can take the 8 rows from places
that lie apart, but the lanes of a row stay side by side; and rows of more than 128
elements lie in several tiles. Rows of short types are packed, two or four to a
register's row, and cannot be stored apart.

## Fix
- Load all of the axis and take the steps of the value: by a gather along the
  lanes, by a reshape that gives the steps an axis of their own, or by putting rows
  together.
- Store rows one by one.
- Reshape the array before the call, (8, 256) to (8, 128, 2), or transpose it, so
  that the steps have an axis of their own.
- Copy all rows, and take the steps from the buffer.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl


def even_lanes(x_ref, o_ref):
    o_ref[...] = x_ref[:, pl.ds(0, 64, stride=2)]


fn = pl.pallas_call(even_lanes, out_shape=jax.ShapeDtypeStruct((8, 64), jnp.float32))
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl


def even_lanes(x_ref, o_ref):
    x = x_ref[...]
    lanes = lax.broadcasted_iota(jnp.int32, x.shape, 1) * 2 % 128
    o_ref[...] = jnp.take_along_axis(x, lanes, axis=1)[:, :64]


fn = pl.pallas_call(even_lanes, out_shape=jax.ShapeDtypeStruct((8, 64), jnp.float32))
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Fix safety
The same elements move to the same places: interpreted, the kernel before and after
must agree exactly. Whether a chip compiles the reshape or the gather is known only
where its compiler is installed.

## References
- Pallas documentation, "TPU details": array layouts.
- PM304 (a value taken apart in steps), PM501 (places known only when the kernel runs).
- Compiled for TPU v4, v5e, v5p, v6e and v7x with libtpu 0.0.42.1, 0.0.48.1 and 0.0.50.1.
"""

from __future__ import annotations

from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic
from pallas_magic.rules._alignment.strided_accesses import (
    lane_fixes,
    load_fixes,
    store_fixes,
    strided,
)
from pallas_magic.rules._operations.wording import back_end
from pallas_magic.rules._specs.wording import counted, diagnostic
from pallas_magic.source.copies import made_at
from pallas_magic.source.document import Library

code = "PM503"
name = "strided-access"

_ALONG_LANES = "Stride on last dim is not 1"
_WIDE = "The last dim size is not 128 in original base memref"
_FROM_A_LANE = ("Index on last dim is not 0", "Dynamic index on last dim")
_ONE_AXIS = (" with 1D vector",)
_SHORT = ("with non 32-bit data", "strided load for packed type")
_AT_RUN_TIME = "Only static indices are supported for packed types"
_COMPILED = (_ALONG_LANES, _WIDE, *_FROM_A_LANE, *_ONE_AXIS, *_SHORT, _AT_RUN_TIME)
_SLICED = "Strided slices of references are unsupported"
_MASKED = "masked swap with strided store"
_ON_GPU = "Strided slices not implemented"
_ACCESSES = ("get", "swap", "masked_load", "masked_swap")
_COPIES = ("dma_start", "dma_wait")
_RESHAPE = "a reshape before the call can give the steps an axis of their own"
_COPY_ALL = "copy all of it, and take the steps from the buffer"
_CHOOSE = "load in steps too, choose with `jnp.where`, and store all that was chosen from"


def match(failure: Failure) -> bool:
    if failure.stage == "compile":
        known = any(text in failure.text for text in _COMPILED)
        return known and failure.primitive in _ACCESSES and bool(_step(failure))
    by_pallas = failure.raised_in.startswith(("jax.pallas.mosaic", "jax.experimental.mosaic"))
    return by_pallas and failure.text.startswith((_SLICED, _MASKED, _ON_GPU))


def key(failure: Failure) -> object:
    """Each access is told by itself; a copy is started and awaited at two places."""
    if failure.primitive in _COPIES and failure.ref is not None:
        return failure.ref.position, failure.ref.role
    return failure.place or failure.text


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    message, mark = _words(failure)
    place = failure.place
    if failure.primitive in _COPIES:
        place = made_at(sources, place)
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=message,
        primary=sources.span(place),
        mark=mark,
        notes=_notes(failure, sources),
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    one = strided(failure, sources)
    if one is None or failure.ref is None or failure.target.family != "tpu":
        return
    if any(text in failure.text for text in _FROM_A_LANE):
        yield from lane_fixes(one, failure)
    else:
        yield from load_fixes(one, failure.ref.dtype)
    if failure.primitive == "swap":
        yield from store_fixes(one)


def _words(failure: Failure) -> tuple[str, str]:
    ref = f"`{failure.ref.name}`" if failure.ref is not None and failure.ref.name else "a ref"
    dtype = failure.ref.dtype if failure.ref is not None else ""
    step = _step(failure)
    steps = f"in steps of {step}" if step else "in steps"
    is_store = failure.access is not None and failure.access.kind == "store"
    does = "stores to" if is_store else "loads"
    if failure.stage != "compile":
        return _words_of_jax(failure, ref, does, steps)
    if _ALONG_LANES in failure.text:
        message = f"this {does} lanes of {ref} {steps}; a TPU has steps along the other axes only"
        return message, f"steps of {step} along the lanes"
    if _WIDE in failure.text:
        width = failure.ref.shape[-1] if failure.ref is not None else 0
        limit = "a TPU does so where rows have at most 128 elements"
        return f"this {does} {ref} {steps}; {limit}, these have {width}", steps
    if any(text in failure.text for text in _FROM_A_LANE):
        limit = "a TPU does so from the first lane on"
        return f"this {does} {ref} {steps}, in the middle of its rows; {limit}", steps
    if any(text in failure.text for text in _ONE_AXIS):
        limit = "a TPU does so in refs of two or more axes"
        return f"this {does} {ref} {steps}; {limit}, this has {counted(1, 'axis')}", steps
    if _AT_RUN_TIME in failure.text:
        place = "from a place that is known only when the kernel runs"
        limit = f"a TPU does so with 32-bit types, not with {dtype}"
        return f"this {does} {ref} {steps} {place}; {limit}", steps
    limit = f"the compiler does so with 32-bit types, not here with {dtype}"
    return f"this {does} {ref} {steps}; {limit}", steps


def _words_of_jax(failure: Failure, ref: str, does: str, steps: str) -> tuple[str, str]:
    compiler = back_end(failure)
    if failure.text.startswith(_MASKED):
        message = f"this {does} {ref} {steps} and under a mask; {compiler} does not do both"
        return message, f"{steps}, under a mask"
    if failure.primitive in _COPIES:
        message = f"this copy takes a part of {ref} in steps; {compiler} copies what lies together"
        return message, "a copy in steps"
    return f"this {does} {ref} {steps}, which {compiler} does not implement", steps


def _step(failure: Failure) -> int:
    """The first step other than 1 of the index, 0 where none is known."""
    known = failure.access.static_index if failure.access is not None else ()
    return next((part[2] for part in known if isinstance(part, tuple) and part[2] != 1), 0)


def _notes(failure: Failure, sources: Library) -> tuple[str, ...]:
    if failure.text.startswith(_MASKED):
        return (_CHOOSE,)
    if failure.primitive in _COPIES:
        return (_COPY_ALL,)
    if _AT_RUN_TIME in failure.text:
        return ()
    return () if next(fixes(failure, sources), None) is not None else (_RESHAPE,)
