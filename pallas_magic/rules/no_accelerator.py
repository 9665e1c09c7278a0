"""# PM901: no accelerator here

## What it means
A Pallas kernel was called where JAX runs on a CPU. A CPU has no compiler for
Pallas kernels; it can only interpret them.

## Why the hardware says no
Pallas compiles through Mosaic for TPUs and NVIDIA GPUs, or through Triton for
GPUs. JAX's rule for the CPU refuses anything but `interpret=True` (JAX
0.12.0.1, `jax/_src/pallas/pallas_call.py`).

## Fix
Ask what you want to know. Whether the kernel is right for a chip: put
`%%pallas_check` on top of the cell, which lowers it for a TPU or GPU without
one and shows interpreted values. What it computes: pass `interpret=True`.

## Example
Fails on a machine without an accelerator:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def double(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0


fn = pl.pallas_call(double, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def double(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0


fn = pl.pallas_call(
    double,
    out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
    interpret=jax.default_backend() == "cpu",
)
```

## Fix safety
`interpret=True` is marked unsafe: it runs the kernel step by step, on a chip
too, and accepts stores and loads that a chip refuses.

## References
JAX's documentation of `pallas_call`, parameter `interpret`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic, TextEdit
from pallas_magic.rules._environment.checks import check_instead, diagnostic
from pallas_magic.source.calls import add_keyword, keyword
from pallas_magic.source.document import Library
from pallas_magic.source.syntax import syntax_of

code = "PM901"
name = "no-accelerator"


def match(failure: Failure) -> bool:
    return failure.text.startswith("Only interpret mode is supported on CPU backend")


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=f"`{failure.kernel}` was called on a CPU, which can only interpret it",
        mark="called here",
        note="JAX sees no TPU or GPU on this machine",
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    yield from check_instead(failure, sources, "check it for a TPU or GPU with `%%pallas_check`")
    if edit := _interpret(failure, sources):
        yield Candidate(
            "run it in interpret mode with `interpret=True`",
            (edit,),
            applicability="unsafe",
            why="interpret mode is slow and accepts what a chip refuses",
            shown_by="interpreting",
        )


def _interpret(failure: Failure, sources: Library) -> TextEdit | None:
    syntax = syntax_of(sources, failure.call.build)
    node = syntax.at(failure.call.build) if syntax is not None and failure.call.build else None
    if syntax is None or not isinstance(node, ast.Call):
        return None
    # `pl.pallas_call(...)(x)` is recorded whole where only its use was seen.
    call = node.func if isinstance(node.func, ast.Call) else node
    if given := keyword(call, "interpret"):
        return syntax.replace(given.value, "True")
    is_build = keyword(call, "out_shape") or keyword(call, "out_type")
    return add_keyword(syntax, call, "interpret=True") if is_build else None
