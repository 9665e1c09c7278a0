"""# PM904: a name that Pallas does not have any more

## What it means
The code uses a function, class or constant of Pallas that left it, or goes by
another name or in another module now. Pallas is young and moves: code written
for one release of JAX often names what a later one does not have.

## Why the hardware says no
It does not: Python stops at the name, before there is a kernel.

## Fix
Write what stands for it today. Most are new names of the same thing:

| then | now |
|---|---|
| `pltpu.TPUCompilerParams`, `plgpu.GPUCompilerParams`, `plgpu.TritonCompilerParams` | `CompilerParams` of the same module |
| `pltpu.TPUMemorySpace`, `plgpu.GPUMemorySpace` | `MemorySpace` of the same module |
| `pltpu.ANY`, `pltpu.MemorySpace.ANY` | `pl.ANY` |
| `pltpu.delay`, `pltpu.run_scoped`, `pltpu.semaphore_signal`, `pltpu.semaphore_wait` | the same in `pl` |
| `pl.load(ref, idx)`, `pl.store(ref, idx, value)` | `ref[idx]`, `ref[idx] = value` |
| `pl.load(ref, idx, mask=m)` | `pltpu.load(ref.at[idx], mask=m)`, on GPUs that of `triton` |
| `pl.atomic_add` and its like, `pl.max_contiguous` | the same in `pallas.triton` |
| `pltpu.repeat(x, n, axis)` | `jnp.concatenate([x] * n, axis)` |
| `jax.experimental.pallas.gpu` | `jax.experimental.pallas.triton` |

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def double(x_ref, o_ref):
    x = pl.load(x_ref, (slice(None), slice(None)))
    o_ref[...] = x * 2.0


fn = pl.pallas_call(double, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def double(x_ref, o_ref):
    x = x_ref[...]
    o_ref[...] = x * 2.0


fn = pl.pallas_call(double, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Fix safety
A fix writes what the running JAX has and what means the same; it mends every
such name of the cell or file at once, but for those that stand where the code
itself asks for the release (`try`, `hasattr`, `__version__`). Where the present
way differs in some case, the fix is not called safe and says in which.

## References
- The change log of Pallas in JAX's documentation, and the deprecations in that of JAX.
"""  # noqa: E501 (a row of a table is one line)

from __future__ import annotations

from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic, Span
from pallas_magic.rules._drift.importing import alias_of, alias_place, import_at
from pallas_magic.rules._drift.mending import Mender, is_gone
from pallas_magic.rules._drift.names import since
from pallas_magic.rules._drift.proposals import for_import, for_uses
from pallas_magic.rules._drift.wording import instead, name_in_text, told
from pallas_magic.rules._specs.wording import diagnostic
from pallas_magic.source.document import Library
from pallas_magic.source.syntax import Syntax, syntax_of

code = "PM904"
name = "removed-names"

_MOST_LABELS = 12


def match(failure: Failure) -> bool:
    absent = failure.absent
    by_name = absent is not None and absent.kind in ("name", "import", "module")
    return absent is not None and by_name and is_gone(absent.dotted)


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    assert failure.absent is not None
    dotted, syntax = failure.absent.dotted, syntax_of(sources, failure.absent.place)
    text = name_in_text(failure, sources)
    mark = f"gone since JAX {since(dotted)}"
    return told(
        failure,
        diagnostic(
            failure,
            sources,
            code=code,
            name=name,
            message=f"`{text}` is {mark}; {instead(dotted, syntax, sources)}",
            primary=_span(failure, sources),
            mark=mark,
            effects=_others(failure, sources, syntax),
        ),
    )


def key(failure: Failure) -> object:
    return failure.absent


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    assert failure.absent is not None
    syntax = syntax_of(sources, failure.absent.place)
    if syntax is None:
        return
    if failure.absent.kind == "name":
        yield from for_uses(failure, sources, syntax)
    else:
        yield from for_import(failure, sources, syntax)


def _span(failure: Failure, sources: Library) -> Span | None:
    """The name: in an import statement, only it."""
    absent = failure.absent
    syntax = syntax_of(sources, absent.place) if absent is not None else None
    if absent is None or syntax is None or absent.kind == "name":
        return sources.span(failure.place)
    statement = import_at(syntax, absent.place)
    alias = alias_of(statement, absent.dotted) if statement is not None else None
    return sources.span(alias_place(syntax, alias) if alias is not None else failure.place)


def _others(failure: Failure, sources: Library, syntax: Syntax | None) -> list[Span]:
    """Further uses of names that are gone the same way, those of the same name only."""
    absent = failure.absent
    if syntax is None or absent is None or absent.kind != "name":
        return []
    mender = Mender(sources, syntax, failure.target.family == "gpu")
    same = [one.node for one in mender.uses(syntax.module) if one.dotted == absent.dotted]
    spans = [syntax.span(node) for node in same]
    return [span for span in spans if span is not None][:_MOST_LABELS]
