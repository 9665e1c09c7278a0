"""# PM716: the name of an axis that a kernel does not have

## What it means
`lax.axis_index("m")` asks which step along an axis a block or a thread is, and
`collective_axes="c"` names the axis of a cluster. The kernel has no axis of that name.

## Why the hardware says no
A launch has a grid, clusters and warpgroups. The names that `plgpu.kernel` is given for
them are all that a kernel can ask for.

## Fix
- `grid=(4,)` with `grid_names=("m",)` for an axis of the grid.
- `cluster=(2,)` with `cluster_names=("c",)`: only its axes are collective.
- `num_threads=2` with `thread_name="wg"` for the number of a warpgroup.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu


def copied(x_gmem, o_gmem):
    rows = pl.ds(lax.axis_index("m") * 128, 128)
    o_gmem[rows] = x_gmem[rows]


fn = plgpu.kernel(
    copied, out_type=jax.ShapeDtypeStruct((256,), jnp.float32), grid=(2,), grid_names=("i",)
)
args = [jax.ShapeDtypeStruct((256,), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu


def copied(x_gmem, o_gmem):
    rows = pl.ds(lax.axis_index("i") * 128, 128)
    o_gmem[rows] = x_gmem[rows]


fn = plgpu.kernel(
    copied, out_type=jax.ShapeDtypeStruct((256,), jnp.float32), grid=(2,), grid_names=("i",)
)
args = [jax.ShapeDtypeStruct((256,), jnp.float32)]
```

## Fix safety
Another name is proposed only where the kernel has but one, and is not called safe: an
axis of the name that was asked for may be what is missing.

## References
- JAX documentation, "Writing Mosaic GPU kernels with Pallas": the grid, clusters and
  threads.
- PM711 (axes without names).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic, Label
from pallas_magic.rules._gpu.kernels import KernelCall, kernel_call, scratch_type
from pallas_magic.rules._specs.wording import diagnostic
from pallas_magic.source.document import Library
from pallas_magic.source.resolve import Expression, resolve
from pallas_magic.source.syntax import syntax_of

code = "PM716"
name = "gpu-axis-names"

_UNBOUND = re.compile(r"Found an unbound axis name: (\w+)")
_NO_CLUSTER = re.compile(r"Unknown cluster axis (\w+), available axes: ")
_WHICH = "an axis of that name may be missing from the kernel instead"
_NAMES = ("grid_names", "cluster_names", "thread_name")


def match(failure: Failure) -> bool:
    return failure.target.family == "gpu" and _wanted(failure) != ""


def key(failure: Failure) -> object:
    return failure.place or failure.text


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    wanted, call = _wanted(failure), kernel_call(failure, sources)
    collective = _is_collective(failure)
    kind = "axis of a cluster" if collective else "axis"
    message = f"`{failure.kernel}` has no {kind} named `{wanted}`"
    names = _names(failure, call) if call is not None else None
    if names:
        listed = ", ".join(f"`{one}`" for one in names)
        message += f"; it has {listed}"
    elif names is not None:
        message += ": it has no cluster" if collective else ": it is given no names of axes"
    written = _written(failure, sources)
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=message,
        primary=written.syntax.span(written.node) if written is not None else None,
        mark="no such axis",
        causes=list(_causes(call, names)) if call is not None and names else (),
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    call, written = kernel_call(failure, sources), _written(failure, sources)
    names = list(_names(failure, call) or ()) if call is not None else []
    if written is None or len(names) != 1:
        return
    edit = written.syntax.replace(written.node, f'"{names[0]}"')
    if edit is not None:
        yield Candidate(f"name `{names[0]}`, the one there is", (edit,), "unsafe", why=_WHICH)


def _wanted(failure: Failure) -> str:
    """The name that is asked for."""
    found = _UNBOUND.match(failure.text) or _NO_CLUSTER.match(failure.text)
    return found[1] if found is not None else ""


def _is_collective(failure: Failure) -> bool:
    return _NO_CLUSTER.match(failure.text) is not None


def _names(failure: Failure, call: KernelCall) -> dict[str, str] | None:
    """The names of the kernel's axes, with the keyword that gives them.

    ``None`` where the text does not tell all of them.
    """
    keywords = ("cluster_names",) if _is_collective(failure) else _NAMES
    found: dict[str, str] = {}
    if any(one.arg is None for one in call.node.keywords):
        return None
    for one in keywords:
        given = call.given(one)
        if given is None:
            continue
        node = resolve(call.sources, Expression(call.syntax, given.value)).node
        several = node.elts if isinstance(node, (ast.Tuple, ast.List)) else [node]
        for each in several:
            if not isinstance(each, ast.Constant) or not isinstance(each.value, str):
                return None
            found[each.value] = one
    return found


def _written(failure: Failure, sources: Library) -> Expression | None:
    """Where the name is written: in the failing call, else in what asks for a barrier."""
    syntax = syntax_of(sources, failure.place)
    node = syntax.at(failure.place) if syntax is not None and failure.place is not None else None
    places = [Expression(syntax, node)] if syntax is not None and node is not None else []
    places += [one for ref in failure.refs if (one := scratch_type(failure, sources, ref))]
    for place in places:
        found = [
            each
            for each in ast.walk(place.node)
            if isinstance(each, ast.Constant) and each.value == _wanted(failure)
        ]
        if found:
            return Expression(place.syntax, found[0]) if len(found) == 1 else None
    return None


def _causes(call: KernelCall, names: dict[str, str]) -> Iterator[Label]:
    for one in dict.fromkeys(names.values()):
        span = call.span(one)
        if span is not None and span.start_line == span.end_line:
            yield Label(span, "the names there are", "cause")
