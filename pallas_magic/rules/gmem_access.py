"""# PM719: GMEM read or written in too small pieces

## What it means
A value is read from a ref in GMEM straight into the layout of a tiled buffer, or
into one that the program asks for; or it is stored from there. In such a layout
neighbouring elements belong to different threads, and what a group of threads moves
together does not fill the 32-byte sectors of which GMEM is made.

## Why the hardware says no
GMEM is read and written in sectors of 32 bytes; a part of one costs as much as the
whole. Mosaic GPU does not make such accesses, as nothing else would tell that they
are slow. The TMA unit moves whole tiles, and lays them out on the way.

## Fix
- Copy the array to shared memory with `plgpu.copy_gmem_to_smem`, and wait for its
  barrier; read it there. Store to shared memory, and copy from there with
  `plgpu.copy_smem_to_gmem`.
- In a grid, give it a `plgpu.BlockSpec`, and the pipeline makes the copies.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental.pallas import mosaic_gpu as plgpu


def through_tiles(x_gmem, o_gmem, x_smem):
    x_smem[...] = x_gmem[...]
    o_gmem[...] = x_smem[...]


TILES = (plgpu.TilingTransform((8, 64)), plgpu.SwizzleTransform(128))
fn = plgpu.kernel(
    through_tiles,
    out_type=jax.ShapeDtypeStruct((128, 128), jnp.float16),
    scratch_types=[plgpu.SMEM((128, 128), jnp.float16, transforms=TILES)],
)
args = [jax.ShapeDtypeStruct((128, 128), jnp.float16)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental.pallas import mosaic_gpu as plgpu


def through_tiles(x_gmem, o_gmem, x_smem, barrier):
    plgpu.copy_gmem_to_smem(x_gmem, x_smem, barrier)
    plgpu.barrier_wait(barrier)
    plgpu.commit_smem()
    plgpu.copy_smem_to_gmem(x_smem, o_gmem)
    plgpu.wait_smem_to_gmem(0)


TILES = (plgpu.TilingTransform((8, 64)), plgpu.SwizzleTransform(128))
fn = plgpu.kernel(
    through_tiles,
    out_type=jax.ShapeDtypeStruct((128, 128), jnp.float16),
    scratch_types=[
        plgpu.SMEM((128, 128), jnp.float16, transforms=TILES),
        plgpu.Barrier(),
    ],
)
args = [jax.ShapeDtypeStruct((128, 128), jnp.float16)]
```

## Fix safety
The copies move the same elements. They are proposed only for a kernel of one
thread, outside loops, and into a buffer that nothing has used before.

## References
- JAX 0.12.0.1, `jax/experimental/mosaic/gpu/fragmented_array.py`: transfers of GMEM.
- PM704 (layouts of arrays), PM703 and PM715 (what a copy asks of its refs).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic
from pallas_magic.rules._gpu.calls import base_name
from pallas_magic.rules._gpu.copies import copied_by_the_unit, moved_array
from pallas_magic.rules._gpu.kernels import scratch_label
from pallas_magic.rules._specs.wording import diagnostic
from pallas_magic.source.document import Library
from pallas_magic.source.syntax import syntax_of

code = "PM719"
name = "gmem-access"

_PIECES = re.compile(r"GMEM transfer (does not access a whole|width \(\d+ bytes/thread\) is small)")
# How JAX before 0.12 says it, of the read and of the store that follows.
_EARLIER = "Only optimized transfers to SMEM supported"
_STORED = re.compile(r"WGStridedFragLayout\(shape=.*\)$")


def match(failure: Failure) -> bool:
    told = _PIECES.match(failure.text) or failure.text == _EARLIER or _is_stored(failure)
    return failure.target.family == "gpu" and bool(told)


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    moved = moved_array(failure, sources)
    buffer = failure.ref if _is_stored(failure) else moved.buffer if moved is not None else None
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=_message(failure, sources),
        primary=None,
        mark="in another order" if _is_stored(failure) else "not in whole sectors",
        causes=[scratch_label(failure, sources, buffer, "in tiles")],
        notes=[_note(failure)],
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    moved = moved_array(failure, sources)
    edits = copied_by_the_unit(moved) if moved is not None else ()
    if edits:
        yield Candidate("copy with the TMA unit, and wait for it", edits)


def _is_stored(failure: Failure) -> bool:
    stored = failure.access is not None and failure.access.kind == "store"
    in_shared = failure.ref is not None and failure.ref.memory_space == "smem"
    return stored and in_shared and _STORED.match(failure.text) is not None


def _is_written(failure: Failure) -> bool:
    return failure.access is not None and failure.access.kind == "store"


def _message(failure: Failure, sources: Library) -> str:
    if _is_stored(failure):
        name = failure.ref.name if failure.ref is not None else ""
        subject = f"`{name}`" if name else "the buffer"
        return f"{subject} is in tiles; what is stored was not read from GMEM in their order"
    if _is_written(failure):
        return f"{_accessed(failure, sources)} is written to GMEM in too small pieces"
    return f"{_accessed(failure, sources)} is read from GMEM in too small pieces"


def _note(failure: Failure) -> str:
    if _is_written(failure) and not _is_stored(failure):
        return "`plgpu.copy_smem_to_gmem` brings an array there from SMEM, in whole tiles"
    return "`plgpu.copy_gmem_to_smem` brings an array to SMEM, and into its tiles"


def _accessed(failure: Failure, sources: Library) -> str:
    """The user's name of what is read or written."""
    syntax = syntax_of(sources, failure.place)
    node = syntax.at(failure.place) if syntax is not None and failure.place is not None else None
    if isinstance(node, ast.Call) and node.args:
        node = node.args[0]
    found = base_name(node if isinstance(node, ast.expr) else None)
    return f"`{found}`" if found else "an array"
