"""# PM706: tensor memory read or written like an array

## What it means
The kernel indexes a ref in tensor memory, `acc_tmem[...]`, to load or to store it.
Tensor memory is reached by calls only: `plgpu.async_load_tmem` and
`plgpu.async_store_tmem`.

## Why the hardware says no
Tensor memory (TMEM) belongs to the tensor cores of a Blackwell GPU. Warps have no
loads and stores for it; they have copies between it and their registers that are
started, go on beside the program, and have to be waited for.

## Fix
- Load: `plgpu.async_load_tmem(acc_tmem)`, of a part `acc_tmem.at[:, 0:64]`.
- Store: `plgpu.async_store_tmem(acc_tmem, x)`, then `plgpu.commit_tmem()` before
  anything reads it. What is stored needs a layout that tensor memory has, such as
  `plgpu.Layout.TCGEN05`.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu


def doubled(x_gmem, o_gmem, acc_tmem):
    plgpu.async_store_tmem(acc_tmem, x_gmem[...])
    plgpu.commit_tmem()
    o_gmem[...] = acc_tmem[...] * 2.0


fn = plgpu.kernel(
    doubled,
    out_type=jax.ShapeDtypeStruct((128, 128), jnp.float32),
    scratch_types=[plgpu.TMEM((128, 128), jnp.float32)],
)
args = [jax.ShapeDtypeStruct((128, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu


def doubled(x_gmem, o_gmem, acc_tmem):
    plgpu.async_store_tmem(acc_tmem, plgpu.load(x_gmem, layout=plgpu.Layout.TCGEN05))
    plgpu.commit_tmem()
    o_gmem[...] = plgpu.async_load_tmem(acc_tmem) * 2.0


fn = plgpu.kernel(
    doubled,
    out_type=jax.ShapeDtypeStruct((128, 128), jnp.float32),
    scratch_types=[plgpu.TMEM((128, 128), jnp.float32)],
)
args = [jax.ShapeDtypeStruct((128, 128), jnp.float32)]
```

## Fix safety
The same values go the same way. Where JAX interprets kernels with tensor memory,
both are compared; a kernel that was written with indices has nothing that waits,
and `commit_tmem` is put behind every store.

## References
- JAX documentation, "Writing Mosaic GPU kernels with Pallas": tensor memory.
- Tensor memory is of Blackwell GPUs: see PM707 for H100 and A100.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pallas_magic.failure import Access, Candidate, Failure
from pallas_magic.report import Diagnostic, TextEdit
from pallas_magic.rules._gpu.calls import PALLAS_GPU
from pallas_magic.rules._gpu.kernels import scratch_label
from pallas_magic.rules._gpu.wording import type_words
from pallas_magic.rules._memory.assignment import all_or_none
from pallas_magic.rules._memory.layout import as_lines
from pallas_magic.rules._specs.wording import diagnostic
from pallas_magic.source.document import Library
from pallas_magic.source.names import spelled
from pallas_magic.source.syntax import Syntax, syntax_of

code = "PM706"
name = "tmem-access"

_TEXTS = (
    "Expected the same number of in_tmem_layouts",
    "Loads from TMEM are asynchronous",
    "Stores to TMEM are asynchronous",
)


def match(failure: Failure) -> bool:
    ref = failure.ref
    in_tmem = ref is not None and ref.memory_space == "tmem"
    return in_tmem and failure.access is not None and failure.text.startswith(_TEXTS)


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    ref = failure.ref
    assert ref is not None
    # JAX names any one of them.
    access, *others = failure.accesses
    moved = f"this {access.kind}s {type_words(access.dtype, access.shape)}"
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=f"`{ref.name}` is in TMEM, which has no loads and stores of its own; {moved}",
        primary=sources.span(access.place),
        mark="TMEM by index",
        effects=[sources.span(one.place) for one in others],
        causes=[scratch_label(failure, sources, ref, f"puts `{ref.name}` in TMEM")],
        notes=["copies between TMEM and registers are started, and waited for"],
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    made: list[TextEdit | None] = []
    for access in failure.accesses:
        made += _edits(access, sources)
    edits = all_or_none(made)
    if edits:
        kinds = sorted({access.kind for access in failure.accesses})
        calls = " and ".join(f"`async_{kind}_tmem`" for kind in kinds)
        yield Candidate(f"use {calls}", edits)


def _edits(access: Access, sources: Library) -> list[TextEdit | None]:
    syntax = syntax_of(sources, access.place)
    node = syntax.at(access.place) if syntax is not None and access.place is not None else None
    if syntax is None or not isinstance(node, ast.Subscript):
        return [None]
    ref = _part(syntax, node)
    load = spelled(sources, syntax.document, PALLAS_GPU, "async_load_tmem")
    store = spelled(sources, syntax.document, PALLAS_GPU, "async_store_tmem")
    commit = spelled(sources, syntax.document, PALLAS_GPU, "commit_tmem")
    if access.kind == "load":
        return [syntax.replace(node, f"{load}({ref})") if load else None]
    statement = syntax.parent(node)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return [None]
    if store is None or commit is None:
        return [None]
    lines = [f"{store}({ref}, {syntax.text(statement.value)})", f"{commit}()"]
    return [as_lines(syntax, statement, lines)]


def _part(syntax: Syntax, node: ast.Subscript) -> str:
    """The ref that an index selects: ``acc`` for ``acc[...]``, else ``acc.at[...]``."""
    index = node.slice
    if isinstance(index, ast.Constant) and index.value is ...:
        return syntax.text(node.value)
    return f"{syntax.text(node.value)}.at[{syntax.text(index)}]"
