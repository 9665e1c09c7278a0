"""# PM703: a copy between refs that are not alike

## What it means
`plgpu.copy_gmem_to_smem`, `plgpu.copy_smem_to_gmem` and their like move bytes from
one ref to another. The two refs have different shapes, or different dtypes.

## Why the hardware says no
The copies are made by the TMA unit, which moves a box of memory as it is while
the warps go on. It neither converts nor repeats nor cuts.

## Fix
- Copy the part that fits: `x_gmem.at[pl.ds(start, 64)]`.
- Give the scratch buffer the shape, or the dtype, of what is copied:
  `plgpu.SMEM((128, 128), jnp.bfloat16)`. To convert, load the buffer afterwards
  and use `.astype`.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu


def first_half(x_gmem, o_gmem, buffer, barrier):
    plgpu.copy_gmem_to_smem(x_gmem, buffer, barrier)
    plgpu.barrier_wait(barrier)
    o_gmem[...] = buffer[...]


fn = plgpu.kernel(
    first_half,
    out_type=jax.ShapeDtypeStruct((64, 128), jnp.float32),
    scratch_types=[plgpu.SMEM((64, 128), jnp.float32), plgpu.Barrier()],
)
args = [jax.ShapeDtypeStruct((128, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu


def first_half(x_gmem, o_gmem, buffer, barrier):
    plgpu.copy_gmem_to_smem(x_gmem.at[pl.ds(0, 64)], buffer, barrier)
    plgpu.barrier_wait(barrier)
    o_gmem[...] = buffer[...]


fn = plgpu.kernel(
    first_half,
    out_type=jax.ShapeDtypeStruct((64, 128), jnp.float32),
    scratch_types=[plgpu.SMEM((64, 128), jnp.float32), plgpu.Barrier()],
)
args = [jax.ShapeDtypeStruct((128, 128), jnp.float32)]
```

## Fix safety
A buffer of the dtype that is copied into it is what the copy asks for; that is
safe where the kernel then lowers. Which part of an array is meant, or whether
the buffer is to be larger, the program does not say: these fixes are unsafe.

## References
- JAX documentation, "Writing Mosaic GPU kernels with Pallas": asynchronous copies.
- PM602 (a store of another shape or dtype), which is this for values.
"""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Iterator, Sequence

from pallas_magic.failure import Candidate, Failure, Ref
from pallas_magic.report import Diagnostic
from pallas_magic.rules._gpu.calls import GpuCall, gpu_call
from pallas_magic.rules._gpu.kernels import scratch_label, scratch_type, with_dtype, with_shape
from pallas_magic.rules._gpu.wording import dtype_of, quoted, type_words
from pallas_magic.rules._refs.expressions import shape_of
from pallas_magic.rules._specs.wording import diagnostic, shape_text
from pallas_magic.source.document import Library

code = "PM703"
name = "gpu-copy-mismatch"

_RAISED_IN = re.compile(
    r"(_copy_gmem_to_smem|_copy_smem_to_gmem|_async_copy_smem_to_tmem)_abstract_eval$"
    r"|launch_context\.\w*async_copy$"
)
_OF, _TO, _IN_SMEM, _IN_GMEM = (
    rf"(?P<{name}>\([\d, ]*\))" for name in ("of", "to", "smem", "gmem")
)
_SHAPES = (
    rf"Expected source shape to be {_TO}, but got {_OF}",
    rf"Expected shapes to match, but src has shape {_OF} and dst has shape {_TO}",
    rf"Expected SMEM reference shape {_OF} to equal the TMEM reference shape {_TO}",
    (
        r"Expected the SMEM reference to have the same shape as the transformed slice: "
        rf"{_IN_SMEM} != {_IN_GMEM}"
    ),
)
_DTYPES = (
    r"Expected dtypes to match but src had type (?P<of>\w+) and dst had type (?P<to>\w+)",
    r"Expected same element type, got (?P<of>\w+) and (?P<to>\w+)",
    r"Expected SMEM element type \((?P<of>\w+)\) to equal the TMEM element type \((?P<to>\w+)\)",
)
_PARTITIONED = re.compile(r"Dim (\d+) is partitioned over an axis of size (\d+)")
_WHICH = "the program does not say which part is meant"
_SIZE = "the buffer may be meant for a part"


@dataclasses.dataclass(frozen=True, eq=False)
class _Copy:
    """A copy with the types of both ends; one of the two pairs is unequal."""

    call: GpuCall
    source: ast.expr | None
    target: ast.expr | None
    shapes: tuple[tuple[int, ...], tuple[int, ...]] | None
    dtypes: tuple[str, str] | None

    @property
    def refs(self) -> tuple[Ref | None, Ref | None]:
        return self.call.ref(self.source), self.call.ref(self.target)

    def words(self, end: int) -> str:
        """The type of the source (0) or the target (1), as far as it is known."""
        ref = self.refs[end]
        if self.shapes is not None:
            shape = self.shapes[end]
            return type_words(ref.dtype, shape) if ref is not None else shape_text(shape)
        assert self.dtypes is not None
        return self.dtypes[end]


