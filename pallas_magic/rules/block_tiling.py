"""# PM201: a block that a TPU cannot hold

## What it means
The block shape of a spec does not fit the tiles in which a TPU keeps arrays.

## Why the hardware says no
VMEM is made of tiles of 8 sublanes by 128 lanes, and so are the transfers that
fill it. The last two axes of a block must be multiples of 8 and 128, or the
whole of the array's axes. A block of one axis must be the whole array, a
multiple of 1024, or a power of two of at least 128 32-bit words (256 16-bit,
512 8-bit ones).

## Fix
Let one step of the grid do more: along an axis of the grid all blocks grow to
the next size that a TPU can hold, and the grid gets fewer steps. Where a block
is meant to be one row, `None` for another axis in front of the last two keeps
it out of the tile.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def triple(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 3.0


fn = pl.pallas_call(
    triple,
    grid=(10,),
    in_specs=[pl.BlockSpec((100,), lambda i: (i,))],
    out_specs=pl.BlockSpec((100,), lambda i: (i,)),
    out_shape=jax.ShapeDtypeStruct((1000,), jnp.float32),
)
args = [jax.ShapeDtypeStruct((1000,), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def triple(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 3.0


fn = pl.pallas_call(
    triple,
    grid=(pl.cdiv(1000, 128),),
    in_specs=[pl.BlockSpec((128,), lambda i: (i,))],
    out_specs=pl.BlockSpec((128,), lambda i: (i,)),
    out_shape=jax.ShapeDtypeStruct((1000,), jnp.float32),
)
args = [jax.ShapeDtypeStruct((1000,), jnp.float32)]
```

## Fix safety
A kernel that works row by row gives the same with larger blocks; one that
counts its steps or reduces its whole block does not. Interpreted, the kernel
before and after must agree. Blocks that would take more than half of a small
chip's VMEM are not offered.

## References
- Pallas documentation, "Grids and BlockSpecs" and "TPU details".
"""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterator

from pallas_magic.failure import Candidate, Failure, Ref, Window
from pallas_magic.report import Diagnostic, Label, Span, TextEdit
from pallas_magic.rules._specs.grids import resized
from pallas_magic.rules._specs.kernels import asks_for_its_step
from pallas_magic.rules._specs.texts import spec_text
from pallas_magic.rules._specs.tiling import (
    LANES,
    SUBLANES,
    Cut,
    Growth,
    bits_of,
    cuts_of,
    growths,
    least_row,
)
from pallas_magic.rules._specs.wording import diagnostic, operand_name, shape_text
from pallas_magic.source.document import Library

code = "PM201"
name = "block-tiling"

_RAISED_IN = "jax.pallas.mosaic.lowering._check_block_mappings"
_TEXTS = ("requires that the last two dimensions of your block", "requires that rank 1 block")


def match(failure: Failure) -> bool:
    known = failure.raised_in == _RAISED_IN and any(text in failure.text for text in _TEXTS)
    return known and failure.ref is not None and failure.ref.window is not None


def key(failure: Failure) -> Hashable:
    """All blocks of a call are one finding: they grow together."""
    return "blocks"


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    others = [_label(later, sources) for later in failure.also]
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=_message(failure),
        primary=_span(failure, sources),
        mark=_mark(failure),
        causes=others,
        notes=dict.fromkeys(_note(one) for one in (failure, *failure.also)),
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    cuts = cuts_of(failure, sources)
    found = growths(cuts, failure.call.grid) if cuts is not None else None
    if cuts is None or found is None or asks_for_its_step(failure, sources):
        return
    edits = [edit for growth in found for edit in _edits(failure, sources, cuts, growth)]
    known = tuple(dict.fromkeys(edit for edit in edits if edit is not None))
    if None not in edits:
        yield Candidate(_title(cuts, found), known, exact=False)


def _edits(
    failure: Failure, sources: Library, cuts: list[Cut], growth: Growth
) -> Iterator[TextEdit | None]:
    step = None
    for number, at, size in growth.sizes:
        spec, window = cuts[number].spec, cuts[number].window
        block = spec.block.node if spec.block is not None else None
        if not isinstance(block, (ast.Tuple, ast.List)) or len(block.elts) != len(window.array):
            yield None
            return
        yield spec.syntax.replace(block.elts[at], str(size))
        step = step or (window.array[at], cuts[number].sizes[at], size)
    if step is not None:
        yield resized(failure, sources, growth.axis, *step)


def _title(cuts: list[Cut], found: list[Growth]) -> str:
    sizes = [str(size) for growth in found for _, _, size in growth.sizes]
    words = " and ".join(dict.fromkeys(sizes))
    if len(found) == 1 and len(set(sizes)) == 1:
        return f"do {words} at a time"
    names = dict.fromkeys(
        operand_name(cuts[number].spec.ref) for growth in found for number, _, _ in growth.sizes
    )
    return f"make the blocks of {' and '.join(names)} larger, to {words}"


def _message(failure: Failure) -> str:
    window = _window(failure)
    block = shape_text(window.block or window.array)
    return f"the block {block} of {operand_name(failure.ref)} does not fit the tiles of a TPU"


def _note(failure: Failure) -> str:
    if len(_window(failure).array) == 1:
        least = least_row(bits_of(_dtype(failure)))
        return (
            f"a block of one axis is the whole array, a multiple of {SUBLANES * LANES},"
            f" or a power of two from {least} on ({_dtype(failure)})"
        )
    return f"the last two axes of a block are multiples of {SUBLANES} and {LANES}, or whole"


def _mark(failure: Failure) -> str:
    window = _window(failure)
    block = window.block or window.array
    if len(window.array) == 1:
        return f"{block[0]} of {window.array[0]}"
    wrong = [
        f"{_size_words(block, at)} neither a multiple of {tile} nor all {window.array[at]}"
        for at, tile in ((-2, SUBLANES), (-1, LANES))
        if _size(block, at) % tile and _size(block, at) != window.array[at]
    ]
    return ", ".join(wrong)


def _dtype(failure: Failure) -> str:
    return failure.ref.dtype if failure.ref is not None else "float32"


def _size(block: tuple[int | None, ...], at: int) -> int:
    size = block[at]
    return 1 if size is None else size


def _size_words(block: tuple[int | None, ...], at: int) -> str:
    return f"{block[at]} is" if block[at] is not None else "`None` counts as 1:"


def _window(failure: Failure) -> Window:
    assert failure.ref is not None
    assert failure.ref.window is not None
    return failure.ref.window


def _label(failure: Failure, sources: Library) -> Label | None:
    span = _span(failure, sources)
    return Label(span, _mark(failure), "effect") if span is not None else None


def _span(failure: Failure, sources: Library) -> Span | None:
    ref: Ref | None = failure.ref
    spec = spec_text(failure, ref, sources) if ref is not None else None
    if spec is None:
        return None
    return spec.syntax.span(spec.block.node if spec.block is not None else spec.node)
