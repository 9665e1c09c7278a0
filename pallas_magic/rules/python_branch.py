"""# PM603: Python asked to decide by a traced value

## What it means
An `if`, `while`, `for`, an `and` between arrays, an `int(...)` or the like needs to
know a value that is known only when the kernel runs.

## Why the hardware says no
It does not: Python runs once, before there is any data, to write down what the
kernel does. A decision by data must be written down as one.

## Fix
Choose between values with `jnp.where`, store under a condition with `pl.when`,
loop with `pl.loop` or `lax.fori_loop`, join conditions with `&` and `|`. A program
id is an integer already, and needs no `int`. What depends on shapes only may stay
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
from pallas_magic.rules._refs.branches import Branch, branch_of, rewritten
from pallas_magic.rules._refs.connectives import connected, elementwise, word_of
from pallas_magic.rules._refs.conversions import conversion, is_printed, without
from pallas_magic.rules._refs.expressions import Failing, failing
from pallas_magic.rules._refs.functions import called_in_jax, function_of_module
from pallas_magic.rules._specs.wording import diagnostic
from pallas_magic.source.document import Library

code = "PM603"
name = "python-branch"

_ERRORS = (
    "TracerBoolConversionError",
    "TracerIntegerConversionError",
    "ConcretizationTypeError",
)
_OF_A_SLICE = "jax.indexing.from_slice"
_VECTOR = "The truth value of an array with more than one element is ambiguous"
_PRINTS = "`pl.debug_print` prints when the kernel runs"
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
    if _OF_A_SLICE in failure.passed:
        return False
    return failure.error_type in _ERRORS or failure.text.startswith(_VECTOR)


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    found = failing(failure, sources)
    word, what = _word(found, sources), _what(failure, found)
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
        notes=(_PRINTS,) if found is not None and is_printed(found) else (),
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    found = failing(failure, sources)
    if found is None:
        return
    branch = _branch(found)
    if branch is None:
        yield from _of_expression(failure, found, sources)
        return
    kind = _TYPE.search(failure.text)
    is_vector = failure.text.startswith(_VECTOR)
    is_scalar = kind is not None and kind[1].endswith("[]")
    if not (is_scalar or is_vector):
        return
    for one in rewritten(found.syntax, branch, sources):
        if is_scalar or one.elementwise:
            why = "" if is_scalar else _EACH
            yield Candidate(one.title, one.edits, mechanical=is_scalar, why=why)


def _of_expression(failure: Failure, found: Failing, sources: Library) -> Iterator[Candidate]:
    """`x > 0 and x < 1`, `int(i)`, `math.exp(i)`: what no statement decides by."""
    function = function_of_module(found, sources)
    called = called_in_jax(found, function, sources) if function is not None else None
    if called is not None:
        yield Candidate(f"call `{called[0]}`", called[1], mechanical=True)
        return
    kind, call, whole = _TYPE.search(failure.text), conversion(found), connected(found)
    edit = without(found, call, kind[1]) if call is not None and kind is not None else None
    if edit is not None:
        yield Candidate("leave the integer as it is", (edit,), mechanical=True)
    edit = elementwise(found, whole) if whole is not None else None
    if edit is not None:
        yield Candidate("join the conditions element by element", (edit,), mechanical=True)


def _branch(found: Failing | None) -> Branch | None:
    return branch_of(found.syntax, found.node) if found is not None else None


def _word(found: Failing | None, sources: Library) -> str:
    """What of Python's it is that needs the value."""
    if found is None:
        return "Python"
    function = function_of_module(found, sources)
    if function is not None:
        return f"`{found.syntax.text(function)}`"
    branch, call, whole = _branch(found), conversion(found), connected(found)
    if branch is not None:
        return _WORDS[type(branch)]
    if call is not None:
        return f"`{found.syntax.text(call.func)}`"
    return word_of(whole) if whole is not None else "Python"


def _what(failure: Failure, found: Failing | None) -> str:
    kind = _TYPE.search(failure.text)
    if kind is None:
        return "this value"
    if found is not None and isinstance(found.node, ast.Call) and _branch(found) is None:
        return f"the {kind[1]} that it is given"
    return f"the {kind[1]} that decides here"
