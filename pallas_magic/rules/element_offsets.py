"""# PM216: an index map that counts elements

## What it means
The index map of an operand returns `i * 8` where its block has 8 elements along
that axis: the second step is past the end of the array. It is a warning: the
call lowers, and runs.

## Why the hardware says no
It does not. An index map returns which block is meant, and Pallas multiplies by
the size of the block. A block past the end is read as anything and written to
nowhere, or the chip halts.

## Fix
Return the number of the block, `i`.

## Example
Warned of:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def double(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0


fn = pl.pallas_call(
    double,
    grid=(4,),
    in_specs=[pl.BlockSpec((8, 128), lambda i: (i * 8, 0))],
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


def double(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0


fn = pl.pallas_call(
    double,
    grid=(4,),
    in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
    out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
    out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32),
)
args = [jax.ShapeDtypeStruct((32, 128), jnp.float32)]
```

## Fix safety
It is told only where the steps of the grid, counted in blocks, cut the array
exactly, and counted in elements leave it at the second step. The fix changes
which blocks are used, which is what is meant, and can be compared with nothing:
it is not called safe.

## References
- Pallas documentation, "Grids and BlockSpecs"; `pl.Element` for axes that do count
  in elements.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic
from pallas_magic.rules._specs.texts import SpecText, spec_text
from pallas_magic.rules._specs.wording import operand_name
from pallas_magic.source.document import Library

code = "PM216"
name = "element-offsets"

_BLOCKS = "other blocks are used then, which is what is meant"


def match(failure: Failure) -> bool:
    return failure.error_type == "ElementOffsets" and not failure.raised_in


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    spec, axis = _spec(failure, sources), int(failure.text)
    entry = _entry(spec, axis)
    cut = failure.ref.window if failure.ref is not None else None
    size = cut.block[axis] if cut is not None and cut.block is not None else None
    length = cut.array[axis] if cut is not None else None
    span = spec.index_map.span() if spec is not None and spec.index_map is not None else None
    if spec is not None and spec.index_map is not None and entry is not None:
        span = spec.index_map.syntax.span(entry)
    return Diagnostic(
        code=code,
        name=name,
        severity="warning",
        stage=failure.stage,
        targets=(failure.target.name,),
        kernel=failure.kernel,
        message=f"the index map of {operand_name(failure.ref)} counts elements along axis {axis};"
        f" its second block of {size} begins at {(size or 0) ** 2} of {length}",
        primary=span or sources.span(failure.call.build),
        primary_text="elements, expected the number of a block",
        notes=("Pallas multiplies what an index map returns by the size of the block",),
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    spec = _spec(failure, sources)
    entry = _entry(spec, int(failure.text))
    if spec is None or spec.index_map is None or not isinstance(entry, ast.BinOp):
        return
    names = {one.arg for one in spec.index_map.parameters}
    sides = [entry.left, entry.right]
    steps = [one for one in sides if isinstance(one, ast.Name) and one.id in names]
    if not isinstance(entry.op, ast.Mult) or len(steps) != 1:
        return
    edit = spec.index_map.syntax.replace(entry, steps[0].id)
    if edit is not None:
        title = f"return the block, `{steps[0].id}`"
        yield Candidate(title, (edit,), "unsafe", why=_BLOCKS, shown_by="nature")


def _spec(failure: Failure, sources: Library) -> SpecText | None:
    return spec_text(failure, failure.ref, sources) if failure.ref is not None else None


def _entry(spec: SpecText | None, axis: int) -> ast.expr | None:
    """What the index map returns for ``axis``, as it is written."""
    results = spec.index_map.results if spec is not None and spec.index_map is not None else None
    return results[axis] if results is not None and axis < len(results) else None
