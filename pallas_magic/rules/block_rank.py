"""# PM202: a block with more or fewer axes than its operand

## What it means
The block shape of a spec has another number of axes than the array it cuts.

## Why the hardware says no
It does not: JAX cannot tell which axes of the array the block is cut from.

## Fix
Give the block one entry for each axis of the array, and let the index map
return one block index for each. `None` stands for an axis that is cut into
single slices and that the kernel does not see; `1` does the same and keeps it.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def double(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0


fn = pl.pallas_call(
    double,
    grid=(4,),
    in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
    out_specs=pl.BlockSpec((None, 8, 128), lambda i: (i, 0, 0)),
    out_shape=jax.ShapeDtypeStruct((4, 8, 128), jnp.float32),
)
args = [jax.ShapeDtypeStruct((4, 8, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def double(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0


fn = pl.pallas_call(
    double,
    grid=(4,),
    in_specs=[pl.BlockSpec((None, 8, 128), lambda i: (i, 0, 0))],
    out_specs=pl.BlockSpec((None, 8, 128), lambda i: (i, 0, 0)),
    out_shape=jax.ShapeDtypeStruct((4, 8, 128), jnp.float32),
)
args = [jax.ShapeDtypeStruct((4, 8, 128), jnp.float32)]
```

## Fix safety
Axes are put in only where one place for them makes the blocks go through the
whole array and nothing beyond it. With `None` the kernel sees the block as it
is written, which is safe. With `1` it sees one axis more; that is called safe
only where another operand of the same shape is cut so.

## References
- Pallas documentation, "Grids and BlockSpecs".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pallas_magic.failure import Candidate, Failure, Ref
from pallas_magic.report import Diagnostic, Span, TextEdit
from pallas_magic.rules._specs.axes import Layout, block_edit, layouts, results_edit
from pallas_magic.rules._specs.texts import SpecText, spec_texts
from pallas_magic.rules._specs.wording import counted, diagnostic, operand_name, shape_text
from pallas_magic.source.document import Library

code = "PM202"
name = "block-rank"

_RAISED_IN = "jax.pallas.core.to_block_mapping"
_TEXT = "must have the same number of dimensions as the array shape"
_MORE = "the kernel sees an axis more than its block was written with"
_FEWER = "the kernel sees fewer axes than its block was written with"


def match(failure: Failure) -> bool:
    known = failure.raised_in == _RAISED_IN and _TEXT in failure.text
    return known and failure.ref is not None and failure.ref.window is not None


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    ref = failure.ref
    assert ref is not None
    assert ref.window is not None
    block, rank = ref.window.block, len(ref.window.array)
    axes = counted(len(block), "axis", "axes") if block is not None else "other axes"
    shown = f"the block {shape_text(block)}" if block is not None else "the block"
    wrong = _wrong(failure, sources)
    same = [one for one in wrong if _ranks(one.ref) == _ranks(ref)]
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=f"{shown} of {operand_name(ref)} has {axes};"
        f" the array {shape_text(ref.window.array)} has {rank}",
        primary=next((_span(one) for one in wrong if one.ref.position == ref.position), None),
        mark=f"{axes}, expected {rank}",
        effects=[_span(one) for one in same],
        notes=("`None` in a block shape cuts an axis into slices that the kernel sees without it",),
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    wrong = _wrong(failure, sources)
    found = [_only_layout(one, failure) for one in wrong]
    known = [layout for layout in found if layout is not None]
    if not known or len(known) < len(found) or not _are_alone(wrong):
        return
    pairs = list(zip(wrong, known, strict=True))
    if all(_is_wider(one) for one in wrong):
        yield from _wider(failure, pairs)
    elif not any(_is_wider(one) for one in wrong) and (edits := _edits(pairs, "None")):
        squeezed = all(_drops_squeezed(one, layout) for one, layout in pairs)
        yield Candidate(
            "leave out the axes that the array lacks",
            edits,
            mechanical=squeezed,
            why="" if squeezed else _FEWER,
        )


def _wrong(failure: Failure, sources: Library) -> list[SpecText]:
    """Every spec of the call whose block has not the axes of its operand."""
    return [
        one
        for one in spec_texts(failure, sources)
        if (ranks := _ranks(one.ref)) is not None and ranks[0] != ranks[1]
    ]


def _ranks(ref: Ref) -> tuple[int, int] | None:
    if ref.window is None or ref.window.block is None:
        return None
    return len(ref.window.block), len(ref.window.array)


def _is_wider(one: SpecText) -> bool:
    ranks = _ranks(one.ref)
    return ranks is not None and ranks[0] < ranks[1]


def _span(one: SpecText) -> Span | None:
    return one.syntax.span(one.block.node if one.block is not None else one.node)


def _only_layout(one: SpecText, failure: Failure) -> Layout | None:
    window = one.ref.window
    found = layouts(one, window, failure.call.grid) if window is not None else []
    return found[0] if len(found) == 1 else None


def _are_alone(wrong: Sequence[SpecText]) -> bool:
    """Whether no other operand takes its spec from a text that is changed."""
    nodes = [id(one.node) for one in wrong]
    return all(one.where.alone or nodes.count(id(one.node)) > 1 for one in wrong)


def _wider(failure: Failure, pairs: Sequence[tuple[SpecText, Layout]]) -> Iterator[Candidate]:
    kept = all(_peer_keeps(failure, one.ref, layout) for one, layout in pairs)
    for new in ("1", "None") if kept else ("None", "1"):
        if edits := _edits(pairs, new):
            sure = new == "None" or kept
            title = f"give the block an entry `{new}` for each axis that it lacks"
            yield Candidate(title, edits, mechanical=sure, why="" if sure else _MORE)


def _edits(pairs: Sequence[tuple[SpecText, Layout]], new: str) -> tuple[TextEdit, ...]:
    edits: list[TextEdit | None] = []
    for one, layout in pairs:
        edits.append(block_edit(one, layout, new))
        if one.index_map is not None and layout.results != tuple(range(len(layout.results))):
            edits.append(results_edit(one.index_map, layout.results))
    known = [edit for edit in edits if edit is not None]
    return tuple(dict.fromkeys(known)) if len(known) == len(edits) else ()


def _drops_squeezed(one: SpecText, layout: Layout) -> bool:
    block = one.ref.window.block if one.ref.window is not None else None
    dropped = [size for at, size in enumerate(block or ()) if at not in layout.block]
    return all(size is None for size in dropped)


def _peer_keeps(failure: Failure, ref: Ref, layout: Layout) -> bool:
    """Whether another operand of this shape has 1 where this block has no entry."""
    new = [axis for axis, at in enumerate(layout.block) if at is None]
    array = ref.window.array if ref.window is not None else ()
    peers = [
        other.window.block
        for other in failure.refs
        if other.window is not None
        and other.window.array == array
        and other.window.block is not None
        and len(other.window.block) == len(array)
    ]
    return bool(peers) and all(block[axis] == 1 for block in peers for axis in new)
