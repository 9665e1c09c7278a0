"""# PM606: a ref read backwards

## What it means
A ref is sliced with a negative step, as in `x_ref[::-1, :]`.

## Why the hardware says no
A strided load goes forward through memory, from tile to tile. To reverse rows,
registers have to change places, and JAX leaves it to you to say so.

## Fix
Reverse the operand before the call with `jnp.flip`, or let the index map and the
kernel go through the blocks from the end. A few rows can be read one by one.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def reverse(x_ref, o_ref):
    o_ref[...] = x_ref[::-1, :]


fn = pl.pallas_call(reverse, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def reverse(x_ref, o_ref):
    o_ref[...] = jnp.stack([x_ref[row, :] for row in reversed(range(8))])


fn = pl.pallas_call(reverse, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Fix safety
Reading the rows one by one, the last one first, is the same values in the order
that was asked for. It is offered for up to 32 rows along the first axis.

## References
- Pallas documentation, "TPU details"; `jax.numpy.flip`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic
from pallas_magic.rules._memory.scalar_loop import free_names
from pallas_magic.rules._refs.expressions import Failing, failing, numpy_name
from pallas_magic.rules._specs.wording import diagnostic
from pallas_magic.source.document import Library

code = "PM606"
name = "backwards-slice"

_TEXT = "slice must have a step >= 1 (found: -"
_MOST_ROWS = 32


def match(failure: Failure) -> bool:
    return failure.stage == "trace" and failure.text.startswith(_TEXT)


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    found = failing(failure, sources)
    backwards = _backwards(found)
    name_of_ref = _ref_name(found)
    subject = f"`{name_of_ref}`" if name_of_ref else "a ref"
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=f"{subject} is sliced with a negative step; refs are read forwards only",
        primary=found.syntax.document.span(found.syntax.place(backwards))
        if found is not None and backwards is not None
        else None,
        mark="negative step",
        notes=("`jnp.flip` of the operand before the call reverses it without the kernel",),
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    found = failing(failure, sources)
    backwards = _backwards(found)
    if found is None or backwards is None or not isinstance(found.node, ast.Subscript):
        return
    sizes = [ref.shape for ref in failure.refs if ref.name and ref.name == _ref_name(found)]
    stack = numpy_name(sources, found.syntax, "stack")
    count = sizes[0][0] if len(sizes) == 1 and sizes[0] else 0
    is_load = isinstance(found.node.ctx, ast.Load)
    if stack is None or not is_load or not 0 < count <= _MOST_ROWS or not _is_whole(found):
        return
    row = free_names(found.syntax, found.node, ("row", "i", "index"), 1)[0]
    rest = [found.syntax.text(one) for one in _indices(found.node)[1:]]
    element = f"{found.syntax.text(found.node.value)}[{', '.join([row, *rest])}]"
    text = f"{stack}([{element} for {row} in reversed(range({count}))])"
    if edit := found.syntax.replace(found.node, text):
        yield Candidate(
            f"read the {count} rows one by one, the last one first", (edit,), mechanical=True
        )


def _indices(node: ast.Subscript) -> list[ast.expr]:
    return list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]


def _backwards(found: Failing | None) -> ast.Slice | None:
    """The slice with the negative step."""
    if found is None or not isinstance(found.node, ast.Subscript):
        return None
    slices = [one for one in _indices(found.node) if isinstance(one, ast.Slice)]
    return next((one for one in slices if isinstance(one.step, ast.UnaryOp)), None)


def _is_whole(found: Failing) -> bool:
    """Whether it is the whole first axis, reversed."""
    assert isinstance(found.node, ast.Subscript)
    first = _indices(found.node)[0]
    if not isinstance(first, ast.Slice) or first.lower is not None or first.upper is not None:
        return False
    step = first.step
    return (
        isinstance(step, ast.UnaryOp)
        and isinstance(step.op, ast.USub)
        and isinstance(step.operand, ast.Constant)
        and step.operand.value == 1
    )


def _ref_name(found: Failing | None) -> str:
    node = found.node if found is not None else None
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        return node.value.id
    return ""
