"""# PM502: a copy of a part of a tile

## What it means
A copy between memories begins or ends inside a tile of one of its refs, or each of its
rows is shorter than what the chip copies at once.

## Why the hardware says no
Arrays lie in memory in tiles: 8 rows of 128 lanes of 32 bits, 16 of bfloat16, 32 of int8
(fewer where the array has fewer rows). The copy engine moves whole tiles along their
rows and lanes; rows of 32-bit types it can also move one by one. Rows are copied in
multiples of 512 bytes, on TPU v5p, v6e and v7x with newer compilers in shorter ones too.

## Fix
Copy the whole tiles that hold what you want, and slice the buffer after the copy. Where a
start is known only when the kernel runs and is a multiple of the tile, say so with
`pl.multiple_of`.

## Example
Fails in the compiler:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def fetched(x_ref, o_ref, rows, done):
    copy = pltpu.make_async_copy(x_ref.at[pl.ds(3, 2)], rows, done)
    copy.start()
    copy.wait()
    o_ref[...] = rows[...]


fn = pl.pallas_call(
    fetched,
    in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
    scratch_shapes=[pltpu.VMEM((2, 128), jnp.bfloat16), pltpu.SemaphoreType.DMA],
    out_shape=jax.ShapeDtypeStruct((2, 128), jnp.bfloat16),
)
args = [jax.ShapeDtypeStruct((64, 128), jnp.bfloat16)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def fetched(x_ref, o_ref, rows, done):
    copy = pltpu.make_async_copy(x_ref.at[pl.ds(0, 16)], rows, done)
    copy.start()
    copy.wait()
    o_ref[...] = rows[3:5]


fn = pl.pallas_call(
    fetched,
    in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
    scratch_shapes=[pltpu.VMEM((16, 128), jnp.bfloat16), pltpu.SemaphoreType.DMA],
    out_shape=jax.ShapeDtypeStruct((2, 128), jnp.bfloat16),
)
args = [jax.ShapeDtypeStruct((64, 128), jnp.bfloat16)]
```

## Fix safety
The copy takes the whole tiles, the buffer becomes as large, and what was read of it is
cut from it: the values are the same. That is offered where the part is written in numbers
and the buffer is only read whole; elsewhere more changes together than can be told.

## References
- Pallas documentation, "TPU details": array layouts.
- Compiled for TPU v4, v5e, v5p, v6e and v7x with libtpu 0.0.42.1, 0.0.50.1 and 0.0.52.
  How an array is tiled is the compiler's choice, so that only the compiler tells.
"""

from __future__ import annotations

import re

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic
from pallas_magic.rules._dma.whole_tiles import copy_whole_tiles
from pallas_magic.rules._specs.tiling import bits_of
from pallas_magic.rules._specs.wording import diagnostic
from pallas_magic.source.copies import made_at
from pallas_magic.source.document import Library

code = "PM502"
name = "copy-tiles"

_REMEDY = "copy whole tiles, and slice the buffer after the copy"
_COPIES = ("dma_start", "dma_wait")
_PART = re.compile(
    r"(Offsets|Slice sizes) along tiled dimensions must be aligned to tiles\..* "
    r"dimension (\d+) is divisible by the tile dimension (\d+)",
    re.DOTALL,
)
_SQUEEZED = re.compile(r"Dimension (\d+) is padded but is squeezed")
_SHORT = re.compile(r"inner slice in the DMA transfer must be divisible by (\d+) bytes")
_WORD = re.compile(r"not a multiple of the memory space word size \((\d+) bits\)")


def match(failure: Failure) -> bool:
    is_copy = failure.stage == "compile" and failure.primitive in _COPIES
    return is_copy and any(one.search(failure.text) for one in (_PART, _SQUEEZED, _SHORT, _WORD))


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    message, mark = _words(failure)
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=message,
        primary=sources.span(made_at(sources, failure.place)),
        mark=mark,
        notes=() if fixes(failure, sources) else (_REMEDY,),
    )


def fixes(failure: Failure, sources: Library) -> tuple[Candidate, ...]:
    part, short = _PART.search(failure.text), _SHORT.search(failure.text)
    if part is not None:
        return copy_whole_tiles(failure, sources, int(part[2]), int(part[3]))
    if short is None or failure.ref is None:
        return ()
    axis, bits = len(failure.ref.shape) - 1, bits_of(failure.ref.dtype)
    return copy_whole_tiles(failure, sources, axis, int(short[1]) * 8 // bits) if bits else ()


def _words(failure: Failure) -> tuple[str, str]:
    ref = f" of `{failure.ref.name}`" if failure.ref is not None and failure.ref.name else ""
    if found := _PART.search(failure.text):
        does = "begins" if found[1] == "Offsets" else "ends"
        message = (
            f"this copy{ref} {does} inside a tile: along axis {found[2]} a tile has {found[3]}"
        )
        return message, f"{does} inside a tile"
    if found := _SQUEEZED.search(failure.text):
        message = (
            f"this copy{ref} takes one element of axis {found[1]}, which lies packed in a tile"
        )
        return message, "a part of a tile"
    if found := _SHORT.search(failure.text):
        chip = failure.target.title
        message = f"this copy{ref} has short rows: {chip} copies multiples of {found[1]} bytes"
        return message, "short rows"
    found = _WORD.search(failure.text)
    assert found is not None
    size = int(found[1]) // 8
    return f"this copy{ref} begins inside a word of {size} bytes", "begins inside a word"
