"""# PM305: an array of a size that Triton does not take

## What it means
Every array that a Triton kernel loads, makes or stores has to have 1, 2, 4, 8, ...
elements, in all of its axes together, and 1,048,576 at most. This one has another
number of them.

## Why the hardware says no
Triton hands an array to warps of 32 threads, each of which gets as many elements
as the others, in registers whose number is a power of two. What does not fill them
is for the program to leave out, with a mask. All of a block's registers together
hold 65,536 numbers of 32 bits, so that arrays near the limit are slow already.

## Fix
- More than 1,048,576 elements: divide the array by a `grid` and `pl.BlockSpec`s.
- Take blocks that are powers of two, and a `grid` of `pl.cdiv(n, block)` steps.
- Where the array is no multiple of the block, load and store under a mask:
  `plt.load(x_ref.at[...], mask=index < n, other=0)`, and the like with `plt.store`.
- `pl.next_power_of_2(n)` gives the size to round up to.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plt


def doubled(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0


fn = pl.pallas_call(
    doubled,
    grid=(2,),
    in_specs=[pl.BlockSpec((96,), lambda i: (i,))],
    out_specs=pl.BlockSpec((96,), lambda i: (i,)),
    out_shape=jax.ShapeDtypeStruct((192,), jnp.float32),
    compiler_params=plt.CompilerParams(),
)
args = [jax.ShapeDtypeStruct((192,), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plt


def doubled(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0


fn = pl.pallas_call(
    doubled,
    grid=(3,),
    in_specs=[pl.BlockSpec((64,), lambda i: (i,))],
    out_specs=pl.BlockSpec((64,), lambda i: (i,)),
    out_shape=jax.ShapeDtypeStruct((192,), jnp.float32),
    compiler_params=plt.CompilerParams(),
)
args = [jax.ShapeDtypeStruct((192,), jnp.float32)]
```

## Fix safety
There is no ready fix: into which blocks to divide the array, and whether to mask its
end, is a choice.

## References
- Pallas documentation, "Pallas quickstart" and the Triton back end's requirements.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic, Label
from pallas_magic.rules._operations.wording import what_was_written
from pallas_magic.rules._refs.expressions import shape_of
from pallas_magic.rules._resources.wording import ref_span
from pallas_magic.rules._specs.wording import diagnostic, shape_text
from pallas_magic.source.document import Library

code = "PM305"
name = "triton-sizes"

_SIZE = re.compile(
    r"The Pallas Triton lowering currently requires that all operations have array arguments "
    r"and results whose size is a power of 2\..*?(\([\d, ]*\))",
    re.DOTALL,
)
_VERIFIED = "Number of elements must be power-of-two"
_MOST = re.compile(r"Maximum allowed number of elements is (\d+), but\s(.*)", re.DOTALL)
_NAMED, _TYPED = re.compile(r"this has the shape (\(.*\))"), re.compile(r"tensor<((?:\d+x)+)")


def match(failure: Failure) -> bool:
    found = _SIZE.match(failure.text) or _MOST.search(failure.text)
    return found is not None or _VERIFIED in failure.text


def key(failure: Failure) -> object:
    if (too_large := _too_large(failure.text)) is not None:
        return too_large
    return failure.place or failure.text


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    found, ref = _SIZE.match(failure.text), failure.ref
    subject = (
        f"`{ref.name}`" if ref is not None and ref.name else what_was_written(failure, sources)
    )
    message = f"{subject} has an array whose number of elements is no power of two"
    mark, notes = "no power of two", []
    if (too_large := _too_large(failure.text)) is not None:
        shape, limit = too_large
        has = "has the shape" if ref is not None else "has an array of the shape"
        message = (
            f"{subject} {has} {shape_text(shape)}: {math.prod(shape):,} elements;"
            f" Triton takes {limit:,} at most"
        )
        mark = "too many elements"
        notes = ["a `grid` and `pl.BlockSpec`s divide it into blocks"]
    elif found is not None:
        shape = shape_of(found[1])
        size = math.prod(shape)
        message = (
            f"{subject} has the shape {shape_text(shape)}: {size} elements are no power of two"
        )
        above = 1 << (size - 1).bit_length()
        notes = [f"the next larger power is {above}; a mask leaves out what is past the end"]
    span = ref_span(failure, ref, sources) if ref is not None else None
    told = diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=message,
        primary=None,
        mark=mark,
        effects=[sources.span(one.place) for one in failure.also],
        causes=[Label(span, "says the shape", "cause")] if span is not None else [],
        notes=notes,
    )
    return dataclasses.replace(told, original="") if _NAMED.search(failure.text) else told


def fixes(failure: Failure, sources: Library) -> Iterable[Candidate]:
    return ()


def _too_large(text: str) -> tuple[tuple[int, ...], int] | None:
    """The shape that has too many elements and how many there can be."""
    found = _MOST.search(text)
    if found is None:
        return None
    shapes = [shape_of(one) for one in (*_NAMED.findall(found[2]), *_TYPED.findall(found[2]))]
    return (max(shapes, key=math.prod), int(found[1])) if shapes else None
