"""# PM611: branches that return different types

## What it means
The functions that `lax.cond` or `lax.switch` choose from do not return the same:
another dtype, another shape, or one returns a value and another nothing.

## Why the hardware says no
It does not: which branch runs is known only when the kernel does, and the result
lies in the same registers whichever it is. So it has one shape and one dtype.

## Fix
Convert in one branch: `.astype(jnp.float32)`, `jnp.full(shape, value)`. Branches
that store to a ref and return nothing are written with `pl.when`.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl


def positive(x_ref, o_ref):
    x = x_ref[...]
    o_ref[...] = lax.cond(x[0, 0] > 0, lambda: x, lambda: jnp.zeros((8, 128), jnp.bfloat16))


fn = pl.pallas_call(positive, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl


def positive(x_ref, o_ref):
    x = x_ref[...]
    o_ref[...] = lax.cond(x[0, 0] > 0, lambda: x, lambda: jnp.zeros((8, 128), jnp.float32))


fn = pl.pallas_call(positive, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Fix safety
A float made wider, or an integer, keeps its value; that is safe. One number that
is repeated to the shape of the other branch is offered and not called safe.

## References
- JAX documentation, `jax.lax.cond` and `jax.lax.switch`.
- PM605 (a loop whose carry changes its type).
"""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic, Label, TextEdit
from pallas_magic.rules._refs.branching import Branch, branches_of
from pallas_magic.rules._refs.expressions import (
    complete,
    failing,
    followed_by,
    numpy_name,
    shape_of,
)
from pallas_magic.rules._specs.wording import diagnostic, shape_text
from pallas_magic.source.document import Library

code = "PM611"
name = "branch-types"

_RAISED_IN = "jax.lax.control_flow.conditionals._check_branch_outputs"
_NAME = r"(true_fun|false_fun|branch ?\d+)"
_TYPES = re.compile(
    rf"The output of {_NAME} (?:at path (\S+) )?has type (\w+)\[([\d,]*)\]"
    rf" but the corresponding output of {_NAME} has type (\w+)\[([\d,]*)\]"
)
_TREES = re.compile(
    rf"{_NAME} output(?: at path (\S+))? is a (.+?) but {_NAME} output(?: at path \S+)? is a"
    r" (.+?), so their Python types differ"
)
_KINDS = {"pytree leaf": "an array", "<class 'NoneType'>": "nothing"}
_FLOATS = {"bfloat16": 16, "float16": 16, "float32": 32}
_REPEATS = "the number may have been meant otherwise"
_STORES = "a branch that only stores returns nothing; `pl.when` runs one where a condition holds"


@dataclasses.dataclass(frozen=True)
class _Differs:
    """What two branches return at the same place; the types as text."""

    names: tuple[str, str]
    path: str
    types: tuple[str, str]
    dtypes: tuple[str, str] = ("", "")
    shapes: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())


def match(failure: Failure) -> bool:
    return failure.raised_in == _RAISED_IN and _differs(failure) is not None


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    differs = _differs(failure)
    assert differs is not None
    found = failing(failure, sources)
    first, second = branches_of(found, differs.names, differs.path, sources)
    nothing = "nothing" in differs.types
    one, other = differs.types
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=f"one branch returns {one}, another {other}; all must return the same",
        primary=second.span() if second is not None else None,
        mark=f"{other}" if second is not None else f"{one} or {other}",
        causes=[_label(first, one)] if second is not None else [],
        notes=(_STORES,) if nothing else (),
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    differs, found = _differs(failure), failing(failure, sources)
    if differs is None or found is None or not differs.dtypes[0]:
        return
    branches = branches_of(found, differs.names, differs.path, sources)
    for at in (0, 1):
        branch, other = branches[at], 1 - at
        if branch is None:
            continue
        edits = _converted(branch, differs, at, sources)
        if edits:
            title = f"return {differs.types[other]} from both"
            yield Candidate(title, edits, mechanical=True)
        elif not differs.shapes[at] and differs.shapes[other]:
            yield from _repeated(branch, differs, at, sources)


def _converted(
    branch: Branch, differs: _Differs, at: int, sources: Library
) -> tuple[TextEdit, ...]:
    """The narrower of two dtypes made the wider one."""
    own, wanted, node = differs.dtypes[at], differs.dtypes[1 - at], branch.node
    if differs.shapes[0] != differs.shapes[1]:
        return ()
    if isinstance(node, ast.Constant) and (own, wanted) == ("int32", "float32"):
        edit = branch.syntax.replace(node, f"{branch.syntax.text(node)}.0")
        return (edit,) if edit is not None else ()
    if not _is_wider(own, wanted):
        return ()
    dtype = numpy_name(sources, branch.syntax, wanted)
    return complete(followed_by(branch.syntax, node, f".astype({dtype})")) if dtype else ()


def _is_wider(own: str, wanted: str) -> bool:
    if wanted in _FLOATS:
        return own in _FLOATS and _FLOATS[own] < _FLOATS[wanted]
    return (own, wanted) in (("int8", "int32"), ("int16", "int32"), ("bool", "int32"))


def _repeated(branch: Branch, differs: _Differs, at: int, sources: Library) -> Iterator[Candidate]:
    function = numpy_name(sources, branch.syntax, "full")
    dtype = numpy_name(sources, branch.syntax, differs.dtypes[1 - at])
    if function is None or dtype is None:
        return
    shape = shape_text(differs.shapes[1 - at])
    text = f"{function}({shape}, {branch.syntax.text(branch.node)}, {dtype})"
    edit = branch.syntax.replace(branch.node, text)
    if edit is not None:
        title = f"repeat the number to {shape}"
        yield Candidate(title, (edit,), "unsafe", why=_REPEATS)


def _differs(failure: Failure) -> _Differs | None:
    if found := _TYPES.search(failure.text):
        one, path, dtype, shape, other, second, size = found.groups()
        types = f"{dtype}[{shape}]", f"{second}[{size}]"
        shapes = shape_of(shape), shape_of(size)
        return _Differs((one, other), path or "", types, (dtype, second), shapes)
    if found := _TREES.search(failure.text):
        one, path, kind, other, second = found.groups()
        return _Differs((one, other), path or "", (_kind(kind), _kind(second)))
    return None


def _kind(text: str) -> str:
    known = re.fullmatch(r"<class '(\w+)'>", text)
    return _KINDS.get(text, f"a {known[1]}" if known is not None else text)


def _label(branch: Branch | None, text: str) -> Label | None:
    span = branch.span() if branch is not None else None
    return Label(span, text, "cause") if span is not None else None
