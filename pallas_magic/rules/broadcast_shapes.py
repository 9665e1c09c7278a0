"""# PM621: arrays whose shapes do not fit together

## What it means
An operation between two arrays, `x - jnp.mean(x, axis=1)`, whose shapes differ in
more than axes of size 1.

## Why the hardware says no
It does not: JAX follows NumPy's rule of broadcasting, which lines shapes up at
their last axis. A reduction drops the axis that it reduces, so that what is left
lines up with another one.

## Fix
- a reduction: keep the axis, `jnp.mean(x, axis=1, keepdims=True)`;
- anything else: put in the axis that is missing, `row[:, None]`.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def center(x_ref, o_ref):
    x = x_ref[...]
    o_ref[...] = x - jnp.mean(x, axis=1)


fn = pl.pallas_call(center, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def center(x_ref, o_ref):
    x = x_ref[...]
    o_ref[...] = x - jnp.mean(x, axis=1, keepdims=True)


fn = pl.pallas_call(center, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Fix safety
An axis is put in where there is one place only that makes the shapes fit, and
then it is safe: nothing else could have been meant by the operation.

## References
- NumPy documentation, "Broadcasting".
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic, Label
from pallas_magic.rules._refs.expressions import Failing, complete, failing, followed_by, shape_of
from pallas_magic.rules._refs.reshaping import (
    broadcasts,
    index_with_axes,
    keep_axis,
    keepable_reduction,
)
from pallas_magic.rules._specs.wording import diagnostic, shape_text
from pallas_magic.source.document import Library
from pallas_magic.source.resolve import Expression, resolve

code = "PM621"
name = "broadcast-shapes"

_TEXT = re.compile(
    r"(?:\w+ got )?[Ii]ncompatible shapes for broadcasting: (?:shapes=\[)?"
    r"(\([\d, ]*\)), (\([\d, ]*\))\]?\.?$"
)
_Shape = tuple[int, ...]


def match(failure: Failure) -> bool:
    return failure.stage == "trace" and _TEXT.match(failure.text) is not None


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    found, (left, right) = failing(failure, sources), _shapes(failure)
    message = f"the shapes {shape_text(left)} and {shape_text(right)} do not fit together"
    labels: list[Label] = []
    pair = _pair(found)
    if found is not None and pair is not None:
        for node, shape in zip(pair, (left, right), strict=True):
            span = found.syntax.span(node)
            if span is not None and span.start_line == span.end_line:
                labels.append(Label(span, shape_text(shape), "cause"))
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=message,
        primary=found.span() if found is not None else None,
        mark="shapes differ",
        causes=labels,
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    found, (left, right) = failing(failure, sources), _shapes(failure)
    pair = _pair(found)
    if found is None or pair is None or len(left) == len(right):
        return
    short, node = (left, pair[0]) if len(left) < len(right) else (right, pair[1])
    wanted = right if short is left else left
    axes = _missing_axes(short, wanted)
    if axes is None:
        return
    reduction = _reduction(sources, found, node)
    kept = keep_axis(found.syntax, reduction) if reduction is not None and len(axes) == 1 else None
    if kept is not None:
        yield Candidate("keep the reduced axis", (kept,), mechanical=True)
        return
    index = index_with_axes(len(wanted), axes)
    if edits := complete(followed_by(found.syntax, node, index)):
        yield Candidate(f"put in the axis with `{index}`", edits, mechanical=True)


def _shapes(failure: Failure) -> tuple[_Shape, _Shape]:
    text = _TEXT.match(failure.text)
    assert text is not None
    return shape_of(text[1]), shape_of(text[2])


def _pair(found: Failing | None) -> tuple[ast.expr, ast.expr] | None:
    """The two operands, where the expression is an operator between them."""
    node = found.node if found is not None else None
    if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.MatMult):
        return node.left, node.right
    if isinstance(node, ast.Compare) and len(node.comparators) == 1:
        return node.left, node.comparators[0]
    if isinstance(node, ast.Call) and len(node.args) == 2 and not node.keywords:
        return node.args[0], node.args[1]
    return None


def _missing_axes(short: _Shape, wanted: _Shape) -> list[int] | None:
    """Where axes of size 1 make ``short`` fit, if that is one place only and changes no size."""
    missing = len(wanted) - len(short)
    if missing != 1:
        return None
    fitting = [
        axis for axis in range(len(wanted)) if broadcasts((*short[:axis], 1, *short[axis:]), wanted)
    ]
    return fitting if len(fitting) == 1 else None


def _reduction(sources: Library, found: Failing, node: ast.expr) -> ast.Call | None:
    """The reduction in the operand that lost the axis, where it is written in it."""
    at = resolve(sources, Expression(found.syntax, node))
    if at.node is not node:
        return None
    return keepable_reduction(found.syntax, node)
