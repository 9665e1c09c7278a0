"""# PM718: a layout that does not fit what it is given to

## What it means
`plgpu.Layout.WG_STRIDED` and `WG_SPLAT` are layouts of one shape and are given it;
others, such as `WGMMA`, take no arguments. And a layout fits arrays of certain shapes
only: `WGMMA` those of whole tiles of 64 rows and 8 columns.

## Why the hardware says no
A layout says which thread of a warpgroup has which elements. That of the tensor cores
is fixed by their instructions; a strided one depends on how much there is to hand out.

## Fix
- `plgpu.Layout.WG_STRIDED(x.shape, vec_size=2)`: each thread takes two neighbours.
- `plgpu.Layout.WGMMA` without arguments.
- For one number a row, or a column, of a matrix: `plgpu.Layout.WGMMA.reduce(1)`, or
  `.reduce(0)`.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu


def sums(x_gmem, o_gmem):
    x = plgpu.load(x_gmem, layout=plgpu.Layout.WGMMA)
    o_gmem[...] = plgpu.layout_cast(jnp.sum(x, axis=1), plgpu.Layout.WGMMA)


fn = plgpu.kernel(sums, out_type=jax.ShapeDtypeStruct((64,), jnp.float32))
args = [jax.ShapeDtypeStruct((64, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu


def sums(x_gmem, o_gmem):
    x = plgpu.load(x_gmem, layout=plgpu.Layout.WGMMA)
    o_gmem[...] = plgpu.layout_cast(jnp.sum(x, axis=1), plgpu.Layout.WGMMA.reduce(1))


fn = plgpu.kernel(sums, out_type=jax.ShapeDtypeStruct((64,), jnp.float32))
args = [jax.ShapeDtypeStruct((64, 128), jnp.float32)]
```

## Fix safety
A layout changes no value. Interpreted, the kernel before and after must agree.

## References
- JAX documentation, "Writing Mosaic GPU kernels with Pallas": array layouts.
- PM704 (no layout for an array).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic
from pallas_magic.rules._gpu.calls import gpu_call
from pallas_magic.rules._refs.expressions import shape_of
from pallas_magic.rules._specs.wording import diagnostic, shape_text
from pallas_magic.source.calls import argument, keyword
from pallas_magic.source.document import Library
from pallas_magic.source.resolve import Expression
from pallas_magic.source.syntax import identifier, syntax_of

code = "PM718"
name = "gpu-layout-arguments"

_MISSING = re.compile(r"WG(Strided|Splat)FragLayout\.__init__\(\) missing \d+ required positional")
_TOO_MANY = re.compile(r"Can't instantiate Layout\.(\w+) with arguments")
_MISFIT = re.compile(
    r"Cannot cast to layout .* the layout is not ?compatible with the operand shape (\([\d, ]*\))",
    re.DOTALL,
)
_NAMES = {"Strided": "WG_STRIDED", "Splat": "WG_SPLAT"}
_GIVEN_TO = {"layout_cast": 1}
_TILES = "it has whole tiles of 64 rows and 8 columns"


def match(failure: Failure) -> bool:
    texts = (_MISSING, _TOO_MANY, _MISFIT)
    return failure.target.family == "gpu" and any(one.match(failure.text) for one in texts)


def key(failure: Failure) -> object:
    return failure.place or failure.text


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    layout = _layout(failure, sources)
    written = f"`{layout.text}`" if layout is not None else "a layout"
    if found := _TOO_MANY.match(failure.text):
        message, mark = f"`Layout.{found[1]}` takes no arguments", "takes no arguments"
    elif found := _MISFIT.match(failure.text):
        shape = shape_of(found[1])
        message = f"{written} does not fit an array of the shape {shape_text(shape)}"
        if layout is not None and identifier(layout.node) == "WGMMA":
            message += f": {_TILES}"
        mark = f"not for {shape_text(shape)}"
    else:
        message = f"{written} is given no shape; it is a layout of one shape"
        mark = "without a shape"
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=message,
        primary=layout.syntax.span(layout.node) if layout is not None else None,
        mark=mark,
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    layout, misfit = _layout(failure, sources), _MISFIT.match(failure.text)
    if layout is None:
        return
    if _TOO_MANY.match(failure.text) and isinstance(layout.node, ast.Call):
        bare = layout.syntax.text(layout.node.func)
        edit = layout.syntax.replace(layout.node, bare)
        if edit is not None:
            yield Candidate("leave the arguments out", (edit,))
    if misfit and len(shape_of(misfit[1])) == 1 and identifier(layout.node) == "WGMMA":
        edit = layout.syntax.replace(layout.node, f"{layout.text}.reduce(1)")
        if edit is not None:
            yield Candidate("take the layout of one number a row, `.reduce(1)`", (edit,))


def _layout(failure: Failure, sources: Library) -> Expression | None:
    """The layout as it is written: in the failing call, else the only one of the kernel's file."""
    call = gpu_call(failure, sources)
    if _MISFIT.match(failure.text):
        given = keyword(call.node, "layout") if call is not None else None
        position = _GIVEN_TO.get(call.name) if call is not None else None
        node = given.value if given is not None else None
        if node is None and call is not None and position is not None:
            node = argument(call.node, "new_layout", position)
        return Expression(call.syntax, node) if call is not None and node is not None else None
    syntax = syntax_of(sources, failure.call.kernel)
    if syntax is None:
        return None
    wanted = _wanted(failure)
    found = [
        node
        for node in ast.walk(syntax.module)
        if isinstance(node, ast.Attribute)
        and node.attr == wanted
        and identifier(node.value) == "Layout"
    ]
    calls = {node: syntax.parent(node) for node in found}
    called = {
        node: above
        for node, above in calls.items()
        if isinstance(above, ast.Call) and above.func is node
    }
    if _TOO_MANY.match(failure.text):
        nodes: list[ast.expr] = list(called.values())
    else:
        nodes = [node for node in found if node not in called]
    return Expression(syntax, nodes[0]) if len(nodes) == 1 else None


def _wanted(failure: Failure) -> str:
    """The layout that JAX names."""
    found = _TOO_MANY.match(failure.text)
    if found is not None:
        return found[1]
    missing = _MISSING.match(failure.text)
    return _NAMES[missing[1]] if missing is not None else ""
