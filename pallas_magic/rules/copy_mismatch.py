"""# PM105: a copy between refs that are not alike

## What it means
A copy goes from a ref, or a part of one, to another of a different shape or
dtype. The message has both as they are after all `.at[...]`.

## Why the hardware says no
A DMA engine moves bytes from one place to another. It neither converts nor
reshapes, so both ends are arrays of the same shape and dtype. JAX finds out
only when it verifies what it made of the kernel, at the start of the copy, and
asks for a bug report; the mistake is in the refs that the copy is given.

## Fix
- copy the part that fits: `x_hbm.at[pl.ds(0, 8)]`; an integer index takes an
  axis away, `pl.ds(i, 1)` keeps it;
- give the buffer the shape and the dtype of what is copied, and convert what
  is loaded from it.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def double(x_hbm, o_ref, block):
    pltpu.sync_copy(x_hbm, block)
    o_ref[...] = block[...] * 2.0


fn = pl.pallas_call(
    double,
    out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
    in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
    scratch_shapes=[pltpu.VMEM((8, 128), jnp.float32)],
)
args = [jax.ShapeDtypeStruct((16, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def double(x_hbm, o_ref, block):
    pltpu.sync_copy(x_hbm.at[pl.ds(0, 8)], block)
    o_ref[...] = block[...] * 2.0


fn = pl.pallas_call(
    double,
    out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
    in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
    scratch_shapes=[pltpu.VMEM((8, 128), jnp.float32)],
)
args = [jax.ShapeDtypeStruct((16, 128), jnp.float32)]
```

## Fix safety
The program that fails has no values to compare with. Which part of an array is
meant, or whether the buffer is to be larger, it does not say: these fixes are
offered and not called safe.

## References
- Pallas documentation, "TPU details", and "Pipelining": copies by hand.
- PM602 (a store of another shape or dtype), which is this for values; PM703, which is this
  on GPUs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure, Value
from pallas_magic.report import Diagnostic, TextEdit
from pallas_magic.rules._dma.calls import RefCall, copy_call, ref_type, type_label
from pallas_magic.rules._specs.wording import diagnostic, shape_text
from pallas_magic.source.calls import argument
from pallas_magic.source.document import Library
from pallas_magic.source.names import spelled

code = "PM105"
name = "copy-mismatch"

_TEXT = "op DMA source and target"
_WHICH = "the program does not say which part is meant"
_SIZE = "the buffer may be meant for a part"
_HOLDS = "what is loaded from it then has that dtype"


def match(failure: Failure) -> bool:
    return _TEXT in failure.text and len(failure.operation.ends) == 2


def key(failure: Failure) -> object:
    """A copy is started and waited for; both say the same of it."""
    return failure.operation.ends, failure.ref


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    call = copy_call(failure, sources)
    source, target = failure.operation.ends
    of, to = call.ends if call is not None else (None, None)
    taker = call.text(to, "the target") if call is not None else "the target"
    giver = call.text(of, "the source") if call is not None else "the source"
    causes = []
    if call is not None:
        causes = [type_label(failure, sources, call.ref(one)) for one in (to, of)]
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=f"{taker} takes {_type(target)}; this copies {_type(source)} from {giver}",
        primary=call.span() if call is not None else None,
        mark=f"{_type(source)} into {_type(target)}",
        causes=causes,
        notes=("a copy moves bytes as they are: both ends have one shape and one dtype",),
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    call = copy_call(failure, sources)
    if call is None:
        return
    source, target = failure.operation.ends
    if source.shape != target.shape:
        yield from _cut(call, source, target)
    yield from _buffer(failure, sources, call, source, target)


def _cut(call: RefCall, source: Value, target: Value) -> Iterator[Candidate]:
    """The part of the source that has the shape of the target."""
    of, ds = call.ends[0], call.pallas("ds")
    if of is None or ds is None:
        return
    if isinstance(of, ast.Name) and len(source.shape) == len(target.shape):
        index = _from_start(source.shape, target.shape, ds)
        if index:
            text = f"{of.id}.at[{index}]"
            yield from _one(call.syntax.replace(of, text), f"copy the part at the start, `{text}`")
    row = _first_index(of)
    missing = len(target.shape) - len(source.shape)
    if row is not None and missing == 1 and target.shape[1:] == source.shape:
        count = target.shape[0]
        text = f"{ds}({call.syntax.text(row)}, {count})"
        is_first = isinstance(row, ast.Constant) and row.value == 0
        if count == 1 or is_first:
            yield from _one(call.syntax.replace(row, text), f"copy {_rows(count)}, `{text}`")


def _from_start(whole: tuple[int, ...], part: tuple[int, ...], ds: str) -> str:
    if any(size < wanted for size, wanted in zip(whole, part, strict=True)):
        return ""
    sizes = zip(whole, part, strict=True)
    index = [f"{ds}(0, {wanted})" if size != wanted else ":" for size, wanted in sizes]
    while index and index[-1] == ":":
        index.pop()
    return ", ".join(index)


def _first_index(of: ast.expr) -> ast.expr | None:
    """``i`` of ``x.at[i]`` or ``x.at[i, ...]``, where it takes the first axis away."""
    if not isinstance(of, ast.Subscript) or not isinstance(of.value, ast.Attribute):
        return None
    first = of.slice.elts[0] if isinstance(of.slice, ast.Tuple) and of.slice.elts else of.slice
    plain = isinstance(first, (ast.Name, ast.Constant)) and of.value.attr == "at"
    return first if plain else None


def _buffer(
    failure: Failure, sources: Library, call: RefCall, source: Value, target: Value
) -> Iterator[Candidate]:
    """The scratch buffer made like the other end of the copy."""
    for node, own, other in ((call.ends[1], target, source), (call.ends[0], source, target)):
        ref = call.ref(node)
        found = ref_type(failure, sources, ref)
        is_whole = ref is not None and isinstance(node, ast.Name) and ref.shape == own.shape
        if found is None or ref is None or not isinstance(found.node, ast.Call) or not is_whole:
            continue
        if own.shape != other.shape:
            given = argument(found.node, "shape", 0)
            if given is not None:
                edit = found.syntax.replace(given, shape_text(other.shape))
                yield from _one(
                    edit, f"give `{ref.name}` the shape {shape_text(other.shape)}", _SIZE
                )
        else:
            given = argument(found.node, "dtype", 1)
            text = spelled(sources, found.syntax.document, "jax.numpy", other.dtype)
            if given is not None and text is not None:
                edit = found.syntax.replace(given, text)
                yield from _one(edit, f"let `{ref.name}` hold {other.dtype}", _HOLDS)


def _one(edit: TextEdit | None, title: str, why: str = _WHICH) -> Iterator[Candidate]:
    if edit is not None:
        yield Candidate(title, (edit,), "unsafe", why=why)


def _rows(count: int) -> str:
    return "a row" if count == 1 else f"{count} rows"


def _type(value: Value) -> str:
    return f"{value.dtype}[{','.join(map(str, value.shape))}]"
