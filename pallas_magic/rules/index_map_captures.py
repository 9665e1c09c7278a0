"""# PM205: an index map that uses an array from outside

## What it means
The function that tells which block of an operand is used reads an array that it
was not given: a variable of the function or module around it.

## Why the hardware says no
The TPU's scalar core runs the index map ahead of the kernel, to fetch the next
blocks in time. It reads scalar memory only, and only what was put there before
the kernel began: prefetched operands.

## Fix
Prefetch the array: `pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, ...)`
hands it to every index map, behind the indices of the grid, and to the kernel as
its first ref. A single number becomes a Python integer with `int(...)`.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

order = jnp.array([3, 1, 0, 2])


def copy(x_ref, o_ref):
    o_ref[...] = x_ref[...]


fn = pl.pallas_call(
    copy,
    grid=(4,),
    in_specs=[pl.BlockSpec((8, 128), lambda i: (order[i], 0))],
    out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
    out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32),
)
args = [jax.ShapeDtypeStruct((32, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

order = jnp.array([3, 1, 0, 2])


def copy(order_ref, x_ref, o_ref):
    o_ref[...] = x_ref[...]


def fn(x):
    return pl.pallas_call(
        copy,
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1,
            grid=(4,),
            in_specs=[pl.BlockSpec((8, 128), lambda i, order: (order[i], 0))],
            out_specs=pl.BlockSpec((8, 128), lambda i, order: (i, 0)),
        ),
        out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32),
    )(order, x)


args = [jax.ShapeDtypeStruct((32, 128), jnp.float32)]
```

## Fix safety
`int(...)` of a number that is known before the call is the same number. For an
array there is no ready fix: prefetching changes the call, the kernel and every
index map.

## References
- Pallas documentation, "Scalar prefetch and block-sparse computation".
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic
from pallas_magic.rules._specs.texts import IndexMap, spec_text, spec_texts
from pallas_magic.rules._specs.wording import diagnostic, operand_name
from pallas_magic.source.document import Library

code = "PM205"
name = "index-map-captures"

_RAISED_IN = "jax.pallas.core.to_block_mapping"
_TEXT = "must not capture constants"


def match(failure: Failure) -> bool:
    return failure.raised_in == _RAISED_IN and _TEXT in failure.text and failure.ref is not None


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    assert failure.ref is not None
    spec = spec_text(failure, failure.ref, sources)
    index_map = spec.index_map if spec is not None else None
    reads = _reads(failure, index_map) if index_map is not None else []
    spans = [index_map.syntax.span(read) for read in reads] if index_map is not None else []
    whole = index_map.span() if index_map is not None else None
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=f"the index map of {operand_name(failure.ref)} uses {_what(failure)} from outside;"
        " it sees only its arguments",
        primary=spans[0] if spans else whole,
        mark="from outside",
        effects=[
            other.index_map.syntax.span(read)
            for other in spec_texts(failure, sources)
            if other.index_map is not None
            for read in _reads(failure, other.index_map)
        ],
        notes=(
            "operands that are prefetched (`num_scalar_prefetch`) are arguments of every index map",
        ),
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    captured = failure.captured
    are_numbers = all(one.name and not one.shape and one.fill for one in captured)
    if not captured or not are_numbers or any("float" in one.dtype for one in captured):
        return
    edits = [
        spec.index_map.syntax.replace(read, f"int({read.id})")
        for spec in spec_texts(failure, sources)
        if spec.index_map is not None
        for read in _reads(failure, spec.index_map)
    ]
    known = tuple(dict.fromkeys(edit for edit in edits if edit is not None))
    if known and None not in edits:
        names = " and ".join(f"`int({one.name})`" for one in captured)
        yield Candidate(f"use {names}", known, mechanical=True)


def _reads(failure: Failure, index_map: IndexMap) -> list[ast.Name]:
    names = {one.name for one in failure.captured if one.name}
    body = index_map.node.body
    parts = body if isinstance(body, list) else [body]
    return [
        node
        for part in parts
        for node in ast.walk(part)
        if isinstance(node, ast.Name) and node.id in names
    ]


def _what(failure: Failure) -> str:
    named = [f"`{one.name}`" for one in failure.captured if one.name]
    return " and ".join(named) if named else "an array"
