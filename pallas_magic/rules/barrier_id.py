"""# PM107: a barrier without a collective id, or an id without a barrier

## What it means
A kernel takes the barrier semaphore with `pltpu.get_barrier_semaphore()` and its
call gives no `collective_id`; or the call gives one and the kernel never takes
the semaphore.

## Why the hardware says no
The barrier semaphore is one that all chips find in the same place, and kernels
share a few of them by number. The compiler has to know which number this
kernel has, and takes a number that is not used for a mistake.

## Fix
- with the barrier: `compiler_params=pltpu.CompilerParams(collective_id=0)`, and
  another number for another kernel that may run at the same time;
- without it: leave `collective_id` out.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def double(x_ref, o_ref):
    barrier = pltpu.get_barrier_semaphore()
    pl.semaphore_signal(barrier, 1)
    pl.semaphore_wait(barrier, 1)
    o_ref[...] = x_ref[...] * 2.0


fn = pl.pallas_call(double, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def double(x_ref, o_ref):
    barrier = pltpu.get_barrier_semaphore()
    pl.semaphore_signal(barrier, 1)
    pl.semaphore_wait(barrier, 1)
    o_ref[...] = x_ref[...] * 2.0


fn = pl.pallas_call(
    double,
    out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
    compiler_params=pltpu.CompilerParams(collective_id=0),
)
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Fix safety
A number is right as long as no other kernel with a barrier runs at the same time
under it, which one call does not tell: it is not called safe. An id that no
barrier uses changes nothing, and to leave it out is safe.

## References
- "Distributed computing in Pallas for TPUs": the barrier semaphore.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic, Label, Span, TextEdit
from pallas_magic.rules._specs.kernels import kernel_text
from pallas_magic.rules._specs.wording import diagnostic
from pallas_magic.source.calls import add_keyword, keyword, remove_keyword
from pallas_magic.source.document import Library
from pallas_magic.source.names import spelled
from pallas_magic.source.resolve import Expression, resolve
from pallas_magic.source.specs import spec_call
from pallas_magic.source.syntax import Syntax, identifier, syntax_of

code = "PM107"
name = "barrier-id"

_MISSING = "collective_id has to be specified when using a custom barrier"
_UNUSED = "collective_id has to be unspecified or None when not using a custom barrier"
_NUMBER = "another kernel with a barrier that runs at the same time needs another number"
_LEFT_OUT = "no barrier uses the number"


def match(failure: Failure) -> bool:
    return failure.text.startswith((_MISSING, _UNUSED))


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    params, build = _params(failure, sources), sources.span(failure.call.build)
    if failure.text.startswith(_UNUSED):
        message = f"`{failure.kernel}` has a collective id and takes no barrier semaphore"
        mark, primary, causes = "no barrier uses it", None, []
        given = keyword(params[1], "collective_id") if params is not None else None
        if params is not None and given is not None:
            primary = params[0].span(given)
    else:
        primary = _barrier(failure, sources)
        message = f"`{failure.kernel}` takes the barrier semaphore, and its call gives no"
        message += " `collective_id`"
        mark = "needs a collective id"
        single = build is not None and build.start_line == build.end_line
        causes = [Label(build, "gives none", "cause")] if build is not None and single else []
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=message,
        primary=primary,
        mark=mark,
        causes=causes,
        notes=("kernels share barrier semaphores by number, the `collective_id`",),
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    params, call = _params(failure, sources), spec_call(sources, failure.call)
    if failure.text.startswith(_UNUSED):
        given = keyword(params[1], "collective_id") if params is not None else None
        if params is not None and given is not None:
            edit = remove_keyword(*params, given)
            if edit is not None:
                title = "leave `collective_id` out"
                yield Candidate(title, (edit,), why=_LEFT_OUT, shown_by="nature")
        return
    if params is not None:
        edit = add_keyword(*params, "collective_id=0")
    elif call is not None and keyword(call.build, "compiler_params") is None:
        edit = _with_params(sources, call.build_syntax, call.build)
    else:
        return
    if edit is not None:
        title = "give it `collective_id=0`"
        yield Candidate(title, (edit,), "unsafe", why=_NUMBER, shown_by="nature")


def _params(failure: Failure, sources: Library) -> tuple[Syntax, ast.Call] | None:
    """``pltpu.CompilerParams(...)`` as the call has it."""
    call = spec_call(sources, failure.call)
    given = keyword(call.build, "compiler_params") if call is not None else None
    if call is None or given is None:
        return None
    found = resolve(sources, Expression(call.build_syntax, given.value))
    if not isinstance(found.node, ast.Call) or identifier(found.node.func) != "CompilerParams":
        return None
    return found.syntax, found.node


def _with_params(sources: Library, syntax: Syntax, build: ast.Call) -> TextEdit | None:
    function = spelled(sources, syntax.document, "jax.experimental.pallas.tpu", "CompilerParams")
    if function is None:
        return None
    return add_keyword(syntax, build, f"compiler_params={function}(collective_id=0)")


def _barrier(failure: Failure, sources: Library) -> Span | None:
    """Where the kernel takes the barrier semaphore: in its own text, else the only place."""
    kernel = kernel_text(failure, sources)
    syntax = syntax_of(sources, failure.call.kernel)
    if syntax is None:
        return None
    own = list(_takers(kernel.nodes())) if kernel is not None else []
    found = own or list(_takers(ast.walk(syntax.module)))
    return syntax.span(found[0]) if own or len(found) == 1 else None


def _takers(nodes: Iterator[ast.AST]) -> Iterator[ast.Call]:
    for node in nodes:
        if isinstance(node, ast.Call) and identifier(node.func) == "get_barrier_semaphore":
            yield node
