"""# PM207: a grid that is not made of integers

## What it means
A size of the grid is a float. It mostly comes from `/`, which gives a float
even where the division is exact.

## Why the hardware says no
It does not: the grid is a number of steps, and JAX counts them with integers.

## Fix
Divide with `//` where the blocks fit exactly, and with `pl.cdiv` where a last
block hangs over the end.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def copy(x_ref, o_ref):
    o_ref[...] = x_ref[...]


def fn(x):
    return pl.pallas_call(
        copy,
        grid=(32 / 8,),
        in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32),
    )(x)


args = [jax.ShapeDtypeStruct((32, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def copy(x_ref, o_ref):
    o_ref[...] = x_ref[...]


def fn(x):
    return pl.pallas_call(
        copy,
        grid=(32 // 8,),
        in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32),
    )(x)


args = [jax.ShapeDtypeStruct((32, 128), jnp.float32)]
```

## Fix safety
Where the float is a whole number, the integer in its place is the same number.
The call itself was never put together, so nothing more of it is checked, and
the fix is not called safe.

## References
- Pallas documentation, "Grids and BlockSpecs".
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic, Label, TextEdit
from pallas_magic.rules._specs.wording import diagnostic
from pallas_magic.source.calls import argument, keyword
from pallas_magic.source.document import Library
from pallas_magic.source.names import spelled
from pallas_magic.source.resolve import Expression, resolve
from pallas_magic.source.syntax import end_of, start_of, syntax_of

code = "PM207"
name = "grid-sizes"

_RAISED_IN = "jax.pallas.core.GridSpec.__init__"
_TEXT = re.compile(r"Grid must be a tuple of integers or jax\.Array, got \((.*)\)")
_FLOAT = re.compile(r"(?:[A-Za-z_][\w.]*\()?(-?\d+(?:\.\d*)?(?:e[+-]?\d+)?)\)?")
_UNCHECKED = "the call was never put together, so nothing more of it is checked"


def match(failure: Failure) -> bool:
    if failure.raised_in != _RAISED_IN:
        return False
    return _TEXT.match(failure.text) is not None or _is_single(failure)


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    wrong = list(_floats(failure, sources))
    first = wrong[0] if wrong else None
    value = first[1] if first is not None else None
    origin = resolve(sources, first[0]) if first is not None else None
    moved = first is not None and origin is not None and origin.node is not first[0].node
    cause = origin.syntax.span(origin.node) if moved and origin is not None else None
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message="a size of the grid is no integer" + (f": {value}" if value is not None else ""),
        primary=first[0].syntax.span(first[0].node) if first is not None else None,
        mark="a float",
        effects=[one.syntax.span(one.node) for one, _ in wrong],
        causes=[Label(cause, "made here", "cause")] if cause is not None else [],
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    wrong = list(_floats(failure, sources))
    edits = [_whole_number(one, value, sources) for one, value in wrong]
    known = tuple(dict.fromkeys(edit for edit in edits if edit is not None))
    if known and None not in edits:
        yield Candidate(
            "make the grid of integers",
            known,
            applicability="unsafe",
            mechanical=True,
            why=_UNCHECKED,
            shown_by="nature",
        )


def _floats(failure: Failure, sources: Library) -> Iterator[tuple[Expression, float | None]]:
    """The sizes that are no integers, each with its value where that is known."""
    syntax = syntax_of(sources, failure.place)
    node = syntax.at(failure.place) if syntax is not None and failure.place is not None else None
    if syntax is None or not isinstance(node, ast.Call):
        return
    given = keyword(node, "grid")
    whole = given.value if given is not None else argument(node, "grid", 0)
    if whole is None:
        return
    if _is_single(failure):
        yield Expression(syntax, whole), None
        return
    grid = resolve(sources, Expression(syntax, whole))
    found = _TEXT.match(failure.text)
    values = [text.strip() for text in found[1].split(",") if text.strip()] if found else []
    elements = grid.node.elts if isinstance(grid.node, (ast.Tuple, ast.List)) else []
    if len(elements) != len(values):
        return
    for element, text in zip(elements, values, strict=True):
        number = _FLOAT.fullmatch(text)
        if number is not None and not text.lstrip("-").isdecimal():
            yield Expression(grid.syntax, element), float(number[1])


def _whole_number(one: Expression, value: float | None, sources: Library) -> TextEdit | None:
    """An edit that makes the same number an integer, or the next one above it."""
    origin = resolve(sources, one)
    syntax, node = origin.syntax, origin.node
    exact = value is not None and value.is_integer()
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        if exact:
            return _floor(origin, node)
        rounded = spelled(sources, syntax.document, "jax.experimental.pallas", "cdiv")
        if rounded is None:
            return None
        left, right = syntax.text(node.left), syntax.text(node.right)
        return syntax.replace(node, f"{rounded}({left}, {right})")
    if not exact or value is None:
        return None
    if isinstance(node, ast.Constant):
        return syntax.replace(node, str(int(value)))
    return one.syntax.replace(one.node, f"int({one.text})")


def _floor(one: Expression, node: ast.BinOp) -> TextEdit | None:
    start, end = end_of(node.left), start_of(node.right)
    between = one.syntax.text_between(start, end)
    if between.count("/") != 1 or "#" in between:
        return None
    return one.syntax.replace_between(start, end, between.replace("/", "//"))


def _is_single(failure: Failure) -> bool:
    """Whether the grid is one float rather than a tuple of sizes."""
    return failure.error_type == "TypeError" and "'float' object is not subs" in failure.text
