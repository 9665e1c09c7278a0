"""# PM609: a ref indexed with a float

## What it means
A load or store has a float where an index belongs.

## Why the hardware says no
An index is an address, and the scalar core computes addresses with integers.
JAX lets the float pass until MLIR's verifier refuses it, and then asks to file a
bug; it is none.

## Fix
Index with an integer, and cast only what is computed with.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def fill(x_ref, o_ref):
    row = pl.program_id(0).astype(jnp.float32)
    o_ref[row, :] = x_ref[0, :]


fn = pl.pallas_call(
    fill,
    grid=(8,),
    in_specs=[pl.BlockSpec((8, 128), lambda i: (0, 0))],
    out_specs=pl.BlockSpec((8, 128), lambda i: (0, 0)),
    out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
)
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def fill(x_ref, o_ref):
    row = pl.program_id(0)
    o_ref[row, :] = x_ref[0, :]


fn = pl.pallas_call(
    fill,
    grid=(8,),
    in_specs=[pl.BlockSpec((8, 128), lambda i: (0, 0))],
    out_specs=pl.BlockSpec((8, 128), lambda i: (0, 0)),
    out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
)
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Fix safety
The index is cast to an integer where it is used; interpreted, the kernel before
and after must agree.

## References
- Pallas documentation, "Pallas quickstart": indexing refs.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic, Label, Span, TextEdit
from pallas_magic.rules._refs.expressions import Failing, complete, failing, followed_by, numpy_name
from pallas_magic.rules._specs.wording import diagnostic
from pallas_magic.source.calls import argument
from pallas_magic.source.document import Library
from pallas_magic.source.resolve import Expression, resolve
from pallas_magic.source.syntax import end_of, identifier, start_of

code = "PM609"
name = "float-index"

_TEXT = "'arith.index_cast' op operand #0 must be signless"


def match(failure: Failure) -> bool:
    return _TEXT in failure.text and failure.access is not None


def key(failure: Failure) -> Hashable:
    """All float indices of a kernel are one finding: the verifier tells only the first."""
    return "float index"


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    found = [failing(one, sources) for one in (failure, *failure.also)]
    spans = [_span(one, failure) for one in found if one is not None]
    ref = failure.ref.name if failure.ref is not None else ""
    subject = f"`{ref}`" if ref else "a ref"
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=f"{subject} is indexed with a float; an index is an integer",
        primary=spans[0] if spans else None,
        mark="a float",
        effects=spans,
        causes=list(_made(found[0], failure, sources)),
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    yield from _divided(failure, sources)
    edits: list[TextEdit | None] = []
    for one in (failure, *failure.also):
        found = failing(one, sources)
        index = _index(found, one)
        int32 = numpy_name(sources, found.syntax, "int32") if found is not None else None
        if found is None or index is None or int32 is None:
            return
        edits += followed_by(found.syntax, _start(index), f".astype({int32})")
    if known := complete(edits):
        yield Candidate("cast the index to an integer", known)


def _start(index: ast.expr) -> ast.expr:
    """Where a slice begins, `start` of `pl.ds(start, 8)`; any other index itself."""
    if isinstance(index, ast.Call) and identifier(index.func) in ("ds", "dslice"):
        return argument(index, "start", 0) or index
    return index


def _divided(failure: Failure, sources: Library) -> Iterator[Candidate]:
    """The one division that the index comes from, made one without a remainder."""
    found = failing(failure, sources)
    if found is None or failure.also:
        return
    divisions = list({id(one.node): one for one in _divisions(sources, found)}.values())
    if len(divisions) != 1:
        return
    syntax, node = divisions[0].syntax, divisions[0].node
    assert isinstance(node, ast.BinOp)
    between = syntax.text_between(end_of(node.left), start_of(node.right))
    if between.strip() != "/":
        return
    edit = syntax.replace_between(
        end_of(node.left), start_of(node.right), between.replace("/", "//")
    )
    if edit is not None:
        yield Candidate("divide without a remainder", (edit,))


def _divisions(sources: Library, found: Failing) -> Iterator[Expression]:
    """The divisions in an index, and in what its names stand for."""
    if not isinstance(found.node, ast.Subscript):
        return
    for node in ast.walk(found.node.slice):
        if not isinstance(node, ast.expr):
            continue
        made = resolve(sources, Expression(found.syntax, node))
        for part in ast.walk(made.node):
            if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Div):
                yield Expression(made.syntax, part)


def _index(found: Failing | None, failure: Failure) -> ast.expr | None:
    """The index that is known only when the kernel runs, if there is just one."""
    node = found.node if found is not None else None
    if not isinstance(node, ast.Subscript) or failure.access is None:
        return None
    written = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
    if len(written) != len(failure.access.static_index):
        return None
    traced = [
        index
        for index, known in zip(written, failure.access.static_index, strict=True)
        if known is None
    ]
    return traced[0] if len(traced) == 1 else None


def _span(found: Failing, failure: Failure) -> Span | None:
    index = _index(found, failure)
    return found.syntax.span(index) if index is not None else found.span()


def _made(found: Failing | None, failure: Failure, sources: Library) -> Iterator[Label]:
    index = _index(found, failure)
    if found is None or index is None:
        return
    made = resolve(sources, Expression(found.syntax, index))
    span = made.syntax.span(made.node) if made.node is not index else None
    if span is not None and span.start_line == span.end_line:
        yield Label(span, "made here", "cause")
