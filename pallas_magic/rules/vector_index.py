"""# PM610: a ref indexed with a vector of indices

## What it means
A ref is indexed with an array of indices, as in `x_ref[rows, :]`, to gather rows.

## Why the hardware says no
A load takes registers from one address on. Each row of a gather has an address
of its own, and each is a load of its own.

## Fix
Load a few rows one by one and stack them. For many rows put the indices in SMEM,
where single ones are read fast (scalar prefetch does), or multiply with a
one-hot matrix, which the MXU does in one go.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def gather(x_ref, rows_ref, o_ref):
    rows = rows_ref[...]
    o_ref[...] = x_ref[rows, :]


fn = pl.pallas_call(gather, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((64, 128), jnp.float32), jax.ShapeDtypeStruct((8,), jnp.int32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def gather(x_ref, rows_ref, o_ref):
    rows = rows_ref[...]
    o_ref[...] = jnp.stack([x_ref[rows[row], :] for row in range(8)])


fn = pl.pallas_call(gather, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((64, 128), jnp.float32), jax.ShapeDtypeStruct((8,), jnp.int32)]
```

## Fix safety
The rows are the same, loaded one after the other: interpreted, the kernel before
and after must agree exactly. It is offered for up to 32 rows of a 32-bit type.

## References
- Pallas documentation, "Scalar prefetch and block-sparse computation".
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic
from pallas_magic.rules._memory.scalar_loop import free_names
from pallas_magic.rules._refs.expressions import Failing, failing, needs_parentheses, numpy_name
from pallas_magic.rules._specs.wording import diagnostic
from pallas_magic.source.document import Library

code = "PM610"
name = "vector-index"

_RAISED_IN = "jax.pallas.mosaic.lowering._canonicalize_transforms_to_indexer"
_TEXT = "Cannot do int indexing on TPU"
_MOST_ROWS = 32
_WORDS = ("float32", "int32", "uint32")


def match(failure: Failure) -> bool:
    return failure.raised_in == _RAISED_IN and failure.text.startswith(_TEXT)


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    found = failing(failure, sources)
    index = _index(found)
    ref = failure.ref.name if failure.ref is not None else ""
    subject = f"`{ref}`" if ref else "a ref"
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=f"{subject} is indexed with a vector; a TPU loads from one place at a time",
        primary=found.syntax.span(index) if found is not None and index is not None else None,
        mark="vector of indices",
        notes=("indices in SMEM (scalar prefetch) or a one-hot product gather many rows",),
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    found, access = failing(failure, sources), failure.access
    index = _index(found)
    if found is None or index is None or access is None or failure.also:
        return
    assert isinstance(found.node, ast.Subscript)
    stack = numpy_name(sources, found.syntax, "stack")
    is_first = access.static_index[:1] == (None,) and None not in access.static_index[1:]
    count = access.shape[0] if access.shape else 0
    if stack is None or access.kind != "load" or not is_first or access.dtype not in _WORDS:
        return
    if not 1 < count <= _MOST_ROWS:
        return
    row = free_names(found.syntax, found.node, ("row", "i", "index"), 1)[0]
    indices = found.syntax.text(index)
    chosen = f"({indices})[{row}]" if needs_parentheses(index) else f"{indices}[{row}]"
    rest = [found.syntax.text(one) for one in _written(found.node)[1:]]
    element = f"{found.syntax.text(found.node.value)}[{', '.join([chosen, *rest])}]"
    if edit := found.syntax.replace(
        found.node, f"{stack}([{element} for {row} in range({count})])"
    ):
        yield Candidate(f"load the {count} rows one by one", (edit,))


def _written(node: ast.Subscript) -> list[ast.expr]:
    return list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]


def _index(found: Failing | None) -> ast.expr | None:
    """The vector, if it is the first index and the others are slices or numbers."""
    if found is None or not isinstance(found.node, ast.Subscript):
        return None
    first, *rest = _written(found.node)
    plain = all(isinstance(one, (ast.Slice, ast.Constant)) for one in rest)
    return first if plain and not isinstance(first, (ast.Slice, ast.Constant)) else None
