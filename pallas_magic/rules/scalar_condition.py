"""# PM604: a condition that is an array

## What it means
`pl.when`, `lax.cond` or `lax.while_loop` got an array for a condition. It needs a
scalar.

## Why the hardware says no
A condition decides where the scalar core goes on, and it can go one way only.
An array of one element is still an array: it lies in a vector register.

## Fix
Read the deciding element as a scalar, `x_ref[0, 0] > 0`, or reduce the array to
one with `jnp.any` or `jnp.all`. To decide for each element, use `jnp.where`.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def copy_if_positive(x_ref, o_ref):
    first = x_ref[0:1, 0:1] > 0

    @pl.when(first)
    def _():
        o_ref[...] = x_ref[...]


fn = pl.pallas_call(copy_if_positive, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def copy_if_positive(x_ref, o_ref):
    first = x_ref[0, 0] > 0

    @pl.when(first)
    def _():
        o_ref[...] = x_ref[...]


fn = pl.pallas_call(copy_if_positive, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Fix safety
`jnp.any` of one element is that element, which is safe. Of more elements it is a
guess: `jnp.all` may have been meant.

## References
- Pallas documentation, `pl.when`.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic, Label
from pallas_magic.rules._refs.expressions import Failing, complete, failing, numpy_name, shape_of
from pallas_magic.rules._specs.wording import diagnostic
from pallas_magic.source.calls import argument
from pallas_magic.source.document import Library
from pallas_magic.source.resolve import Expression, resolve
from pallas_magic.source.syntax import end_of, identifier, start_of

code = "PM604"
name = "scalar-condition"

_TEXT = re.compile(r"Pred must be a scalar, got .*?\((\w+\[[\d,]*\])\) of shape (\(.*?\))")
_PARAMETERS = {"when": "condition", "cond": "pred"}
_GUESS = "whether one element or all must hold is a guess"


def match(failure: Failure) -> bool:
    return failure.stage == "trace" and _TEXT.match(failure.text) is not None


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    kind = _TEXT.match(failure.text)
    assert kind is not None
    found = failing(failure, sources)
    condition = _condition(found)
    named = identifier(condition) if condition is not None else ""
    subject = f"the condition `{named}`" if named else "this condition"
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=f"{subject} is a {kind[1]} array; it must be a scalar",
        primary=found.syntax.span(condition) if found is not None and condition else None,
        mark=f"{kind[1]}, expected a scalar",
        causes=_made(found, condition, sources),
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    kind = _TEXT.match(failure.text)
    found = failing(failure, sources)
    condition = _condition(found)
    if kind is None or found is None or condition is None:
        return
    function = numpy_name(sources, found.syntax, "any")
    if function is None:
        return
    edits = complete(
        [
            found.syntax.insert(start_of(condition), f"{function}("),
            found.syntax.insert(end_of(condition), ")"),
        ]
    )
    if edits:
        single = math.prod(shape_of(kind[2])) == 1
        why = "" if single else _GUESS
        yield Candidate(f"ask `{function}` of it", edits, mechanical=single, why=why)


def _condition(found: Failing | None) -> ast.expr | None:
    """The condition among the arguments of the call that failed."""
    node = found.node if found is not None else None
    if not isinstance(node, ast.Call) or identifier(node.func) not in _PARAMETERS:
        return None
    return argument(node, _PARAMETERS[identifier(node.func)], 0)


def _made(
    found: Failing | None, condition: ast.expr | None, sources: Library
) -> Iterator[Label | None]:
    if found is None or condition is None:
        return
    made = resolve(sources, Expression(found.syntax, condition))
    span = made.syntax.span(made.node) if made.node is not condition else None
    if span is not None and span.start_line == span.end_line:
        yield Label(span, "made here", "cause")
