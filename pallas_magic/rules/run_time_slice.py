"""# PM620: a slice whose ends are known only when the kernel runs

## What it means
`x_ref[start : start + 8]` or `x_ref[pl.ds(0, n)]`, where `start` or `n` is a traced
value: a program id, a number that was loaded, the counter of a loop.

## Why the hardware says no
The shape of every value is fixed when the kernel is compiled. Python's slice says
where to begin and where to end, and what lies between has no fixed length for
JAX, whatever the two have in common. `pl.ds` says where to begin, which may be
computed, and how much to take, which may not.

## Fix
- a fixed length: `x_ref[pl.ds(start, 8)]`;
- a length that varies: take the longest there can be and mask what is too much.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def copy_rows(x_ref, o_ref):
    start = pl.program_id(0) * 8
    o_ref[...] = x_ref[start : start + 8, :]


fn = pl.pallas_call(
    copy_rows,
    grid=(2,),
    in_specs=[pl.BlockSpec((16, 128), lambda i: (0, 0))],
    out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
    out_shape=jax.ShapeDtypeStruct((16, 128), jnp.float32),
)
args = [jax.ShapeDtypeStruct((16, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def copy_rows(x_ref, o_ref):
    start = pl.program_id(0) * 8
    o_ref[...] = x_ref[pl.ds(start, 8), :]


fn = pl.pallas_call(
    copy_rows,
    grid=(2,),
    in_specs=[pl.BlockSpec((16, 128), lambda i: (0, 0))],
    out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
    out_shape=jax.ShapeDtypeStruct((16, 128), jnp.float32),
)
args = [jax.ShapeDtypeStruct((16, 128), jnp.float32)]
```

## Fix safety
Where the end is written as the start and so many more, `pl.ds` takes just that,
and is safe. A value is not indexed that way on a TPU: the ref that it was loaded
from is, where nothing has stored to it since.

## References
- Pallas documentation, `pl.ds`.
- PM301 (values indexed at run time).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic, TextEdit
from pallas_magic.rules._operations.called import Called
from pallas_magic.rules._operations.sliced_refs import load_of
from pallas_magic.rules._refs.expressions import Failing, failing
from pallas_magic.rules._specs.wording import diagnostic
from pallas_magic.source.document import Library
from pallas_magic.source.names import spelled
from pallas_magic.source.syntax import identifier

code = "PM620"
name = "run-time-slice"

_OF_REFS = "jax.indexing.from_slice"
_OF_VALUES = (
    "Array slice indices must have static start/stop/step",
    "Slice entries must be static integers",
)
_ACCESSES = ("jax.state.primitives.ref_get", "jax.state.primitives.ref_swap")
_SIZE_IS_TRACED = "DShapedArray"
_NOTE = "take as much as there can be, and mask what is too much"


def match(failure: Failure) -> bool:
    if failure.stage != "trace":
        return False
    if failure.text.startswith(_OF_VALUES):
        return True
    return (_OF_REFS in failure.passed and "Tracer" in failure.error_type) or _has_size(failure)


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    found = failing(failure, sources)
    parts = [found.text for found in _parts(found)] if not _has_size(failure) else []
    sizes = [found.text for found in _sizes(found)] if _has_size(failure) else []
    subject = f"`{_subject(found)}`" if _subject(found) else "this"
    if _has_size(failure):
        given = f"`{sizes[0]}`" if len(sizes) == 1 else "the size"
        message = f"{subject} is cut to a size, {given}, that is known only when the kernel runs"
    else:
        ends = f"`{parts[0]}`" if len(parts) == 1 else "the slice"
        message = f"{subject} is cut from {ends}, whose ends are known only when the kernel runs"
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=message,
        primary=found.span() if found is not None else None,
        mark="size not known" if _has_size(failure) else "length not known",
        notes=(_NOTE,) if not any(_length(one.node) for one in _parts(found)) else (),
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    found = failing(failure, sources)
    if found is None or _has_size(failure) or not isinstance(found.node, ast.Subscript):
        return
    ds = spelled(sources, found.syntax.document, "jax.experimental.pallas", "ds")
    index = _index(found, ds) if ds is not None else None
    if index is None:
        return
    if failure.text.startswith(_OF_VALUES):
        yield from _of_ref(failure, sources, found, index)
        return
    edit = _replaced_index(found, index)
    if edit is not None:
        yield Candidate("begin at run time with `pl.ds`", (edit,), mechanical=True)


def _of_ref(failure: Failure, sources: Library, found: Failing, index: str) -> Iterator[Candidate]:
    """The ref that the value was loaded from, indexed in its place."""
    assert isinstance(found.node, ast.Subscript)
    one = Called(sources, failure, found.syntax, found.node, "")
    load = load_of(one, found.node.value)
    edit = found.syntax.replace(found.node, load.at(index)) if load is not None else None
    if load is not None and edit is not None:
        title = f"index `{load.ref}` at run time with `pl.ds`"
        yield Candidate(title, (edit,), mechanical=True)


def _replaced_index(found: Failing, index: str) -> TextEdit | None:
    assert isinstance(found.node, ast.Subscript)
    value = found.syntax.text(found.node.value)
    return found.syntax.replace(found.node, f"{value}[{index}]")


def _has_size(failure: Failure) -> bool:
    is_size = failure.text.startswith(_SIZE_IS_TRACED) and failure.error_type == "AssertionError"
    return is_size and any(access in failure.passed for access in _ACCESSES)


def _elements(found: Failing | None) -> list[ast.expr]:
    node = found.node if found is not None else None
    if not isinstance(node, ast.Subscript):
        return []
    return list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]


def _parts(found: Failing | None) -> list[Failing]:
    """The slices of the index that are not written with constants alone."""
    return [
        Failing(found.syntax, part, found.statement)
        for part in _elements(found)
        if found is not None and isinstance(part, ast.Slice) and not _is_constant(part)
    ]


def _sizes(found: Failing | None) -> list[Failing]:
    """What is given as the size of a `pl.ds`, where that is no constant."""
    return [
        Failing(found.syntax, part.args[1], found.statement)
        for part in _elements(found)
        if found is not None
        and isinstance(part, ast.Call)
        and identifier(part.func) in ("ds", "dslice")
        and len(part.args) > 1
        and not isinstance(part.args[1], ast.Constant)
    ]


def _is_constant(part: ast.Slice) -> bool:
    ends = [end for end in (part.lower, part.upper, part.step) if end is not None]
    return all(isinstance(end, ast.Constant) for end in ends)


def _subject(found: Failing | None) -> str:
    node = found.node if found is not None else None
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        return node.value.id
    return ""


def _index(found: Failing, ds: str) -> str | None:
    """The whole index, its slices of a written length with ``pl.ds``."""
    parts = []
    for part in _elements(found):
        if not isinstance(part, ast.Slice) or _is_constant(part):
            parts.append(found.syntax.text(part))
            continue
        length = _length(part)
        if length is None or part.lower is None or part.step is not None:
            return None
        parts.append(f"{ds}({found.syntax.text(part.lower)}, {found.syntax.text(length)})")
    return ", ".join(parts)


def _length(part: ast.expr) -> ast.expr | None:
    """What a slice takes, of `a : a + n`, `a : n + a` or `i * n : (i + 1) * n`."""
    if not isinstance(part, ast.Slice) or part.lower is None or part.upper is None:
        return None
    lower, upper = part.lower, part.upper
    if isinstance(upper, ast.BinOp) and isinstance(upper.op, ast.Add):
        if _same(upper.left, lower):
            return upper.right
        return upper.left if _same(upper.right, lower) else None
    if not isinstance(upper, ast.BinOp) or not isinstance(lower, ast.BinOp):
        return None
    if not isinstance(upper.op, ast.Mult) or not isinstance(lower.op, ast.Mult):
        return None
    for times, size in ((lower.left, lower.right), (lower.right, lower.left)):
        for more, again in ((upper.left, upper.right), (upper.right, upper.left)):
            if _same(size, again) and _is_next(more, times):
                return size
    return None


def _is_next(node: ast.expr, before: ast.expr) -> bool:
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add):
        return False
    pairs = ((node.left, node.right), (node.right, node.left))
    return any(
        _same(one, before) and isinstance(other, ast.Constant) and other.value == 1
        for one, other in pairs
    )


def _same(one: ast.expr, other: ast.expr) -> bool:
    return ast.dump(one) == ast.dump(other)
