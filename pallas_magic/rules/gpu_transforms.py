"""# PM714: tiles or a swizzle that do not fit their buffer

## What it means
A buffer in shared memory is asked for with `transforms`: tiles that do not divide its
shape, or a swizzle for rows of another length than they have.

## Why the hardware says no
The copy engine and the tensor cores read shared memory tile by tile. Tiles are whole,
and a swizzle of 128 bytes mixes the elements of rows of just 128 bytes: 64 of float16,
32 of float32.

## Fix
- Give tiles whose last size is the swizzle's: `plgpu.TilingTransform((8, 32))` with
  `plgpu.SwizzleTransform(128)` for float32, `(8, 64)` for float16.
- Tiles come first, the swizzle after them.
- Take a smaller swizzle, 64 or 32, for buffers with shorter rows.

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


tiles = (plgpu.TilingTransform((8, 64)), plgpu.SwizzleTransform(128))
fn = plgpu.kernel(
    copied,
    out_type=jax.ShapeDtypeStruct((64, 64), jnp.float32),
    scratch_types=[plgpu.SMEM((64, 64), jnp.float32, transforms=tiles), plgpu.Barrier()],
)
args = [jax.ShapeDtypeStruct((64, 64), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu


def copied(x_gmem, o_gmem, buffer, barrier):
    plgpu.copy_gmem_to_smem(x_gmem, buffer, barrier)
    plgpu.barrier_wait(barrier)
    o_gmem[...] = buffer[...]


tiles = (plgpu.TilingTransform((8, 32)), plgpu.SwizzleTransform(128))
fn = plgpu.kernel(
    copied,
    out_type=jax.ShapeDtypeStruct((64, 64), jnp.float32),
    scratch_types=[plgpu.SMEM((64, 64), jnp.float32, transforms=tiles), plgpu.Barrier()],
)
args = [jax.ShapeDtypeStruct((64, 64), jnp.float32)]
```

## Fix safety
Transforms say where in shared memory an element lies; the kernel sees the buffer as
before, and computes the same. They are safe where the kernel then lowers.

## References
- JAX documentation, "Writing Mosaic GPU kernels with Pallas": memory reference
  transforms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic, Label
from pallas_magic.rules._gpu.transforms import (
    SWIZZLES,
    Transform,
    Transformed,
    transformed,
)
from pallas_magic.rules._gpu.wording import type_words
from pallas_magic.rules._memory.assignment import all_or_none
from pallas_magic.rules._specs.wording import diagnostic, shape_text
from pallas_magic.source.document import Library

code = "PM714"
name = "gpu-transforms"

_SWIZZLE = "requires the trailing dimension to be of size"
_ORDER = "Unsupported transforms [<SwizzlingMode."


def match(failure: Failure) -> bool:
    if failure.target.family != "gpu":
        return False
    if failure.raised_in.endswith("mosaic_gpu.core.transform_type"):
        is_tiling = failure.error_type == "AssertionError" and not failure.text
        return is_tiling or _SWIZZLE in failure.text
    return failure.text.startswith(_ORDER)


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    one = _misfit(failure, sources)
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=_message(failure, one),
        primary=one.asked.syntax.span(one.asked.node) if one is not None else None,
        mark="does not fit its transforms",
        causes=_causes(one) if one is not None else (),
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    one = _misfit(failure, sources)
    if one is None or one.swizzle is None:
        return
    if one.swizzles_first:
        found: tuple[str, list[str]] | None = _in_order(one)
    else:
        found = _with_tiles(one) if one.tiling is None else _fitting(one)
    if found is None:
        return
    title, texts = found
    given = f"({', '.join(texts)})"
    alike = list(_alike(one, transformed(failure, sources)))
    edits = [other.asked.syntax.replace(other.keyword.value, given) for other in alike]
    if known := all_or_none(list(dict.fromkeys(edits))):
        yield Candidate(title, known, mechanical=True)


def _misfit(failure: Failure, sources: Library) -> Transformed | None:
    """The first buffer that does not fit: JAX goes through them in this order."""
    every = transformed(failure, sources)
    if failure.text.startswith(_ORDER):
        found = [one for one in every if one.swizzles_first]
        return found[0] if len(found) == 1 else None
    if not failure.text:
        return next((one for one in every if not one.is_divided), None)
    return next((one for one in every if one.row() not in (0, one.last)), None)


def _message(failure: Failure, one: Transformed | None) -> str:
    if one is None:
        what = "tiles" if not failure.text else "a swizzle"
        return f"a buffer of `{failure.kernel}` has {what} that its shape does not fit"
    subject = f"`{one.ref.name}` is {type_words(one.ref.dtype, one.ref.shape)}"
    if one.swizzles_first and failure.text.startswith(_ORDER):
        return f"`{one.ref.name}` is swizzled before it is tiled; tiles come first"
    if not one.is_divided and one.tiling is not None and not failure.text:
        return f"{subject}; tiles of {shape_text(one.tiling.tiling)} do not divide it"
    assert one.swizzle is not None
    rows = "its tiles have" if one.tiling is not None else "without tiles it has"
    swizzle = f"a swizzle of {one.swizzle.swizzle} bytes takes rows of {one.row()}"
    return f"{subject}; {swizzle}, {rows} rows of {one.last}"


def _causes(one: Transformed) -> Iterator[Label | None]:
    """The transforms, where they stand on another line than the buffer."""
    asked = one.asked.syntax.span(one.asked.node)
    for given in one.transforms:
        span = given.written.syntax.span(given.written.node)
        if span is not None and asked is not None:
            inside = span.source == asked.source
            inside = inside and asked.start_line <= span.start_line <= asked.end_line
            if not inside:
                yield Label(span, _words(given), "cause")


def _words(given: Transform) -> str:
    if given.tiling:
        return f"tiles of {shape_text(given.tiling)}"
    return f"a swizzle of {given.swizzle} bytes"


def _in_order(one: Transformed) -> tuple[str, list[str]]:
    tiling, swizzle = one.tiling, one.swizzle
    assert tiling is not None
    assert swizzle is not None
    return "tile first, then swizzle", [tiling.written.text, swizzle.written.text]


def _with_tiles(one: Transformed) -> tuple[str, list[str]] | None:
    swizzle, row, shape = one.swizzle, one.row(), one.ref.shape
    assert swizzle is not None
    head, named, _ = swizzle.written.text.partition("SwizzleTransform")
    if not named or len(shape) < 2 or shape[-1] % row or shape[-2] % 8:
        return None
    tiles = f"(8, {row})"
    texts = [f"{head}TilingTransform({tiles})", swizzle.written.text]
    return f"tile `{one.ref.name}` by {tiles}", texts


def _fitting(one: Transformed) -> tuple[str, list[str]] | None:
    """Tiles and swizzle of one length: the largest swizzle that the rows are filled by."""
    tiling, swizzle = one.tiling, one.swizzle
    assert tiling is not None
    assert swizzle is not None
    leading = tiling.tiling[:-1]
    ends = one.ref.shape[-len(tiling.tiling) : -1]
    if any(size % tile for size, tile in zip(ends, leading, strict=False)):
        return None
    rows = {wide: one.swizzled(wide) for wide in SWIZZLES if wide <= swizzle.swizzle}
    fitting = [wide for wide, row in rows.items() if row and not one.ref.shape[-1] % row]
    if not fitting:
        return None
    wide = fitting[0]
    tiles = shape_text((*leading, rows[wide]))
    texts = [given.with_value(tiles if given.tiling else str(wide)) for given in one.transforms]
    also = f" and swizzle {wide} bytes" if wide != swizzle.swizzle else ""
    return f"tile `{one.ref.name}` by {tiles}{also}", texts


def _alike(one: Transformed, every: Sequence[Transformed]) -> Iterator[Transformed]:
    """The buffers that fit their transforms no better, for the same reason."""
    for other in every:
        same = other.ref.dtype == one.ref.dtype and other.shares(one)
        if other is one or (same and not other.fits):
            yield other
