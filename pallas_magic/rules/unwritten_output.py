"""# PM217: an output that the kernel never writes

## What it means
The kernel has a ref for this output and never stores to it, on no path. The
array that the call returns then holds what lay in that memory before. It is a
warning: the kernel lowers, and runs.

## Why the hardware says no
It does not. Memory for a result is set aside and copied out, written or not;
interpret mode shows NaN or zeros there, a chip anything.

## Fix
Store the result: `o_ref[...] = value`. A name that is assigned without `[...]` only
names the value; it stores nothing. Where an output is not needed, leave it out of
`out_shape` and of the kernel's parameters.

## Example
Warned of:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def double(x_ref, o_ref):
    o_ref = x_ref[...] * 2.0


fn = pl.pallas_call(double, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def double(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0


fn = pl.pallas_call(double, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Fix safety
`o_ref = value` becomes `o_ref[...] = value`. It changes what the call returns, which
is what is meant, and can be compared with nothing: it is not called safe.

## References
- Pallas documentation, "Pallas quickstart": writing to refs.
- PM210 (a kernel that returns its result).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic, Label, Span
from pallas_magic.rules._specs.kernels import KernelText, kernel_text
from pallas_magic.rules._specs.wording import operand_name
from pallas_magic.source.document import Library, Place
from pallas_magic.source.scopes import own_nodes
from pallas_magic.source.syntax import end_of

code = "PM217"
name = "unwritten-output"

_STORES = "the result changes, which is what is meant"
_BEFORE = "what the call returns there is what lay in that memory before"


def match(failure: Failure) -> bool:
    return failure.error_type == "UnwrittenOutput" and not failure.raised_in


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    kernel = kernel_text(failure, sources)
    names = _assigned(kernel, failure) if kernel is not None else []
    primary = _parameter(kernel, failure) or sources.span(failure.call.build)
    spans = [kernel.syntax.span(one) for one in names] if kernel is not None else []
    return Diagnostic(
        code=code,
        name=name,
        severity="warning",
        stage=failure.stage,
        targets=(failure.target.name,),
        kernel=failure.kernel,
        message=f"{operand_name(failure.ref)} is never written; {_BEFORE}",
        primary=primary,
        primary_text="never written",
        labels=tuple(
            Label(span, "names a value, stores nothing", "cause")
            for span in spans
            if span is not None
        ),
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    kernel = kernel_text(failure, sources)
    names = _assigned(kernel, failure) if kernel is not None else []
    if kernel is None or len(names) != 1 or kernel.reads(names[0].id):
        return
    edit = kernel.syntax.insert(end_of(names[0]), "[...]")
    if edit is not None:
        title = f"store to `{names[0].id}[...]`"
        yield Candidate(title, (edit,), "unsafe", why=_STORES, shown_by="nature")


def _assigned(kernel: KernelText, failure: Failure) -> list[ast.Name]:
    """Where the kernel assigns to the name of the ref itself."""
    assert failure.ref is not None
    return [
        target
        for node in own_nodes(kernel.node)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name) and target.id == failure.ref.name
    ]


def _parameter(kernel: KernelText | None, failure: Failure) -> Span | None:
    """The kernel's parameter of that output."""
    assert failure.ref is not None
    if kernel is None:
        return None
    spec = kernel.node.args
    every = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]
    found = [one for one in every if one.arg == failure.ref.name]
    if len(found) != 1:
        return None
    one = found[0]
    end = one.col_offset + len(one.arg.encode())
    place = Place(kernel.syntax.document.filename, one.lineno, one.col_offset, one.lineno, end)
    return kernel.syntax.document.span(place)
