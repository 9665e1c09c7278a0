"""# PM705: a reduction across warps without memory for it

## What it means
The reduced elements lie in several of a warpgroup's 4 warps, which can put their
parts together through shared memory only. There is no such memory set aside, or
less than this reduction takes.

## Why the hardware says no
The threads of one warp can read each other's registers, those of different warps
cannot. Each warp writes its part to shared memory, and reads those of the others.

## Fix
- `plgpu.CompilerParams(reduction_scratch_bytes=...)` says how much is set aside.
- An array of more than two axes: loop over the leading ones, and reduce a matrix
  at a time.
- Reduce along an axis that lies within a warp, such as the last one of an array in
  the layout `plgpu.Layout.WGMMA`.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu


def sums(x_gmem, o_gmem):
    x = plgpu.load(x_gmem, layout=plgpu.Layout.WGMMA)
    o_gmem[...] = jnp.sum(x, axis=0)


fn = plgpu.kernel(
    sums,
    out_type=jax.ShapeDtypeStruct((128,), jnp.float32),
    compiler_params=plgpu.CompilerParams(reduction_scratch_bytes=512),
)
args = [jax.ShapeDtypeStruct((128, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu


def sums(x_gmem, o_gmem):
    x = plgpu.load(x_gmem, layout=plgpu.Layout.WGMMA)
    o_gmem[...] = jnp.sum(x, axis=0)


fn = plgpu.kernel(
    sums,
    out_type=jax.ShapeDtypeStruct((128,), jnp.float32),
    compiler_params=plgpu.CompilerParams(reduction_scratch_bytes=1024),
)
args = [jax.ShapeDtypeStruct((128, 128), jnp.float32)]
```

## Fix safety
Memory for a reduction changes no value. How to loop over the matrices of a larger
array is for the author to say.

## References
- `plgpu.CompilerParams`, `reduction_scratch_bytes`.
- PM704 (no layout for an array).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic, Label
from pallas_magic.rules._gpu.kernels import KernelCall, kernel_call
from pallas_magic.rules._gpu.wording import type_words
from pallas_magic.rules._operations.wording import what_was_written
from pallas_magic.rules._specs.wording import diagnostic
from pallas_magic.source.calls import add_keyword, keyword
from pallas_magic.source.document import Library
from pallas_magic.source.resolve import Expression, resolve

code = "PM705"
name = "cross-warp-reduction"

_NONE = "scratch must be provided when cross-warp reduction is required"
_LESS = re.compile(
    r"Required reduction scratch size \((\d+) bytes\) is larger than the available "
    r"scratch size \((\d+) bytes\)"
)
_PARAMETER = "reduction_scratch_bytes"


def match(failure: Failure) -> bool:
    return failure.text.startswith(_NONE) or _LESS.match(failure.text) is not None


def key(failure: Failure) -> object:
    return failure.place


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    written, less = what_was_written(failure, sources), _LESS.match(failure.text)
    of = failure.operation.inputs[0] if failure.operation.inputs else None
    words = type_words(of.dtype, of.shape) if of is not None else "an array"
    message = f"{written} reduces {words} across warps, for which there is no shared memory"
    if less is not None:
        needed, there = less.groups()
        message = (
            f"{written} reduces {words} across warps, which takes {needed} bytes of shared"
            f" memory; {there} are set aside"
        )
    given = _given(failure, sources) if less is not None else None
    span = given.syntax.span(given.node) if given is not None else None
    of_many = of is not None and len(of.shape) > 2
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=message,
        primary=None,
        mark="across warps",
        causes=[Label(span, "bytes set aside", "cause")] if span is not None else [],
        notes=["a loop over the leading axis reduces a matrix at a time"] if of_many else [],
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    less, call = _LESS.match(failure.text), kernel_call(failure, sources)
    if less is None or call is None:
        return
    needed = less[1]
    params = _params(call)
    if params is None or not isinstance(params.node, ast.Call):
        return
    given = keyword(params.node, _PARAMETER)
    if given is not None:
        edit = params.syntax.replace(given.value, needed)
    else:
        edit = add_keyword(params.syntax, params.node, f"{_PARAMETER}={needed}")
    if edit is not None:
        yield Candidate(f"set {needed} bytes aside", (edit,), mechanical=True)


def _params(call: KernelCall) -> Expression | None:
    given = call.given("compiler_params")
    return resolve(call.sources, Expression(call.syntax, given.value)) if given else None


def _given(failure: Failure, sources: Library) -> Expression | None:
    """The number of bytes as it is written."""
    call = kernel_call(failure, sources)
    params = _params(call) if call is not None else None
    if params is None or not isinstance(params.node, ast.Call):
        return None
    given = keyword(params.node, _PARAMETER)
    return Expression(params.syntax, given.value) if given is not None else None
