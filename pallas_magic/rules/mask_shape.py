"""# PM405: a mask that is given another shape

## What it means
A vector of bools is reshaped or joined along the lanes, and the compiler has no
code for that: `keep[:, None]` of a mask of one axis, `mask.reshape(...)`.

## Why the hardware says no
A mask lies in mask registers, one bit for each lane of the vectors that it was made from.
Nothing moves bits from one lane to another; a vector of numbers can be moved.

## Fix
Compare last: give the numbers the shape that the mask is to have and compare then. Where
only the mask is at hand, cast it to int32, reshape, and compare with 0.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def mask_rows(x_ref, o_ref):
    keep = jnp.arange(32) < 20
    o_ref[...] = jnp.where(keep[:, None], x_ref[...], 0.0)


fn = pl.pallas_call(mask_rows, out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((32, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl


def mask_rows(x_ref, o_ref):
    keep = lax.broadcasted_iota(jnp.int32, (32, 1), 0) < 20
    o_ref[...] = jnp.where(keep, x_ref[...], 0.0)


fn = pl.pallas_call(mask_rows, out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((32, 128), jnp.float32)]
```

## Fix safety
A bool is 0 or 1 as an int32, so that the mask comes back as it was: interpreted, both
kernels must agree exactly.

## References
- Compiled for TPU v4, v5e, v5p, v6e and v7x with libtpu 0.0.42.1, 0.0.50.1 and
  0.0.52: all refuse to make a column of a mask that comes from a row of numbers, and
  0.0.50.1 crashes. That is told without a compiler; a mask of sums can be made a column.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure, Value
from pallas_magic.report import Diagnostic
from pallas_magic.rules._operations.called import Called, called
from pallas_magic.rules._operations.lines import parenthesised
from pallas_magic.rules._operations.wording import key as key
from pallas_magic.rules._specs.wording import diagnostic
from pallas_magic.source.document import Library

code = "PM405"
name = "mask-shape"

_TEXTS = ("i1 reshape", "unsupported shape cast", "Invalid vector register cast")
_LONGEST = 40


def match(failure: Failure) -> bool:
    is_refused = failure.stage == "compile" and any(text in failure.text for text in _TEXTS)
    return is_refused and failure.target.family == "tpu" and _mask(failure) is not None


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    mask, one = _mask(failure), called(failure, sources)
    assert mask is not None
    kind = f"bool[{','.join(map(str, mask.shape))}]"
    text = one.text(one.node) if one is not None else ""
    what = f"`{text}`" if text and len(text) <= _LONGEST and "\n" not in text else "this"
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=f"{what} moves a {kind} mask to other lanes, which TPU compilers do not implement",
        primary=None,
        mark=f"a {kind} mask",
        notes=("numbers can be given another shape, and then compared",),
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    one = called(failure, sources)
    int32 = one.numpy("int32") if one is not None else None
    text = _as_numbers(one, int32) if one is not None and int32 is not None else ""
    if one is None or not text:
        return
    parent = one.syntax.parent(one.node)
    is_alone = isinstance(parent, (ast.Assign, ast.keyword, ast.AnnAssign, ast.Return))
    is_argument = isinstance(parent, ast.Call) and one.node in parent.args
    whole = f"{text} != 0" if is_alone or is_argument else f"({text} != 0)"
    if (edit := one.syntax.replace(one.node, whole)) is not None:
        yield Candidate("move numbers, then compare", (edit,))


def _mask(failure: Failure) -> Value | None:
    inputs = failure.operation.inputs
    return inputs[0] if inputs and inputs[0].dtype == "bool" else None


def _as_numbers(one: Called, int32: str) -> str:
    """The same expression of int32 numbers, "" where it is not that plain."""
    node = one.node
    if isinstance(node, ast.Subscript):
        value = parenthesised(one, node.value)
        return f"{value}.astype({int32})[{one.text(node.slice)}]"
    if not isinstance(node, ast.Call):
        return ""
    if one.function:
        return _of_argument(one, node, int32)
    if isinstance(node.func, ast.Attribute):
        rest = one.syntax.text_between(_end(node.func.value), _end(node))
        return f"{parenthesised(one, node.func.value)}.astype({int32}){rest}"
    return ""


def _of_argument(one: Called, node: ast.Call, int32: str) -> str:
    if not node.args or isinstance(node.args[0], ast.Starred):
        return ""
    first = node.args[0]
    if isinstance(first, (ast.List, ast.Tuple)):
        inside = ", ".join(f"{parenthesised(one, part)}.astype({int32})" for part in first.elts)
        cast = f"[{inside}]"
    else:
        cast = f"{parenthesised(one, first)}.astype({int32})"
    rest = one.syntax.text_between(_end(first), _end(node))
    return f"{one.text(node.func)}({cast}{rest}"


def _end(node: ast.expr) -> tuple[int, int]:
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
