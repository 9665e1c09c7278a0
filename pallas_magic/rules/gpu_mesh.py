"""# PM711: axes of a GPU kernel without their names

## What it means
`plgpu.kernel` takes a name for each axis that it runs over: `grid_names` for
`grid`, `cluster_names` for `cluster`, `thread_name` for `num_threads`. One of the
two is missing, or they are not equally many.

## Why the hardware says no
It does not: a block asks for its place by name, `lax.axis_index("row")`, and JAX
has to know which axis that is.

## Fix
Give as many names as there are axes: `grid_names=("row", "column")`,
`thread_name="group"`.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu


def copied(x_gmem, o_gmem):
    o_gmem[...] = x_gmem[...]


def fn(x):
    out = jax.ShapeDtypeStruct((256,), jnp.float32)
    return plgpu.kernel(copied, out_type=out, grid=(2,))(x)


args = [jax.ShapeDtypeStruct((256,), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu


def copied(x_gmem, o_gmem):
    o_gmem[...] = x_gmem[...]


def fn(x):
    out = jax.ShapeDtypeStruct((256,), jnp.float32)
    return plgpu.kernel(copied, out_type=out, grid=(2,), grid_names=("step",))(x)


args = [jax.ShapeDtypeStruct((256,), jnp.float32)]
```

## Fix safety
A name that nothing used before changes nothing.

## References
- `plgpu.kernel` in JAX's documentation.
- PM804 (a launch that no GPU takes).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic
from pallas_magic.rules._gpu.kernels import KernelCall, kernel_call
from pallas_magic.rules._specs.wording import counted, diagnostic
from pallas_magic.source.calls import add_keyword
from pallas_magic.source.document import Library

code = "PM711"
name = "gpu-mesh"

_NAMES = re.compile(r"(grid|cluster)_names must have the same length as \1, got")
_THREADS = "num_threads and thread_name must be either both set or both None"
_SAME = "a name that nothing used before changes no value"
_WANTED = {"grid": ("step", "row", "column"), "cluster": ("block", "block_row", "block_column")}


def match(failure: Failure) -> bool:
    return _NAMES.match(failure.text) is not None or failure.text.startswith(_THREADS)


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    axes, call = _axes(failure), kernel_call(failure, sources)
    names = "thread_name" if axes == "num_threads" else f"{axes}_names"
    sizes, given = _length(failure.text, axes), _length(failure.text, names)
    if axes == "num_threads":
        missing = "thread_name" if "thread_name=None" in failure.text else "num_threads"
        there = "num_threads" if missing == "thread_name" else "thread_name"
        message = f"`{failure.kernel}` is given `{there}` without `{missing}`"
    else:
        message = (
            f"`{failure.kernel}` has {counted(sizes, 'axis', 'axes')} in `{axes}` and"
            f" {counted(given, 'name')} in `{names}`"
        )
    span = (call.span(axes) or call.span(names)) if call is not None else None
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=message,
        primary=span,
        mark="without names" if not given else "not as many names",
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    axes, call = _axes(failure), kernel_call(failure, sources)
    if call is None:
        return
    after = call.given(axes)
    if axes == "num_threads":
        text = 'thread_name="group"' if "thread_name=None" in failure.text else ""
    else:
        text = _names(failure, call, axes)
    edit = add_keyword(call.syntax, call.node, text, after) if text else None
    if edit is not None and after is not None:
        what = "the thread axis" if axes == "num_threads" else f"the axes of `{axes}`"
        yield Candidate(f"name {what}", (edit,), why=_SAME, shown_by="nature")


def _axes(failure: Failure) -> str:
    found = _NAMES.match(failure.text)
    return found[1] if found is not None else "num_threads"


def _length(text: str, name: str) -> int:
    """How many elements JAX prints of a tuple."""
    found = re.search(rf"\b{name}=\(([^)]*)\)", text)
    return len([part for part in found[1].split(",") if part.strip()]) if found else 0


def _names(failure: Failure, call: KernelCall, axes: str) -> str:
    """The names that are missing, as a keyword; "" where some are given."""
    count = _length(failure.text, axes)
    if call.given(f"{axes}_names") is not None or not 0 < count <= len(_WANTED[axes]):
        return ""
    used = {node.value for node in ast.walk(call.syntax.module) if isinstance(node, ast.Constant)}
    wanted = _WANTED[axes][:1] if count == 1 else _WANTED[axes][-count:]
    if used & set(wanted):
        return ""
    inside = ", ".join(f'"{one}"' for one in wanted) + ("," if count == 1 else "")
    return f"{axes}_names=({inside})"
