"""# PM305: an array for Triton whose size is no power of two

## What it means
Every array that a Triton kernel loads, makes or stores has to have 1, 2, 4, 8, ...
elements, in all of its axes together. This one has another number of them.

## Why the hardware says no
Triton hands an array to warps of 32 threads, each of which gets as many elements
as the others, in registers whose number is a power of two. What does not fill them
is for the program to leave out, with a mask.

## Fix
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
There is no ready fix: whether to divide the array otherwise or to mask its end is
a choice.

## References
- Pallas documentation, "Pallas quickstart" and the Triton back end's requirements.
"""

from __future__ import annotations

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


def match(failure: Failure) -> bool:
    return _SIZE.match(failure.text) is not None or _VERIFIED in failure.text


def key(failure: Failure) -> object:
    return failure.place or failure.text


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    found, ref = _SIZE.match(failure.text), failure.ref
    subject = (
        f"`{ref.name}`" if ref is not None and ref.name else what_was_written(failure, sources)
    )
    message = f"{subject} has an array whose number of elements is no power of two"
    notes = []
    if found is not None:
        shape = shape_of(found[1])
        size = math.prod(shape)
        message = (
            f"{subject} has the shape {shape_text(shape)}: {size} elements are no power of two"
        )
        above = 1 << (size - 1).bit_length()
        notes = [f"the next larger power is {above}; a mask leaves out what is past the end"]
    span = ref_span(failure, ref, sources) if ref is not None else None
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=message,
        primary=None,
        mark="no power of two",
        causes=[Label(span, "says the shape", "cause")] if span is not None else [],
        notes=notes,
    )


def fixes(failure: Failure, sources: Library) -> Iterable[Candidate]:
    return ()
