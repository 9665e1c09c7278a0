"""# PM608: an index beyond a ref

## What it means
A slice of a ref reaches beyond its end, or the ref has fewer axes than it is
given indices.

## Why the hardware says no
It does not: the shape of a ref is that of its block, known before the kernel
runs, and what lies behind it in memory belongs to something else.

## Fix
Index within the block. A kernel sees one block of an operand, not the whole of
it; the index map of the spec moves the block.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def last_rows(x_ref, o_ref):
    o_ref[...] = x_ref[pl.ds(6, 4), :]


fn = pl.pallas_call(last_rows, out_shape=jax.ShapeDtypeStruct((4, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def last_rows(x_ref, o_ref):
    o_ref[...] = x_ref[pl.ds(4, 4), :]


fn = pl.pallas_call(last_rows, out_shape=jax.ShapeDtypeStruct((4, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Fix safety
Whether the slice begins too late or is too long is a guess; the last place
where it fits is offered and not called safe.

## References
- Pallas documentation, "Grids and BlockSpecs".
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic
from pallas_magic.rules._refs.expressions import Failing, failing
from pallas_magic.rules._specs.wording import counted, diagnostic, shape_text
from pallas_magic.source.calls import argument
from pallas_magic.source.document import Library
from pallas_magic.source.syntax import identifier

code = "PM608"
name = "index-bounds"

_SLICE = re.compile(r"Out of bound slice: start=(\d+), size=(\d+), stride=(\d+), dim=(\d+)")
_START = re.compile(r"Out of bound (?:slice: start|indexer: idx)=(\d+), dim=(\d+)")
_COUNT = re.compile(
    r"`indices` must not be longer than `shape`: indices=.*, shape=\(([\d, ]*)\)", re.DOTALL
)
_GUESS = "whether the slice begins too late or is too long is a guess"


def match(failure: Failure) -> bool:
    known = any(text.match(failure.text) for text in (_SLICE, _START, _COUNT))
    return failure.stage == "trace" and known


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    found = failing(failure, sources)
    ref = _ref_name(found)
    subject = f"`{ref}`" if ref else "the ref"
    if out := _SLICE.match(failure.text):
        start, size, _, whole = map(int, out.groups())
        message = f"this takes {size} from {start} on; {subject} has {whole} along that axis"
        mark = f"{start} + {size} is more than {whole}"
    elif out := _START.match(failure.text):
        message = f"this begins at {out[1]}; {subject} has {out[2]} along that axis"
        mark = f"{out[1]} is not less than {out[2]}"
    else:
        count = _COUNT.match(failure.text)
        assert count is not None
        shape = tuple(int(one) for one in count[1].split(",") if one.strip())
        given = len(_indices(found.node)) if found is not None else 0
        has = f"{subject} has {counted(len(shape), 'axis', 'axes')}, {shape_text(shape)}"
        message = (
            f"{has}; this gives {counted(given, 'index', 'indices') if given else 'more indices'}"
        )
        mark = f"for {counted(len(shape), 'axis', 'axes')}"
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=message,
        primary=found.span() if found is not None else None,
        mark=mark,
        notes=("a kernel sees one block of an operand; the index map moves the block",),
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    found = failing(failure, sources)
    out = _SLICE.match(failure.text)
    if found is None or out is None:
        return
    start, size, stride, whole = map(int, out.groups())
    if stride != 1 or size > whole:
        return
    wrong = [one for one in _slices(found.node) if _begins_at(one, start)]
    begin = argument(wrong[0], "start", 0) if len(wrong) == 1 else None
    if begin is not None and (edit := found.syntax.replace(begin, str(whole - size))):
        yield Candidate(f"begin at {whole - size}", (edit,), why=_GUESS)


def _indices(node: ast.expr) -> list[ast.expr]:
    if not isinstance(node, ast.Subscript):
        return []
    return list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]


def _slices(node: ast.expr) -> list[ast.Call]:
    """The slices of an index that are written ``pl.ds(start, size)``."""
    calls = [one for one in _indices(node) if isinstance(one, ast.Call)]
    return [one for one in calls if identifier(one.func) in ("ds", "dslice", "Slice")]


def _begins_at(call: ast.Call, start: int) -> bool:
    begin = argument(call, "start", 0)
    return isinstance(begin, ast.Constant) and begin.value == start


def _ref_name(found: Failing | None) -> str:
    node = found.node if found is not None else None
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        return node.value.id
    return ""
