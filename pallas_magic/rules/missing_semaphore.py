"""# PM108: a copy without a semaphore

## What it means
A copy is made with `pltpu.make_async_copy` and given no semaphore.

## Why the hardware says no
A DMA engine copies while the program goes on, and tells the end of it on a
semaphore. On the core that runs Pallas kernels a copy has none of its own.

## Fix
- to copy and go on when it is done: `pltpu.sync_copy(source, target)`, which brings
  a semaphore;
- to copy while something else runs: a `pltpu.SemaphoreType.DMA` in `scratch_shapes`,
  one more parameter of the kernel, and that as the third argument of the copy.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def copied(x_hbm, o_ref):
    copy = pltpu.make_async_copy(x_hbm, o_ref)
    copy.start()
    copy.wait()


fn = pl.pallas_call(
    copied,
    out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
    in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
)
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def copied(x_hbm, o_ref):
    pltpu.sync_copy(x_hbm, o_ref)


fn = pl.pallas_call(
    copied,
    out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
    in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
)
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Fix safety
A copy that is started and at once waited for is what `pltpu.sync_copy` does. It is
called safe where interpret mode shows the same values, or where there is no
original program.

## References
- Pallas documentation, "TPU details": `make_async_copy` and `sync_copy`.
- PM106 (semaphores of the wrong type).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic
from pallas_magic.rules._dma.calls import RefCall, copy_call
from pallas_magic.rules._specs.wording import diagnostic
from pallas_magic.source.document import Library
from pallas_magic.source.resolve import bound_name
from pallas_magic.source.syntax import end_of, start_of

code = "PM108"
name = "missing-semaphore"

_LOWERING = ("Local DMA semaphore cannot be None", "DMA semaphore cannot be None")
_TRACING = "make_async_copy() missing 1 required positional argument: 'sem'"


def match(failure: Failure) -> bool:
    return failure.text.startswith(_LOWERING) or failure.text == _TRACING


def key(failure: Failure) -> object:
    """A copy is started and waited for; both say the same of it."""
    return failure.ref, failure.stack


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    call = copy_call(failure, sources)
    ends = call.ends if call is not None else (None, None)
    of = call.text(ends[0], "its source") if call is not None else "its source"
    to = call.text(ends[1], "its target") if call is not None else "its target"
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=f"the copy from {of} to {to} has no semaphore to tell its end",
        primary=call.span() if call is not None else None,
        mark="needs a semaphore",
        notes=("`pltpu.SemaphoreType.DMA` in `scratch_shapes` gives a kernel one for copies",),
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    call = copy_call(failure, sources)
    last = _waited_at_once(call) if call is not None else None
    if call is None or last is None or not isinstance(call.node.func, ast.Attribute):
        return
    source, target = call.ends
    statement = call.syntax.statement(call.node)
    if source is None or target is None or statement is None or len(call.node.args) != 2:
        return
    function = f"{call.syntax.text(call.node.func.value)}.sync_copy"
    text = f"{function}({call.syntax.text(source)}, {call.syntax.text(target)})"
    edit = call.syntax.replace_between(start_of(statement), end_of(last), text)
    if edit is not None:
        yield Candidate(f"copy with `{function}`", (edit,), mechanical=True)


def _waited_at_once(call: RefCall) -> ast.stmt | None:
    """The statement that waits for the copy, if it follows the one that starts it."""
    made = call.syntax.statement(call.node)
    copy = bound_name(call.syntax, call.node)
    function = call.syntax.function(call.node)
    block = getattr(call.syntax.parent(made), "body", None) if made is not None else None
    if not copy or function is None or not isinstance(block, list) or made not in block:
        return None
    at = block.index(made)
    following = block[at + 1 : at + 3]
    reads = [
        one
        for one in ast.walk(function)
        if isinstance(one, ast.Name) and one.id == copy and isinstance(one.ctx, ast.Load)
    ]
    calls = [_method(one, copy) for one in following]
    return following[1] if calls == ["start", "wait"] and len(reads) == 2 else None


def _method(statement: ast.stmt, name: str) -> str:
    """The method without arguments that a statement calls on ``name``."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or call.args or call.keywords:
        return ""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    is_own = isinstance(owner, ast.Name) and owner.id == name
    return call.func.attr if is_own and isinstance(call.func, ast.Attribute) else ""
