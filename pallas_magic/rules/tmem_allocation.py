"""# PM717: tensor memory that a kernel cannot be given

## What it means
The `plgpu.TMEM` buffers of a kernel have more columns together than there are, or some
of them are collective and others are not.

## Why the hardware says no
A multiprocessor of Blackwell has 512 columns of tensor memory, each of 128 rows of 32
bits. A kernel is given a power of two of them at once, either by its own block or by
the two blocks of a pair together.

## Fix
- Make the accumulators smaller, or use one of them for several products, one after the
  other.
- Let buffers that are not used at the same time share columns: `plgpu.RefUnion`.
- Make all of a kernel's buffers `collective=True`, or none.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu


def copied(x_gmem, o_gmem, one, other):
    plgpu.async_store_tmem(one, x_gmem[...])
    plgpu.commit_tmem()
    o_gmem[...] = plgpu.async_load_tmem(one)


fn = plgpu.kernel(
    copied,
    out_type=jax.ShapeDtypeStruct((128, 128), jnp.float32),
    scratch_types=[
        plgpu.TMEM((128, 128), jnp.float32),
        plgpu.TMEM((128, 512), jnp.float32),
    ],
)
args = [jax.ShapeDtypeStruct((128, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu


def copied(x_gmem, o_gmem, one, other):
    plgpu.async_store_tmem(one, x_gmem[...])
    plgpu.commit_tmem()
    o_gmem[...] = plgpu.async_load_tmem(one)


fn = plgpu.kernel(
    copied,
    out_type=jax.ShapeDtypeStruct((128, 128), jnp.float32),
    scratch_types=[
        plgpu.TMEM((128, 128), jnp.float32),
        plgpu.TMEM((128, 256), jnp.float32),
    ],
)
args = [jax.ShapeDtypeStruct((128, 128), jnp.float32)]
```

## Fix safety
There is no ready fix: which buffer may be smaller is a choice.

## References
- PTX ISA, "Tensor memory".
- PM801 (other memory that runs out), PM706 (reading and writing tensor memory).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from pallas_magic.failure import Candidate, Failure, Ref
from pallas_magic.report import Diagnostic
from pallas_magic.rules._gpu.kernels import scratch_label, scratch_type
from pallas_magic.rules._gpu.wording import quoted, type_words
from pallas_magic.rules._specs.wording import counted, diagnostic
from pallas_magic.source.calls import keyword
from pallas_magic.source.document import Library

code = "PM717"
name = "tmem-allocation"

_COLUMNS = "After rounding up, got "
_LIMIT = "columns, exceeding the limit of 512"
_MIXED = "Can't mix collective and non-collective TMEM allocations within the same kernel"
_MOST = 512
_WIDE = ("float32", "int32", "uint32")


def match(failure: Failure) -> bool:
    if failure.target.family != "gpu":
        return False
    text = failure.text
    return text.startswith(_MIXED) or (text.startswith(_COLUMNS) and _LIMIT in text)


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    refs = [ref for ref in failure.refs if ref.memory_space == "tmem"]
    if failure.text.startswith(_MIXED):
        return _mixed(failure, sources, refs)
    columns = _columns(refs)
    message = f"`{failure.kernel}` asks for more than the {_MOST} columns of TMEM that there are"
    if columns > _MOST:
        message = f"`{failure.kernel}` asks for {columns} columns of TMEM; there are {_MOST}"
    largest = max(refs, key=lambda ref: ref.shape[-1:], default=None)
    asked = scratch_type(failure, sources, largest)
    labels = [
        scratch_label(failure, sources, ref, _words(ref)) for ref in refs if ref is not largest
    ]
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=message,
        primary=asked.syntax.span(asked.node) if asked is not None else None,
        mark=_words(largest) if largest is not None and asked is not None else "too many columns",
        causes=labels,
    )


def fixes(failure: Failure, sources: Library) -> Iterable[Candidate]:
    return ()


def _mixed(failure: Failure, sources: Library, refs: list[Ref]) -> Diagnostic:
    shared = [ref for ref in refs if _is_collective(failure, sources, ref)]
    others = [ref for ref in refs if ref not in shared]
    message = f"`{failure.kernel}` has TMEM that is collective, and TMEM that is not"
    if len(shared) == 1 and len(others) == 1:
        whose = quoted(shared[0], "one buffer"), quoted(others[0], "another")
        message = f"{whose[0]} is collective TMEM, {whose[1]} is not; a kernel has one kind"
    asked = scratch_type(failure, sources, shared[0]) if shared else None
    labels = [scratch_label(failure, sources, ref, "not collective") for ref in others]
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=message,
        primary=asked.syntax.span(asked.node) if asked is not None else None,
        mark="collective" if asked is not None else "two kinds",
        causes=labels if asked is not None else (),
    )


def _is_collective(failure: Failure, sources: Library, ref: Ref) -> bool:
    asked = scratch_type(failure, sources, ref)
    given = (
        keyword(asked.node, "collective") if asked and isinstance(asked.node, ast.Call) else None
    )
    return given is not None and isinstance(given.value, ast.Constant) and given.value.value is True


def _columns(refs: list[Ref]) -> int:
    """The columns of all of them, 0 where some are packed in a way that is not known."""
    if any(ref.dtype not in _WIDE or len(ref.shape) != 2 for ref in refs):
        return 0
    return sum(ref.shape[1] for ref in refs)


def _words(ref: Ref) -> str:
    words = type_words(ref.dtype, ref.shape)
    if ref.dtype not in _WIDE or len(ref.shape) != 2:
        return words
    return f"{words}: {counted(ref.shape[1], 'column')}"
