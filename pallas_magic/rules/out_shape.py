"""# PM218: an output described by its shape alone

## What it means
`out_shape=` of `pl.pallas_call` is given a tuple of numbers, `out_shape=(32, 128)` or
`out_shape=x.shape`.

## Why the hardware says no
It does not: an output has a type as well as a shape. JAX reads the tuple as a
tuple of outputs, of which each number would be one.

## Fix
Say both: `jax.ShapeDtypeStruct((32, 128), jnp.float32)`. An output that is like an
input is described by that input: `jax.ShapeDtypeStruct(x.shape, x.dtype)`.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def double(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0


fn = pl.pallas_call(double, out_shape=[(8, 128)])
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def double(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0


fn = pl.pallas_call(double, out_shape=[jax.ShapeDtypeStruct((8, 128), jnp.float32)])
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Fix safety
The type of the output is a guess, that of the first input: no fix is called safe.

## References
- Pallas documentation, "Pallas quickstart": `out_shape`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic
from pallas_magic.rules._specs.wording import diagnostic
from pallas_magic.source.calls import argument
from pallas_magic.source.document import Library
from pallas_magic.source.names import spelled
from pallas_magic.source.resolve import Expression
from pallas_magic.source.specs import spec_call

code = "PM218"
name = "out-shape"

_TEXT = "Invalid out_shape type: <class 'int'>"
_GUESS = "that the output has the type of {} is a guess"


def match(failure: Failure) -> bool:
    return failure.stage == "trace" and failure.text.startswith(_TEXT)


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    given = _given(failure, sources)
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message="`out_shape` is given numbers; an output has a shape and a type",
        primary=given.syntax.span(given.node) if given is not None else None,
        mark="a shape only",
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    given = _given(failure, sources)
    if given is None:
        return
    struct = spelled(sources, given.syntax.document, "jax", "ShapeDtypeStruct")
    found = list(_shapes(given.node))
    if struct is None or len(found) != 1:
        return
    shape = found[0]
    dtype, whose = _dtype(failure, sources, given, shape)
    if dtype is None:
        return
    edit = given.syntax.replace(shape, f"{struct}({given.syntax.text(shape)}, {dtype})")
    if edit is not None:
        why = _GUESS.format(whose)
        yield Candidate("describe its type too", (edit,), applicability="unsafe", why=why)


def _given(failure: Failure, sources: Library) -> Expression | None:
    call = spec_call(sources, failure.call)
    node = argument(call.build, "out_shape", 1) if call is not None else None
    return Expression(call.build_syntax, node) if call is not None and node is not None else None


def _shapes(node: ast.expr) -> Iterator[ast.expr]:
    """The shapes that stand where descriptions of outputs belong."""
    if isinstance(node, ast.Attribute) and node.attr == "shape":
        yield node
    if isinstance(node, ast.Tuple | ast.List):
        if node.elts and all(_is_size(one) for one in node.elts):
            yield node
        else:
            for one in node.elts:
                yield from _shapes(one)


def _is_size(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant | ast.Name | ast.BinOp | ast.Subscript)


def _dtype(
    failure: Failure, sources: Library, given: Expression, shape: ast.expr
) -> tuple[str | None, str]:
    """The text of a type, and whose it is."""
    if isinstance(shape, ast.Attribute):
        owner = given.syntax.text(shape.value)
        return f"{owner}.dtype", f"`{owner}`"
    first = next((ref for ref in failure.refs if ref.role == "input"), None)
    if first is None:
        return None, ""
    document = given.syntax.document
    return spelled(sources, document, "jax.numpy", first.dtype), f"`{first.name}`"
