"""# PM206: index map and block shape in each other's place

## What it means
`pl.BlockSpec` was given the index map first and the block shape second. It
takes `BlockSpec(block_shape, index_map)`; the other order is that of old
releases of JAX.

## Why the hardware says no
It does not: JAX stops before it knows the kernel, as a function is no shape.

## Fix
Exchange the two, or name them.

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
    grid=(2,),
    in_specs=[pl.BlockSpec(lambda i: (i, 0), (8, 128))],
    out_specs=pl.BlockSpec(lambda i: (i, 0), (8, 128)),
    out_shape=jax.ShapeDtypeStruct((16, 128), jnp.float32),
)
args = [jax.ShapeDtypeStruct((16, 128), jnp.float32)]
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
    grid=(2,),
    in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
    out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
    out_shape=jax.ShapeDtypeStruct((16, 128), jnp.float32),
)
args = [jax.ShapeDtypeStruct((16, 128), jnp.float32)]
```

## Fix safety
The texts change places and nothing else. It is offered for all specs of the
call at once, and only if the kernel then lowers.

## References
- JAX change log, 0.4.31: the order of `BlockSpec`'s arguments.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic, TextEdit
from pallas_magic.rules._specs.texts import SpecText, spec_texts
from pallas_magic.rules._specs.wording import diagnostic, operand_name
from pallas_magic.source.document import Library

code = "PM206"
name = "blockspec-order"


def match(failure: Failure) -> bool:
    ref = failure.ref
    cut = ref.window if ref is not None else None
    return failure.stage == "trace" and cut is not None and cut.given == "function"


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    mistaken = list(_mistaken(failure, sources))
    spans = [one.syntax.span(one.node.args[0]) for one in mistaken]
    own = [
        span
        for one, span in zip(mistaken, spans, strict=True)
        if failure.ref is not None and one.ref.position == failure.ref.position
    ]
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=f"the spec of {operand_name(failure.ref)} has its index map where the"
        " block shape belongs",
        primary=own[0] if own else None,
        mark="index map, expected the block shape",
        effects=spans,
        notes=("`pl.BlockSpec` takes the block shape first, the index map second",),
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    edits = [edit for one in _mistaken(failure, sources) for edit in _exchanged(one)]
    wrong = [ref for ref in failure.refs if ref.window and ref.window.given == "function"]
    if len(edits) == 2 * len(wrong) and None not in edits:
        made = tuple(dict.fromkeys(edit for edit in edits if edit is not None))
        yield Candidate("put the block shape first", made, mechanical=True)


def _mistaken(failure: Failure, sources: Library) -> Iterator[SpecText]:
    for one in spec_texts(failure, sources):
        cut = one.ref.window
        if cut is not None and cut.given == "function" and one.node.args:
            yield one


def _exchanged(one: SpecText) -> Iterator[TextEdit | None]:
    """The edits that exchange the first two arguments; one of them may be named."""
    first, second = one.block, one.given_map
    both_by_position = second is not None and second.node in one.node.args
    if first is None or second is None or not both_by_position:
        return
    if isinstance(first.node, ast.Starred):
        return
    yield one.syntax.replace(first.node, second.text)
    yield one.syntax.replace(second.node, first.text)
