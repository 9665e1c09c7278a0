"""# PM715: a copy that the TMA unit does not make

## What it means
A copy between global and shared memory is larger along an axis than one copy can be,
its rows are no multiple of 16 bytes, or the part of the buffer that it fills is not
one piece of shared memory.

## Why the hardware says no
The TMA unit copies a box of at most 256 elements along each axis, in units of 16
bytes. In global memory the rows of the box may lie apart, by multiples of 16 bytes; in
shared memory they follow one another.

## Fix
- Copy in parts of 256, each to its part of the buffer, and make the barrier wait for
  all of them: `plgpu.Barrier(num_arrivals=4)`.
- Let buffers have whole rows; where parts of rows are wanted, take a buffer for each.
- Rows of another length: pad the array outside the kernel, or load it into registers,
  `x_gmem[...]`, which has no such limits.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu


def copied(x_gmem, o_gmem, buffer, barrier):
    plgpu.copy_gmem_to_smem(x_gmem, buffer, barrier)
    plgpu.barrier_wait(barrier)
    o_gmem[...] = buffer[...]


fn = plgpu.kernel(
    copied,
    out_type=jax.ShapeDtypeStruct((1024,), jnp.float32),
    scratch_types=[plgpu.SMEM((1024,), jnp.float32), plgpu.Barrier()],
)
args = [jax.ShapeDtypeStruct((1024,), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu


def copied(x_gmem, o_gmem, buffer, barrier):
    for start in range(0, 1024, 256):
        part = pl.ds(start, 256)
        plgpu.copy_gmem_to_smem(x_gmem.at[part], buffer.at[part], barrier)
    plgpu.barrier_wait(barrier)
    o_gmem[...] = buffer[...]


fn = plgpu.kernel(
    copied,
    out_type=jax.ShapeDtypeStruct((1024,), jnp.float32),
    scratch_types=[plgpu.SMEM((1024,), jnp.float32), plgpu.Barrier(num_arrivals=4)],
)
args = [jax.ShapeDtypeStruct((1024,), jnp.float32)]
```

## Fix safety
The parts together are the whole, and the barrier completes when all of them have
arrived. It is proposed for whole refs, and for a barrier that nothing else arrives at.

## References
- CUDA Programming Guide, "Asynchronous data copies using the Tensor Memory
  Accelerator".
- PM502, which is this for a TPU.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure, Ref
from pallas_magic.report import Diagnostic, Span, TextEdit
from pallas_magic.rules._gpu.calls import GpuCall, gpu_call
from pallas_magic.rules._gpu.kernels import scratch_label, scratch_type
from pallas_magic.rules._gpu.wording import quoted
from pallas_magic.rules._memory.assignment import all_or_none
from pallas_magic.rules._memory.scalar_loop import free_names
from pallas_magic.rules._refs.expressions import shape_of
from pallas_magic.rules._specs.wording import counted, diagnostic, shape_text
from pallas_magic.source.calls import add_keyword, argument
from pallas_magic.source.document import Library
from pallas_magic.source.syntax import identifier, start_of, syntax_of

code = "PM715"
name = "gpu-copy-limits"

_COPIES = ("copy_gmem_to_smem", "copy_smem_to_gmem", "async_prefetch")
_MOST = 256
_LARGE = re.compile(r"Async copies only support copying <=256 .*? got (\([\d, ]+\))", re.DOTALL)
_STRIDES = "Async copies require all GMEM strides except the last one to be a multiple of 16"
_ROWS = re.compile(r"Async copies require the number of bits .*? divisible by 128, but got (\d+)")
_PIECE = re.compile(r"async_copy needs the SMEM reference to be contiguous, but got strides")
_BITS = {"64": 64, "32": 32, "16": 16, "8": 8, "4": 4}


def match(failure: Failure) -> bool:
    if failure.target.family != "gpu":
        return False
    texts = (_LARGE, _ROWS, _PIECE)
    known = any(one.match(failure.text) for one in texts)
    return known or failure.text.startswith(_STRIDES)


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    call = _copy(failure, sources)
    message, mark, end = _message(failure, call)
    ref = _ref(call, end)
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=message,
        primary=None if call is not None else _block(failure, sources),
        mark=mark,
        causes=[scratch_label(failure, sources, ref, "its buffer") if end == "smem" else None],
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    found, call = _LARGE.match(failure.text), _copy(failure, sources)
    if found is None or call is None or call.name != "copy_gmem_to_smem":
        return
    shape = shape_of(found[1])
    parts = _parts(shape)
    ends = call.argument("src", 0), call.argument("dst", 1)
    barrier = call.argument("barrier", 2)
    if len(call.node.args) + len(call.node.keywords) != 3:
        return  # what else it is told would be told of each part
    if not parts or not all(_is_whole(call, one, shape) for one in ends):
        return
    asked = scratch_type(failure, sources, call.ref(barrier))
    if asked is None or not isinstance(asked.node, ast.Call) or not _is_alone(call, barrier):
        return
    if identifier(asked.node.func) != "Barrier" or argument(asked.node, "num_arrivals", 0):
        return
    edits = [
        *_loop(call, shape[0], parts),
        add_keyword(asked.syntax, asked.node, f"num_arrivals={parts}"),
    ]
    if known := all_or_none(edits):
        size = shape[0] // parts
        yield Candidate(f"copy in {parts} parts of {size}, all of which are waited for", known)


def _copy(failure: Failure, sources: Library) -> GpuCall | None:
    """The copy, ``None`` where a pipeline makes it."""
    call = gpu_call(failure, sources)
    return call if call is not None and call.name in _COPIES else None


def _message(failure: Failure, call: GpuCall | None) -> tuple[str, str, str]:
    """What is said, the mark, and the memory whose ref is to blame."""
    whole = _ref(call, "gmem")
    subject = f"the copy of {quoted(whole, 'an array')}"
    if found := _LARGE.match(failure.text):
        shape = shape_of(found[1])
        most = max(shape)
        subject = f"a copy of `{failure.kernel}`" if call is None else subject
        is_tiled = whole is not None and len(shape) != len(whole.shape)
        words = "" if is_tiled else f" {shape_text(shape)}:"
        message = f"{subject} has {most} elements along an axis; one copy has at most {_MOST}"
        if words:
            message = f"{subject} is{words} one copy has at most {_MOST} elements along an axis"
        return message, f"{most}, at most {_MOST}", "gmem"
    if found := _ROWS.match(failure.text):
        size = int(found[1]) / 8
        told = counted(int(size), "byte") if size == int(size) else f"{size} bytes"
        return f"{subject} has rows of {told}, no multiple of 16", f"rows of {told}", "gmem"
    if _PIECE.match(failure.text):
        buffer = quoted(_ref(call, "smem"), "the buffer")
        message = f"the copy goes to or from a part of {buffer} that is not one piece of SMEM"
        return message, "not one piece of SMEM", "smem"
    size = _row_bytes(whole)
    if size and size % 16:
        apart = f"{subject} has rows that are {counted(size, 'byte')} apart, no multiple of 16"
        return apart, f"rows {counted(size, 'byte')} apart", "gmem"
    return f"{subject} has rows that are no multiple of 16 bytes apart", "rows apart", "gmem"


def _ref(call: GpuCall | None, space: str) -> Ref | None:
    """The end of a copy that lies in ``space``."""
    if call is None:
        return None
    is_load = call.name == "copy_gmem_to_smem"
    first = (space == "gmem") == is_load
    return call.ref(call.argument("src", 0) if first else call.argument("dst", 1))


def _row_bytes(ref: Ref | None) -> int:
    """How far the rows of a whole array lie apart, 0 where that is not known."""
    if ref is None or not ref.shape:
        return 0
    width = re.search(r"\d+", ref.dtype)
    bits = _BITS.get(width[0], 0) if width is not None else 0
    return ref.shape[-1] * bits // 8


def _block(failure: Failure, sources: Library) -> Span | None:
    """The spec of a pipeline inside the kernel that asks for such a block."""
    found, syntax = _LARGE.match(failure.text), syntax_of(sources, failure.call.kernel)
    if found is None or syntax is None:
        return None
    written = shape_text(shape_of(found[1]))
    specs = [
        node
        for node in ast.walk(syntax.module)
        if isinstance(node, ast.Call) and identifier(node.func) == "BlockSpec"
    ]
    blocks = [(node, argument(node, "block_shape", 0)) for node in specs]
    alike = [node for node, block in blocks if block and syntax.text(block) == written]
    return syntax.span(min(alike, key=start_of)) if alike else None


def _parts(shape: tuple[int, ...]) -> int:
    """In how many equal parts the first axis is copied, 0 where that is no way."""
    if not shape or shape[0] <= _MOST or any(size > _MOST for size in shape[1:]):
        return 0
    fewest = math.ceil(shape[0] / _MOST)
    counts = range(fewest, 4 * fewest + 1)
    return next((one for one in counts if not shape[0] % one and not shape[0] // one % 8), 0)


def _is_whole(call: GpuCall, node: ast.expr | None, shape: tuple[int, ...]) -> bool:
    ref = call.ref(node)
    return isinstance(node, ast.Name) and ref is not None and ref.shape == shape


def _is_alone(call: GpuCall, barrier: ast.expr | None) -> bool:
    """Whether nothing else arrives at the barrier: it is copied with once, else waited for."""
    function = call.syntax.function(call.node)
    if not isinstance(barrier, ast.Name) or function is None:
        return False
    uses = [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and node.id == barrier.id and node is not barrier
    ]
    parents = [call.syntax.parent(node) for node in uses]
    return all(
        isinstance(one, ast.Call) and identifier(one.func) == "barrier_wait" for one in parents
    )


def _loop(call: GpuCall, size: int, parts: int) -> list[TextEdit | None]:
    """The statement of the copy in a loop over the parts."""
    statement, ds = call.syntax.statement(call.node), call.pallas("ds")
    if not isinstance(statement, ast.Expr) or statement.value is not call.node or ds is None:
        return [None]
    if statement.lineno != statement.end_lineno:
        return [None]
    (start,), (part,) = (free_names(call.syntax, call.node, (one,), 1) for one in ("start", "part"))
    step, indent = size // parts, call.syntax.indentation(statement.lineno)
    before = f"for {start} in range(0, {size}, {step}):\n"
    before += f"{indent}    {part} = {ds}({start}, {step})\n{indent}    "
    ends = call.argument("src", 0), call.argument("dst", 1)
    return [
        call.syntax.insert(start_of(statement), before),
        *(call.syntax.replace(one, f"{call.text(one)}.at[{part}]") for one in ends if one),
    ]
