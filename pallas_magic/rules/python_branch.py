"""# PM603: Python asked to decide by a traced value

## What it means
An `if`, `while`, `for` or the like needs to know a value that is known only when
the kernel runs.

## Why the hardware says no
It does not: Python runs once, before there is any data, to write down what the
kernel does. A decision by data must be written down as one.

## Fix
Choose between values with `jnp.where`, store under a condition with `pl.when`,
loop with `pl.loop` or `lax.fori_loop`. What depends on shapes only may stay
Python.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def double_if_positive(x_ref, o_ref):
    x = x_ref[...]
    if jnp.max(x) > 0:
        x = x * 2.0
    o_ref[...] = x


fn = pl.pallas_call(double_if_positive, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def double_if_positive(x_ref, o_ref):
    x = x_ref[...]
    x = jnp.where(jnp.max(x) > 0, x * 2.0, x)
    o_ref[...] = x


fn = pl.pallas_call(double_if_positive, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Fix safety
`jnp.where` computes both sides and keeps one; it is offered where both are plain
arithmetic. A block becomes a function under `pl.when` or `pl.loop` where it only
stores through refs and nothing after it depends on its variables.

## References
- JAX documentation, "Control flow and logical operators with JIT".
- Pallas documentation, `pl.when`, `pl.loop`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic
from pallas_magic.rules._refs.branches import branch_of, rewritten
from pallas_magic.rules._refs.expressions import failing
from pallas_magic.rules._specs.wording import diagnostic
from pallas_magic.source.document import Library

code = "PM603"
name = "python-branch"

_ERRORS = (
    "TracerBoolConversionError",
    "TracerIntegerConversionError",
    "ConcretizationTypeError",
)
_VECTOR = "The truth value of an array with more than one element is ambiguous"
_EACH = "each element then decides for itself"
_TYPE = re.compile(r"traced array with shape (\w+\[[\d,]*\])")
_WORDS = {
    ast.If: "`if`",
    ast.IfExp: "`if`",
    ast.While: "`while`",
    ast.Assert: "`assert`",
    ast.For: "`for`",
}


def match(failure: Failure) -> bool:
    if failure.stage != "trace" or not failure.raised_in.startswith("jax."):
        return False
    return failure.error_type in _ERRORS or failure.text.startswith(_VECTOR)


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    found = failing(failure, sources)
    branch = branch_of(found.syntax, found.node) if found is not None else None
    word = _WORDS[type(branch)] if branch is not None else "Python"
    kind = _TYPE.search(failure.text)
    what = f"the {kind[1]} that decides here" if kind is not None else "this value"
    message = f"{word} needs a value before the kernel runs; {what} is known only then"
    if failure.text.startswith(_VECTOR):
        message = f"{word} takes one condition; a whole array decides here"
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=message,
        primary=found.span() if found is not None else None,
        mark="traced",
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    found = failing(failure, sources)
    branch = branch_of(found.syntax, found.node) if found is not None else None
    kind = _TYPE.search(failure.text)
    is_vector = failure.text.startswith(_VECTOR)
    is_scalar = kind is not None and kind[1].endswith("[]")
    if found is None or branch is None or not (is_scalar or is_vector):
        return
    for one in rewritten(found.syntax, branch, sources):
        if is_scalar or one.elementwise:
            why = "" if is_scalar else _EACH
            yield Candidate(one.title, one.edits, mechanical=is_scalar, why=why)
