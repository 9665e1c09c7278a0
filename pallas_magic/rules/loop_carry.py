"""# PM605: a loop that goes on with another type than it began with

## What it means
What a step of `lax.fori_loop`, `lax.while_loop` or `lax.scan` returns does not
have the shape, or not the dtype, of what it was given.

## Why the hardware says no
It does not: one body is written down for all steps, so what goes from one to
the next has one type.

## Fix
Begin with a value of the type that the body returns: `jnp.zeros((128,),
jnp.float32)` for `0.0`.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl


def sum_rows(x_ref, o_ref):
    def add_row(row, total):
        return total + x_ref[row]

    o_ref[...] = lax.fori_loop(0, 8, add_row, 0.0)


fn = pl.pallas_call(sum_rows, out_shape=jax.ShapeDtypeStruct((128,), jnp.float32))
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl


def sum_rows(x_ref, o_ref):
    def add_row(row, total):
        return total + x_ref[row]

    o_ref[...] = lax.fori_loop(0, 8, add_row, jnp.zeros((128,), jnp.float32))


fn = pl.pallas_call(sum_rows, out_shape=jax.ShapeDtypeStruct((128,), jnp.float32))
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Fix safety
A single number becomes an array of that number, and a float begins in the wider
float that the body returns; both are safe. What would lose digits is left to
you.

## References
- JAX documentation, `jax.lax.fori_loop`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic
from pallas_magic.rules._refs.expressions import (
    Failing,
    complete,
    failing,
    followed_by,
    numpy_name,
    shape_of,
)
from pallas_magic.rules._specs.wording import diagnostic, shape_text
from pallas_magic.source.calls import argument
from pallas_magic.source.document import Library
from pallas_magic.source.resolve import Expression, literal_children, resolve
from pallas_magic.source.syntax import identifier

code = "PM605"
name = "loop-carry"

_TEXT = re.compile(
    r"(?:scan|while_loop|fori_loop) body function carry input and carry output must have equal"
    r" types, but they differ:\s+The input carry (?:component )?(\S+) has type (\w+)\[([\d,]*)\]"
    r" but the corresponding output carry component has type (\w+)\[([\d,]*)\]"
)
# A `fori_loop` carries its counter too, in front of what the user gave.
_OF_FORI_LOOP = re.compile(r"^loop_carry\[\d\]")
_STEP = re.compile(r"\[(\d+)\]")
_INITIAL = {"fori_loop": ("init_val", 3), "while_loop": ("init_val", 2), "scan": ("init", 1)}
_LOSES = "the fraction of the first value is cut off"
_WIDTH = {"bfloat16": 16, "float16": 16, "float32": 32}


def match(failure: Failure) -> bool:
    return failure.stage == "trace" and _TEXT.match(failure.text) is not None


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    given, wanted = _types(failure)
    found = failing(failure, sources)
    initial = _initial(found, failure)
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=f"the loop begins with {given} and goes on with {wanted}; it must keep its types",
        primary=found.syntax.span(initial) if found is not None and initial is not None else None,
        mark=f"{given}, expected {wanted}",
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    text = _TEXT.match(failure.text)
    found = failing(failure, sources)
    initial = _initial(found, failure)
    if text is None or found is None or initial is None:
        return
    given, wanted = shape_of(text[3]), shape_of(text[5])
    dtype = numpy_name(sources, found.syntax, text[4])
    if dtype is None:
        return
    if not given and wanted:
        rounded = "float" in text[2] and "float" not in text[4]
        yield from _filled(found, initial, wanted, dtype, rounded, sources)
        return
    edits = complete(followed_by(found.syntax, initial, f".astype({dtype})"))
    if edits and given == wanted and _WIDTH.get(text[2], 99) < _WIDTH.get(text[4], 0):
        yield Candidate(f"begin in {text[4]}", edits, mechanical=True)


def _filled(
    found: Failing,
    initial: ast.expr,
    wanted: tuple[int, ...],
    dtype: str,
    rounded: bool,
    sources: Library,
) -> Iterator[Candidate]:
    value = resolve(sources, Expression(found.syntax, initial)).node
    is_zero = isinstance(value, ast.Constant) and value.value == 0
    function = numpy_name(sources, found.syntax, "zeros" if is_zero else "full")
    if function is None:
        return
    number = "" if is_zero else f", {found.syntax.text(initial)}"
    text = f"{function}({shape_text(wanted)}{number}, {dtype})"
    if edit := found.syntax.replace(initial, text):
        title = f"begin with an array of shape {shape_text(wanted)}"
        why = _LOSES if rounded and not is_zero else ""
        yield Candidate(title, (edit,), mechanical=not why, why=why)


def _types(failure: Failure) -> tuple[str, str]:
    text = _TEXT.match(failure.text)
    assert text is not None
    return f"{text[2]}[{text[3]}]", f"{text[4]}[{text[5]}]"


def _initial(found: Failing | None, failure: Failure) -> ast.expr | None:
    """The part of the initial value whose type changes, as far as it is written out."""
    text = _TEXT.match(failure.text)
    node = found.node if found is not None else None
    if text is None or not isinstance(node, ast.Call) or identifier(node.func) not in _INITIAL:
        return None
    parameter, position = _INITIAL[identifier(node.func)]
    part = argument(node, parameter, position)
    path = _OF_FORI_LOOP.sub("", text[1]) if identifier(node.func) == "fori_loop" else text[1]
    for step in _STEP.findall(path):
        children = literal_children(part) if part is not None else None
        if children is None or int(step) >= len(children):
            return None
        part = children[int(step)]
    return part