def match(failure: Failure) -> bool:
    found = _RAISED_IN.search(failure.raised_in)
    return found is not None and (_found(_SHAPES, failure) or _found(_DTYPES, failure)) is not None


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    copy = _copy(failure, sources)
    partitioned = _PARTITIONED.search(failure.text)
    if copy is None:
        message, mark, causes = "this copies between refs that are not alike", "not alike", []
    else:
        source, target = copy.refs
        takes = quoted(target, "the target")
        of = quoted(source, "the source")
        message = f"{takes} takes {copy.words(1)}; this copies {copy.words(0)} from {of}"
        mark = f"{copy.words(0)} into {copy.words(1)}"
        causes = [
            scratch_label(failure, sources, ref, copy.words(end))
            for end, ref in enumerate(copy.refs)
        ]
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=message,
        primary=None,
        mark=mark,
        causes=causes,
        notes=_notes(partitioned),
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    copy = _copy(failure, sources)
    if copy is None:
        return
    ends = (copy.source, copy.target)
    if copy.shapes is not None:
        for end in (0, 1):
            if not (end == 1 and _is_filled(copy)):
                yield from _sliced(copy, ends[end], copy.shapes[end], copy.shapes[1 - end])
    for end in (1, 0):
        yield from _buffer(copy, end)


def _is_filled(copy: _Copy) -> bool:
    """Whether the target is a buffer, a part of which would stay as it was."""
    return copy.refs[1] is None or copy.refs[1].memory_space != "gmem"


def _sliced(
    copy: _Copy, node: ast.expr | None, whole: Sequence[int], part: Sequence[int]
) -> Iterator[Candidate]:
    """The larger ref cut to the part of it at the start."""
    ds = copy.call.pallas("ds")
    if not isinstance(node, ast.Name) or ds is None or len(whole) != len(part):
        return
    if any(size < wanted for size, wanted in zip(whole, part, strict=True)):
        return
    index = [
        f"{ds}(0, {wanted})" if size != wanted else ":"
        for size, wanted in zip(whole, part, strict=True)
    ]
    while index[-1] == ":":
        index.pop()
    text = f"{node.id}.at[{', '.join(index)}]"
    edit = copy.call.syntax.replace(node, text)
    if edit is not None:
        yield Candidate(f"copy the part at the start, `{text}`", (edit,), "unsafe", why=_WHICH)


def _buffer(copy: _Copy, end: int) -> Iterator[Candidate]:
    """The scratch buffer made like the other end."""
    failure, sources, ref = copy.call.failure, copy.call.sources, copy.refs[end]
    found = scratch_type(failure, sources, ref)
    # Only what was seen being built can be tried, and an untried size is no help.
    if found is None or ref is None or ref.spec is None:
        return
    if copy.dtypes is not None:
        dtype = copy.dtypes[1 - end]
        edit = with_dtype(sources, found, dtype)
        if edit is not None:
            yield Candidate(f"let `{ref.name}` hold {dtype}", (edit,), mechanical=True)
    if copy.shapes is not None:
        shape = copy.shapes[1 - end]
        edit = with_shape(found, shape)
        if edit is not None:
            title = f"give `{ref.name}` the shape {shape_text(shape)}"
            yield Candidate(title, (edit,), "unsafe", why=_SIZE)


def _notes(partitioned: re.Match[str] | None) -> tuple[str, ...]:
    if partitioned is None:
        return ()
    axis, size = partitioned.groups()
    return (f"axis {axis} is partitioned over {size} blocks of a cluster; each copies its part",)


def _copy(failure: Failure, sources: Library) -> _Copy | None:
    call = gpu_call(failure, sources)
    if call is None:
        return None
    shapes, dtypes = _found(_SHAPES, failure), _found(_DTYPES, failure)
    both: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    if shapes is not None:
        both = _shapes(shapes.groupdict(), call.name)
    words = (dtype_of(dtypes["of"]), dtype_of(dtypes["to"])) if dtypes is not None else None
    source, target = call.argument("src", 0), call.argument("dst", 1)
    return _Copy(call, source, target, both, words)


def _shapes(found: dict[str, str], function: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if "of" in found:
        return shape_of(found["of"]), shape_of(found["to"])
    of_smem = function.startswith("copy_smem_to_gmem")
    ends = ("smem", "gmem") if of_smem else ("gmem", "smem")
    return shape_of(found[ends[0]]), shape_of(found[ends[1]])


def _found(patterns: Sequence[str], failure: Failure) -> re.Match[str] | None:
    found = (re.match(pattern, failure.text) for pattern in patterns)
    return next((one for one in found if one is not None), None)
