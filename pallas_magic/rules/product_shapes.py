"""# PM624: matrices that cannot be multiplied

## What it means
A product of two matrices, `jnp.dot(x, y)` or `x @ y`, in which the columns of the
left and the rows of the right are not as many.

## Why the hardware says no
It does not: a product sums over an axis that both operands have.

## Fix
Look at the blocks: a kernel sees one block of an operand, not the whole of it, and
the blocks of both operands have to cut the summed axis alike. A right operand
that is stored by columns is multiplied as `y.T`.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def multiply(x_ref, y_ref, o_ref):
    o_ref[...] = jnp.dot(x_ref[...], y_ref[...])


fn = pl.pallas_call(multiply, out_shape=jax.ShapeDtypeStruct((8, 256), jnp.float32))
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32), jax.ShapeDtypeStruct((256, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def multiply(x_ref, y_ref, o_ref):
    o_ref[...] = jnp.dot(x_ref[...], y_ref[...].T)


fn = pl.pallas_call(multiply, out_shape=jax.ShapeDtypeStruct((8, 256), jnp.float32))
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32), jax.ShapeDtypeStruct((256, 128), jnp.float32)]
```

## Fix safety
Whether an operand was meant transposed, or a block is cut wrongly, is a guess: the
transposition is offered where the whole kernel then fits, and is not called safe.

## References
- Pallas documentation, "Matrix multiplication": blocks of a product.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic
from pallas_magic.rules._refs.expressions import Failing, complete, failing, followed_by
from pallas_magic.rules._specs.wording import diagnostic
from pallas_magic.source.document import Library

code = "PM624"
name = "product-shapes"

_TEXT = re.compile(
    r"dot_general requires contracting dimensions to have the same shape, "
    r"got \((\d+),\) and \((\d+),\)"
)
_GUESS = "whether an operand was meant transposed is a guess"
_OF_MATRICES = ("dot", "matmul")


def match(failure: Failure) -> bool:
    return failure.stage == "trace" and _TEXT.match(failure.text) is not None


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    found, text = failing(failure, sources), _TEXT.match(failure.text)
    assert text is not None
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=f"this sums over {text[1]} numbers on the left and {text[2]} on the right",
        primary=found.span() if found is not None else None,
        mark=f"{text[1]} and {text[2]}",
        notes=("a kernel sees one block of each operand",),
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    found = failing(failure, sources)
    pair = _pair(found)
    if found is None or pair is None:
        return
    for node, side in ((pair[1], "right"), (pair[0], "left")):
        if edits := complete(followed_by(found.syntax, node, ".T")):
            title = f"multiply by the {side} operand transposed"
            yield Candidate(title, edits, applicability="unsafe", why=_GUESS)


def _pair(found: Failing | None) -> tuple[ast.expr, ast.expr] | None:
    node = found.node if found is not None else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return node.left, node.right
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    is_product = node.func.attr in _OF_MATRICES and len(node.args) == 2
    return (node.args[0], node.args[1]) if is_product else None
