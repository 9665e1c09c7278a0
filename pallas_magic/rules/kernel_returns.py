"""# PM210: a kernel that returns a value

## What it means
The kernel function returns something. A kernel stores its results through the
refs of its outputs and returns nothing.

## Why the hardware says no
It does not: a kernel runs once for each step of the grid, on memory that the
call provides, and there is nobody to return to.

## Fix
Store the value through the ref of the output, and drop the `return`. With
`jax.jit` or `jax.vmap` in mind it is easily written by habit.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def add(x_ref, y_ref, o_ref):
    total = x_ref[...] + y_ref[...]
    o_ref[...] = total
    return total


fn = pl.pallas_call(add, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)] * 2
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def add(x_ref, y_ref, o_ref):
    total = x_ref[...] + y_ref[...]
    o_ref[...] = total


fn = pl.pallas_call(add, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)] * 2
```

## Fix safety
A value that is stored already, or a plain one, is dropped: no caller ever got
it. A value that is computed in the `return` is stored through the only output
if nothing else is. Both are safe if the kernel then lowers.

## References
- Pallas documentation, "Pallas quickstart".
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure, Ref
from pallas_magic.report import Diagnostic, TextEdit
from pallas_magic.rules._memory.layout import as_lines, can_take_lines
from pallas_magic.rules._specs.kernels import KernelText, kernel_text
from pallas_magic.rules._specs.wording import diagnostic
from pallas_magic.source.document import Library
from pallas_magic.source.scopes import own_nodes
from pallas_magic.source.syntax import start_of

code = "PM210"
name = "kernel-returns"

_RAISED_IN = "jax.pallas.pallas_call._trace_kernel_to_jaxpr"
_TEXT = "should return None"
_INERT = (ast.Name, ast.Constant, ast.Tuple, ast.List, ast.Attribute, ast.Load)


def match(failure: Failure) -> bool:
    return failure.raised_in == _RAISED_IN and _TEXT in failure.text


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    kernel = kernel_text(failure, sources)
    spans = [kernel.syntax.span(one) for one in _returned(kernel)] if kernel is not None else []
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=f"`{failure.kernel}` returns a value; a kernel stores its results through its refs",
        primary=spans[0] if spans else None,
        mark="returned",
        effects=spans,
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    kernel = kernel_text(failure, sources)
    returns = _returns(kernel) if kernel is not None else []
    if kernel is None or not returns:
        return
    output = _unused_output(failure, kernel)
    if output is not None and len(returns) == 1 and _is_one_value(returns[0].value):
        if stored := _stored(kernel, returns[0], output):
            yield Candidate(f"store it through `{output}`", (stored,), mechanical=True)
        return
    edits = [_dropped(kernel, one) for one in returns]
    known = tuple(edit for edit in edits if edit is not None)
    if output is None and len(known) == len(edits):
        yield Candidate("return nothing", known, mechanical=True)


def _returns(kernel: KernelText | None) -> list[ast.Return]:
    """Every `return` of the kernel itself that has a value."""
    if kernel is None or isinstance(kernel.node, ast.Lambda):
        return []
    returns = [node for node in own_nodes(kernel.node) if isinstance(node, ast.Return)]
    in_order = sorted(returns, key=start_of)
    return [node for node in in_order if node.value is not None and not _is_none(node.value)]


def _returned(kernel: KernelText) -> list[ast.Return | ast.expr]:
    if isinstance(kernel.node, ast.Lambda):
        return [kernel.node.body]
    return list(_returns(kernel))


def _unused_output(failure: Failure, kernel: KernelText) -> str | None:
    """The kernel's name of its only output, if its text never mentions it."""
    outputs = [ref for ref in failure.refs if ref.role == "output"]
    names = [_parameter(ref, kernel) for ref in outputs]
    unused = [name for name in names if name and not kernel.reads(name)]
    return unused[0] if len(outputs) == 1 and unused else None


def _parameter(ref: Ref, kernel: KernelText) -> str:
    named = [one.arg for one in kernel.parameters]
    return ref.name if ref.name in named else ""


def _stored(kernel: KernelText, one: ast.Return, output: str) -> TextEdit | None:
    assert one.value is not None
    return kernel.syntax.replace_between(start_of(one), start_of(one.value), f"{output}[...] = ")


def _dropped(kernel: KernelText, one: ast.Return) -> TextEdit | None:
    """An edit that returns nothing; what the value does besides being one is kept."""
    syntax = kernel.syntax
    assert one.value is not None
    if not all(isinstance(node, _INERT) for node in ast.walk(one.value)):
        return syntax.replace_between(start_of(one), start_of(one.value), "")
    block = getattr(syntax.parent(one), "body", [])
    if one is kernel.body[-1] and len(block) > 1 and can_take_lines(syntax, one):
        return _without_line(kernel, one)
    return as_lines(syntax, one, ["return"])


def _without_line(kernel: KernelText, one: ast.Return) -> TextEdit | None:
    """An edit that takes the last statement away with the line break before it."""
    before = kernel.body[-2]
    assert isinstance(before, ast.stmt)
    start = (before.end_lineno or before.lineno, before.end_col_offset or 0)
    end = (one.end_lineno or one.lineno, one.end_col_offset or 0)
    between = kernel.syntax.text_between(start, start_of(one))
    if between.strip() or kernel.syntax.line_after(*end).strip():
        return as_lines(kernel.syntax, one, ["return"])
    return kernel.syntax.replace_between(start, end, "")


def _is_one_value(node: ast.expr | None) -> bool:
    return node is not None and not isinstance(node, (ast.Tuple, ast.List, ast.Dict))


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
