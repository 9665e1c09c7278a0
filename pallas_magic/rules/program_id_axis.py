"""# PM212: a step of the grid that does not exist

## What it means
The kernel asks `pl.program_id` or `pl.num_programs` for an axis that the grid
does not have.

## Why the hardware says no
It does not: the grid is what the call says, and its axes are counted from 0.

## Fix
Ask for an axis of the grid, or give the call the axis that is missing. Without
a grid the kernel runs once and has no step to ask for.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def shift(x_ref, o_ref):
    o_ref[...] = x_ref[...] + pl.program_id(1)


fn = pl.pallas_call(
    shift,
    grid=(2,),
    in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
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


def shift(x_ref, o_ref):
    o_ref[...] = x_ref[...] + pl.program_id(0)


fn = pl.pallas_call(
    shift,
    grid=(2,),
    in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
    out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
    out_shape=jax.ShapeDtypeStruct((16, 128), jnp.float32),
)
args = [jax.ShapeDtypeStruct((16, 128), jnp.float32)]
```

## Fix safety
With one axis there is only one to ask for, and without a grid the only step is
0 of 1. Both are offered and not called safe: the grid may be what is wrong.

## References
- Pallas documentation, "Grids and BlockSpecs".
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic
from pallas_magic.rules._specs.wording import counted, diagnostic, keyword_label
from pallas_magic.source.calls import argument
from pallas_magic.source.document import Library
from pallas_magic.source.syntax import identifier, syntax_of

code = "PM212"
name = "program-id-axis"

_TEXT = re.compile(r"Axis (-?\d+) is out of bounds for grid")
_GUESS = "whether the axis or the grid is wrong is a guess"
_ONLY_STEP = {"program_id": "0", "num_programs": "1"}


def match(failure: Failure) -> bool:
    return failure.raised_in == "jax.pallas.core.size" and bool(_TEXT.match(failure.text))


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    found = _TEXT.match(failure.text)
    axis = found[1] if found is not None else ""
    axes = len(failure.call.grid)
    has = f"the grid has {counted(axes, 'axis', 'axes')}" if axes else "the call has no grid"
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=f"`{failure.kernel}` asks for axis {axis} of the grid; {has}",
        primary=sources.span(failure.place),
        mark=f"axis {axis}",
        causes=[keyword_label(failure, sources, "grid", counted(axes, "axis", "axes"))],
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    syntax = syntax_of(sources, failure.place)
    node = syntax.at(failure.place) if syntax is not None and failure.place is not None else None
    if syntax is None or not isinstance(node, ast.Call) or identifier(node.func) not in _ONLY_STEP:
        return
    axis = argument(node, "axis", 0)
    axes = len(failure.call.grid)
    if axes == 0:
        only = _ONLY_STEP[identifier(node.func)]
        if edit := syntax.replace(node, only):
            yield Candidate(f"use {only}, the only one", (edit,), why=_GUESS)
    elif axes == 1 and axis is not None and (edit := syntax.replace(axis, "0")):
        yield Candidate("ask for axis 0", (edit,), why=_GUESS)
