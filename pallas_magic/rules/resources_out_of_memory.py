"""# PM801: on-chip memory runs out

## What it means
The blocks, scratch buffers and scalars of the kernel do not fit into the
memory they were put in. The message says what the largest of them takes, how
much there is, and by how much it is too much; the marks show the specs.

## Why the hardware says no
A TPU core computes on VMEM, 16 to 128 MiB of it, and on SMEM, about 1 MiB of
scalars; nothing is moved out of them to make room. A block of an operand
lies there whole. Where a grid walks over blocks there are two of each, so
that the next is fetched while this one is used. SMEM pads the last axis to
128 words: `int32[20000, 8]` takes 16 times its own size.

## Fix
Make the largest block smaller, or the number of its copies:

- give the call a `grid` and its operands `BlockSpec`s that cut them into
  blocks; without a grid every operand is one block;
- cut the axis that is summed over too, and keep the sum in a scratch buffer;
- `pl.BlockSpec(..., pipeline_mode=pl.Buffered(1))` keeps one copy, for an
  operand that changes seldom;
- flatten a table in SMEM to one axis;
- a kernel may take 16 MiB of VMEM unless it asks for more: raise
  `pltpu.CompilerParams(vmem_limit_bytes=...)` up to what the chip has.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def double(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2


fn = pl.pallas_call(double, out_shape=jax.ShapeDtypeStruct((16384, 4096), jnp.float32))
args = [jax.ShapeDtypeStruct((16384, 4096), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def double(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2


block = pl.BlockSpec((512, 1024), lambda i, j: (i, j))
fn = pl.pallas_call(
    double,
    grid=(32, 4),
    in_specs=[block],
    out_specs=block,
    out_shape=jax.ShapeDtypeStruct((16384, 4096), jnp.float32),
)
args = [jax.ShapeDtypeStruct((16384, 4096), jnp.float32)]
```

## Fix safety
There is no ready fix: how to cut the work is a choice.

## References
- Pallas documentation, "Grids and BlockSpecs" and "Pipelining".
- XLA's page on E1001: https://openxla.org/xla/errors/error_1001
"""

from __future__ import annotations

from collections.abc import Iterable

from pallas_magic.failure import Buffer, Candidate, Failure, MemoryUse
from pallas_magic.report import Diagnostic, Span
from pallas_magic.rules._resources.wording import (
    amount_words,
    buffer_name,
    buffer_words,
    cause_labels,
    ref_span,
    shape_words,
)
from pallas_magic.sizes import size_words
from pallas_magic.source.document import Library

code = "PM801"
name = "out-of-memory"

_LANES = 128
_BE = {"bytes": "is", "columns": "are"}


def match(failure: Failure) -> bool:
    return failure.memory is not None


def key(failure: Failure) -> object:
    return failure.memory.space if failure.memory is not None else None


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    memory = failure.memory
    assert memory is not None
    largest = max(memory.buffers, key=lambda buffer: buffer.size, default=None)
    primary = sources.span(failure.place)
    if primary is None and failure.ref is not None:
        primary = ref_span(failure, failure.ref, sources)
    primary = primary or sources.span(failure.call.build) or _used(failure, sources)
    return Diagnostic(
        code=code,
        name=name,
        severity="error",
        stage=failure.stage,
        targets=(failure.target.name,),
        kernel=failure.kernel,
        message=_message(failure, memory, largest),
        primary=primary,
        primary_text=buffer_words(largest) if largest is not None else "does not fit",
        labels=cause_labels(failure, sources, primary),
        notes=tuple(_notes(failure, memory, largest)),
        original=f"{failure.error_type}: {failure.text}",
    )


def fixes(failure: Failure, sources: Library) -> Iterable[Candidate]:
    return ()


def _used(failure: Failure, sources: Library) -> Span | None:
    """The first use of the buffer, where nothing is known of how the call was built."""
    spans = (sources.span(access.place) for access in failure.accesses)
    return next((span for span in spans if span is not None), None)


def _message(failure: Failure, memory: MemoryUse, largest: Buffer | None) -> str:
    space = memory.space.upper()
    there_is = f"the {amount_words(memory.limit, memory.unit)} there {_BE[memory.unit]}"
    if memory.chip:
        there_is = f"its limit of {size_words(memory.limit)}"
    used, who = memory.used, f"`{failure.kernel}`"
    if not used and largest is not None:
        used, who = largest.size, buffer_name(largest)
    if not used:
        return f"{who} takes more {space} than {there_is}"
    taken = f"{who} takes {amount_words(used, memory.unit)} of {space}"
    return f"{taken}, {amount_words(used - memory.limit, memory.unit)} more than {there_is}"


def _notes(failure: Failure, memory: MemoryUse, largest: Buffer | None) -> Iterable[str]:
    if memory.chip and memory.space == "vmem":
        yield (
            f"{failure.target.title} has {size_words(memory.chip)}:"
            " `pltpu.CompilerParams(vmem_limit_bytes=...)` raises a kernel's limit"
        )
    if largest is None or largest.ref is None:
        return
    in_all = f" ({size_words(largest.size)} in all)" if largest.copies > 1 else ""
    if memory.used:
        yield f"the largest part is {buffer_name(largest)}: {buffer_words(largest)}{in_all}"
    is_block = largest.ref.role in ("input", "output")
    if is_block and not failure.call.has_grid:
        yield f"there is no grid: {shape_words(largest)} is one block"
    if memory.space == "smem" and len(largest.shape) > 1 and largest.shape[-1] < _LANES:
        yield f"SMEM pads the last axis to {_LANES} words: {largest.shape[-1]} take as much"
