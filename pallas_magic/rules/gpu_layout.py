"""# PM704: no layout for an array

## What it means
An array in a Mosaic GPU kernel is spread over the registers of a warpgroup's 128
threads: its layout says which thread has which elements. For the marked operation
there is no layout in which its operands, and what is made of them, can be.

## Why the hardware says no
A thread computes on its own registers. What adds the elements of a row, or puts a
column beside a matrix, needs them in threads that can reach each other; a plain
load hands the elements out in the order of memory, without regard to rows.

## Fix
- To reduce rows, load the matrix as the tensor cores have it:
  `plgpu.load(x_gmem, layout=plgpu.Layout.WGMMA)`. It has to be of whole tiles of
  64 rows and 8 columns.
- Leave `keepdims=True` out, and broadcast what comes of it:
  `lax.broadcast_in_dim(mean, x.shape, (0,))`.
- Give an array that is made from nothing its layout at once:
  `plgpu.layout_cast(lax.broadcasted_iota(...), layout)`.
- Load arrays that are combined with the same layout, and in sizes that are
  multiples of 128 elements.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu


def centred(x_gmem, o_gmem):
    x = x_gmem[...]
    mean = jnp.mean(x, axis=-1, keepdims=True)
    o_gmem[...] = x - mean


fn = plgpu.kernel(centred, out_type=jax.ShapeDtypeStruct((128, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((128, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu


def centred(x_gmem, o_gmem):
    x = plgpu.load(x_gmem, layout=plgpu.Layout.WGMMA)
    mean = lax.broadcast_in_dim(jnp.mean(x, axis=-1), x.shape, (0,))
    o_gmem[...] = x - mean


fn = plgpu.kernel(centred, out_type=jax.ShapeDtypeStruct((128, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((128, 128), jnp.float32)]
```

## Fix safety
A layout changes no value. Interpreted, the kernel before and after must agree.
Layouts are chosen for a kernel as a whole, and where that fails JAX names no
operation: the mark is at the one that is known to ask for more than a plain load
gives.

## References
- JAX documentation, "Writing Mosaic GPU kernels with Pallas": array layouts.
- PM705 (a reduction across warps).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic
from pallas_magic.rules._gpu.layouts import (
    THREADS,
    aligned_fixes,
    iota_fixes,
    is_layout_failure,
    reduction_fixes,
    sliced_fixes,
)
from pallas_magic.rules._gpu.wording import quoted, type_words
from pallas_magic.rules._operations.wording import what_was_written
from pallas_magic.rules._specs.wording import diagnostic
from pallas_magic.source.document import Library

code = "PM704"
name = "gpu-layout"

_PARTS = ("slice", "dynamic_slice", "concatenate", "squeeze", "split")
_SPREAD = f"an array is spread over the {THREADS} threads of a warpgroup"
_ROWS = "a plain load spreads the elements in the order of memory, without regard to rows"
_NOTES = {
    "odd": _SPREAD,
    "reduction": _ROWS,
    "iota": "under Lane semantics nothing is inferred from what an array is used for",
}


def match(failure: Failure) -> bool:
    return failure.warp is None and is_layout_failure(failure)


def key(failure: Failure) -> object:
    return failure.place or failure.text


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    kind = _kind(failure)
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=_message(failure, sources, kind),
        primary=None,
        mark="no layout",
        notes=[_NOTES[kind]] if kind in _NOTES else [],
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    match _kind(failure):
        case "reduction":
            yield from reduction_fixes(failure, sources)
        case "iota":
            yield from iota_fixes(failure, sources)
        case "mixed":
            yield from aligned_fixes(failure, sources)
        case "part":
            yield from sliced_fixes(failure, sources)


def _kind(failure: Failure) -> str:
    """What asks for more than there is: "reduction", "odd", "part", "iota", "mixed" or ""."""
    primitive = failure.primitive
    if failure.text.startswith("Failed to infer the output layout of the iota"):
        return "iota"
    if primitive.startswith("reduce_") or "for the broadcast result" in failure.text:
        return "reduction"
    if failure.access is not None and math.prod(failure.access.shape) % THREADS:
        return "odd"
    if primitive in _PARTS:
        return "part"
    return "mixed" if len(failure.operation.inputs) > 1 else ""


def _message(failure: Failure, sources: Library, kind: str) -> str:
    written = what_was_written(failure, sources)
    of = failure.operation.inputs[0] if failure.operation.inputs else None
    words = type_words(of.dtype, of.shape) if of is not None else "an array"
    match kind:
        case "reduction":
            return f"{written} reduces one axis of {words}; its layout does not keep rows together"
        case "odd":
            assert failure.access is not None
            access = failure.access
            verb = "loaded" if access.kind == "load" else "stored"
            moved = f"{quoted(failure.ref, 'a ref')} is {verb} as"
            size = math.prod(access.shape)
            return (
                f"{moved} {type_words(access.dtype, access.shape)}: {size} elements"
                f" are no multiple of {THREADS}"
            )
        case "part":
            return f"{written} takes a value apart, or puts one together, without a tiled layout"
        case "iota":
            return f"{written} makes an array of no layout"
        case "mixed":
            return f"{written} combines arrays of different layouts"
    return f"there is no layout for an array of `{failure.kernel}`"
