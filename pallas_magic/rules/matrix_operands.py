"""# PM709: operands that the tensor cores of a GPU do not take

## What it means
`plgpu.wgmma` and `plgpu.tcgen05_mma` multiply an `(m, k)` with a `(k, n)` operand
into an `(m, n)` accumulator. Here the shapes do not go together, the types differ,
or an operand or the accumulator lies in the wrong place or in the wrong tiles.

## Why the hardware says no
The tensor cores read their operands from shared memory in tiles of 8 rows of 128
bytes, swizzled so that no two threads meet in a bank. The accumulator is in
registers on Hopper (`plgpu.ACC`), in tensor memory on Blackwell (`plgpu.TMEM`).

## Fix
- An operand that lies as `(n, k)`: `plgpu.transpose_ref(b, (1, 0))`.
- Tiles, where they are not inferred:
  `transforms=(plgpu.TilingTransform((8, 64)), plgpu.SwizzleTransform(128))` for a
  16-bit type.
- `plgpu.wgmma` takes `m` in multiples of 64 and `n` in multiples of 8.
- An operand in GMEM: copy it to SMEM first, with `plgpu.copy_gmem_to_smem`.
- `plgpu.tcgen05_mma` multiplies float16, bfloat16, float8_e4m3fn, float8_e5m2 and
  int8; of float32 operands, what the product needs of them is a choice.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu


def product(o_gmem, a, b):
    def add(acc):
        plgpu.wgmma(acc, a, b)
        return acc[...]

    o_gmem[...] = pl.run_scoped(add, plgpu.ACC((128, 128), jnp.float32))


TILES = (plgpu.TilingTransform((8, 64)), plgpu.SwizzleTransform(128))
fn = plgpu.kernel(
    product,
    out_type=jax.ShapeDtypeStruct((128, 128), jnp.float32),
    scratch_types=[
        plgpu.SMEM((128, 64), jnp.float16, transforms=TILES),
        plgpu.SMEM((128, 64), jnp.float16, transforms=TILES),
    ],
)
args = []
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu


def product(o_gmem, a, b):
    def add(acc):
        plgpu.wgmma(acc, a, plgpu.transpose_ref(b, (1, 0)))
        return acc[...]

    o_gmem[...] = pl.run_scoped(add, plgpu.ACC((128, 128), jnp.float32))


TILES = (plgpu.TilingTransform((8, 64)), plgpu.SwizzleTransform(128))
fn = plgpu.kernel(
    product,
    out_type=jax.ShapeDtypeStruct((128, 128), jnp.float32),
    scratch_types=[
        plgpu.SMEM((128, 64), jnp.float16, transforms=TILES),
        plgpu.SMEM((128, 64), jnp.float16, transforms=TILES),
    ],
)
args = []
```

## Fix safety
Tiles change no value. That an operand is meant transposed is likely where only
then the shapes go together; the program does not say so.

## References
- JAX documentation, "Writing Mosaic GPU kernels with Pallas": matrix products.
- JAX 0.12.0.1, `jax/experimental/mosaic/gpu/tcgen05.py`: types of operands.
- PM707 (which chip has which product), PM708 (the barrier of `tcgen05_mma`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure, Ref
from pallas_magic.report import Diagnostic
from pallas_magic.rules._gpu.calls import PALLAS_GPU, GpuCall, gpu_call
from pallas_magic.rules._gpu.kernels import scratch_label, scratch_type
from pallas_magic.rules._gpu.wording import dtype_of, type_words
from pallas_magic.rules._memory.assignment import all_or_none
from pallas_magic.rules._specs.wording import diagnostic
from pallas_magic.source.calls import add_keyword, keyword
from pallas_magic.source.document import Library
from pallas_magic.source.names import spelled
from pallas_magic.source.syntax import identifier, syntax_of

code = "PM709"
name = "matrix-operands"

_SHAPES = re.compile(
    r"Incompatible shapes for matrix multiplication|Accumulator and (LHS|RHS) have incompatible"
    r"|LHS and RHS have incompatible shapes"
)
_DTYPES = "Mixed input dtypes for matrix multiplication unsupported"
_PLACES = {
    "Expected WGMMAAbstractAccumulatorRef": "the accumulator is not a `plgpu.ACC`",
    "Accumulator must be a TMEM Ref": "the accumulator is not in TMEM",
    "LHS must be a TMEM/SMEM Ref": "the left operand is neither in SMEM nor in TMEM",
    "RHS must be an SMEM Ref": "the right operand is not in SMEM",
}
_TILES = re.compile(
    r"When WGMMA lhs is passed in as a ref, it must be transformed|WGMMA rhs swizzle must match"
    r"|WGMMA (lhs|rhs) tiling does not fit|MMA (lhs|rhs) tiling does not fit"
    r"|WGMMA (lhs|rhs) has unsupported transforms: \[\]"
)
_ROWS = re.compile(
    r"WGMMA requires m and n to be multiples of 64 and 8"
    r"|.*The accumulator's first dimension must be a multiple of 64",
    re.DOTALL,
)
_WIDE = re.compile(r"N must be a multiple of 8 and <= 256, got: (\d+)")
_TURNED = "Only f16 WGMMA supports transposes"
_SUMS = re.compile(
    r".*'mosaic_gpu\.\w+mma' op operand #0 must be .*got '(?:vector|memref)<[\dx]*x(?P<mlir>\w+)"
    r"|WGMMA with element type \w+ only supports accumulators of .* got: (?P<told>\w+)",
    re.DOTALL,
)
_INPUTS = re.compile(
    r"Unsupported (?:input )?element type: (?P<told>\w+)"
    r"|.*'mosaic_gpu\.\w+mma' op operand #[12] must be .*got 'memref<[\dx]*x(?P<mlir>\w+)",
    re.DOTALL,
)
# What Mosaic GPU says of an operand in GMEM: it asks for a layout that it does not have.
_FAR = "ValueSite("
_CALLS = ("wgmma", "tcgen05_mma")
_MULTIPLIED = "it multiplies float16, bfloat16, float8_e4m3fn, float8_e5m2 and int8"
_MEANT = "only transposed do the shapes go together; it may be another operand that is wrong"


def match(failure: Failure) -> bool:
    text = failure.text
    patterns = (_SHAPES, _TILES, _ROWS, _WIDE, _SUMS, _INPUTS)
    told = text.startswith((_DTYPES, _TURNED, *_PLACES)) or any(one.match(text) for one in patterns)
    far = text.startswith(_FAR) and failure.primitive.startswith("wgmma")
    return failure.target.family == "gpu" and (told or far)


def key(failure: Failure) -> object:
    return failure.place or failure.text


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    call = _product(failure, sources)
    labels = []
    for node in _operands(call):
        ref = call.ref(node) if call is not None else None
        if ref is not None and failure.stage == "trace":
            labels.append(scratch_label(failure, sources, ref, type_words(ref.dtype, ref.shape)))
        elif ref is not None and _INPUTS.match(failure.text):
            labels.append(scratch_label(failure, sources, ref, f"of {ref.dtype}"))
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=_message(failure, call),
        primary=call.syntax.span(call.node) if call is not None else None,
        mark="not what it takes",
        causes=labels,
        notes=_notes(failure, call),
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    call = gpu_call(failure, sources)
    if call is None or call.name not in _CALLS:
        return
    if _SHAPES.match(failure.text):
        yield from _transposed(call)
    if _TILES.match(failure.text) and not _far(call):
        yield from _tiled(call)


def _product(failure: Failure, sources: Library) -> GpuCall | None:
    """The product that failed, or the only one of the kernel where JAX does not say which."""
    call, syntax = gpu_call(failure, sources), syntax_of(sources, failure.call.kernel)
    if call is not None and call.name in _CALLS:
        return call
    name = failure.call.kernel.function.rsplit(".")[-1] if failure.call.kernel is not None else ""
    if syntax is None or not name:
        return None
    kernels = [
        node
        for node in ast.walk(syntax.module)
        if isinstance(node, ast.FunctionDef) and node.name == name
    ]
    found = [
        node
        for kernel in kernels
        for node in ast.walk(kernel)
        if isinstance(node, ast.Call) and identifier(node.func) in _CALLS
    ]
    return GpuCall(sources, failure, syntax, found[0]) if len(found) == 1 else None


def _transposed(call: GpuCall) -> Iterator[Candidate]:
    """The right operand turned, where it lies as (n, k)."""
    nodes = _operands(call)
    refs = [call.ref(node) for node in nodes]
    transpose = call.gpu("transpose_ref")
    if len(nodes) != 2 or transpose is None or not isinstance(nodes[1], ast.Name):
        return
    left, right = refs
    if left is None or right is None or len(left.shape) != 2 or len(right.shape) != 2:
        return
    if left.shape[1] != right.shape[1] or left.shape[1] == right.shape[0]:
        return
    edit = call.syntax.replace(nodes[1], f"{transpose}({nodes[1].id}, (1, 0))")
    if edit is not None:
        yield Candidate(f"transpose `{right.name}`", (edit,), "unsafe", why=_MEANT)


def _tiled(call: GpuCall) -> Iterator[Candidate]:
    """Both operands in the tiles of the tensor cores."""
    edits = []
    for node in _operands(call):
        ref = call.ref(node)
        found = scratch_type(call.failure, call.sources, ref)
        if ref is None or found is None or not isinstance(found.node, ast.Call):
            return
        if keyword(found.node, "transforms") is not None or ref.dtype not in _LANES:
            return
        names = [
            spelled(call.sources, found.syntax.document, PALLAS_GPU, one)
            for one in ("TilingTransform", "SwizzleTransform")
        ]
        if None in names or ref.shape[-1] % _LANES[ref.dtype]:
            return
        tiles = f"({names[0]}((8, {_LANES[ref.dtype]})), {names[1]}(128))"
        edits.append(add_keyword(found.syntax, found.node, f"transforms={tiles}"))
    if made := all_or_none(edits):
        yield Candidate("lay the operands out in tiles for the tensor cores", made)


def _right(call: GpuCall | None) -> Ref | None:
    """The right operand, where it is given as it lies."""
    nodes = _operands(call)
    ref = call.ref(nodes[1]) if call is not None and nodes else None
    return ref if nodes and isinstance(nodes[1], ast.Name) else None


def _far(call: GpuCall | None) -> list[Ref]:
    """The operands in GMEM."""
    refs = [call.ref(node) for node in _operands(call)] if call is not None else []
    return [ref for ref in refs if ref is not None and ref.memory_space == "gmem"]


def _notes(failure: Failure, call: GpuCall | None) -> list[str]:
    if _INPUTS.match(failure.text) and call is not None and call.name == "tcgen05_mma":
        return [_MULTIPLIED]
    copy = call.gpu("copy_gmem_to_smem") if call is not None else None
    if _far(call) and copy is not None:
        return [f"`{copy}` brings it there; wait for its barrier"]
    right, transpose = _right(call), call.gpu("transpose_ref") if call is not None else None
    if not failure.text.startswith(_TURNED) or right is None or transpose is None:
        return []
    return [f"fill `{right.name}` the other way round and give `{transpose}({right.name}, (1, 0))`"]


_LANES = {"float16": 64, "bfloat16": 64, "int8": 128}


def _operands(call: GpuCall | None) -> list[ast.expr]:
    """The left and the right operand of a product."""
    if call is None or call.name not in _CALLS or len(call.node.args) < 3:
        return []
    return list(call.node.args[1:3])


def _unfit(failure: Failure, call: GpuCall | None, written: str) -> str:
    """What is said of an operand in another memory, or of a type that is not multiplied."""
    told, far = failure.text.startswith(_FAR), _far(call)
    if far and (told or _TILES.match(failure.text)):
        names, verb = " and ".join(f"`{ref.name}`" for ref in far), "is" if len(far) == 1 else "are"
        return f"{names} {verb} in GMEM; {written} multiplies what is in SMEM"
    if told:
        return f"{written} is given an operand in GMEM; it multiplies what is in SMEM"
    found = _INPUTS.match(failure.text)
    return (
        f"{written} does not multiply {dtype_of(found['mlir'] or found['told'])}" if found else ""
    )


def _message(failure: Failure, call: GpuCall | None) -> str:
    written = f"`{call.text(call.node.func)}`" if call is not None else "the product"
    if unfit := _unfit(failure, call, written):
        return unfit
    if _SHAPES.match(failure.text):
        return f"{written} is given operands whose shapes do not go together"
    if failure.text.startswith(_DTYPES):
        return f"{written} is given operands of two types"
    if _TILES.match(failure.text):
        return f"{written} is given operands that do not lie in tiles for the tensor cores"
    if _ROWS.match(failure.text):
        return f"{written} takes rows in multiples of 64 and columns in multiples of 8"
    if found := _WIDE.match(failure.text):
        return f"{written} makes at most 256 columns, in multiples of 8; this makes {found[1]}"
    if failure.text.startswith(_TURNED):
        right = _right(call)
        kind = f"{right.dtype} operands" if right is not None else "operands of this type"
        return f"{written} takes {kind} only with the summed axis last in memory"
    if found := _SUMS.match(failure.text):
        return f"{written} does not add up in {dtype_of(found['mlir'] or found['told'])}"
    said = next(words for text, words in _PLACES.items() if failure.text.startswith(text))
    return f"{said}, as {written} needs it to be"
