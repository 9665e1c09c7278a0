"""# PM308: a mask that Triton cannot load or store under

## What it means
`plt.load`, `plt.store` or an atomic update is given a `mask`, or an `other`, that does
not fit what is moved: it has fewer axes or other sizes, or the mask holds numbers. Or
`other` is given, and no mask that would say where it is taken.

## Why the hardware says no
Every element is moved under a predicate of its own, one bit. Triton repeats axes of
size 1 of the mask; it does not put in axes that are missing, as NumPy does, and it
does not compare numbers with 0.

## Fix
- `mask[None, :]` for a mask of the columns, `mask[:, None]` for one of the rows; the
  same for an array that is given as `other`. A number needs nothing.
- A mask of bool: what a comparison gives, or `mask.astype(bool)`.
- A load without a mask takes no `other`.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plt


def left(x_ref, o_ref):
    mask = jnp.arange(128) < 100
    o_ref[...] = plt.load(x_ref, mask=mask, other=0.0)


fn = pl.pallas_call(
    left,
    out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
    compiler_params=plt.CompilerParams(),
)
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plt


def left(x_ref, o_ref):
    mask = jnp.arange(128) < 100
    o_ref[...] = plt.load(x_ref, mask=mask[None, :], other=0.0)


fn = pl.pallas_call(
    left,
    out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
    compiler_params=plt.CompilerParams(),
)
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Fix safety
Axes are put in where NumPy puts them in, or at the one place where they fit: the
mask says the same. So does a mask of numbers that are compared with 0. What is
loaded without a mask never is `other`.

## References
- Pallas documentation, `jax.experimental.pallas.triton`.
- PM405 (masks that TPUs do not move), PM607 (masks for indices).
"""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic, TextEdit
from pallas_magic.rules._gpu.calls import GpuCall, gpu_call
from pallas_magic.rules._refs.expressions import complete, followed_by, shape_of
from pallas_magic.rules._refs.reshaping import broadcasts, index_with_axes
from pallas_magic.rules._specs.wording import diagnostic, shape_text
from pallas_magic.source.calls import keyword, remove_keyword
from pallas_magic.source.document import Library

code = "PM308"
name = "triton-masks"

_SHAPES = (
    re.compile(r"Cannot broadcast from (\[[\d, ]*\]) to (\[[\d, ]*\])"),
    re.compile(r"Cannot broadcast mask shape (\([\d, ]*\)) to load shape (\([\d, ]*\))"),
)
_NUMBERS = re.compile(r"a mask of bool is wanted, but this is (\w+)$")
_NOT_MASKED = "other requires mask to be provided"
_MASKED = ("masked_load", "masked_swap", "load", "store", "swap", "atomic_rmw", "")
_NONE_PUT_IN = "axes of size 1 are repeated, none are put in"
_Shape = tuple[int, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class _Given:
    """The keyword that does not fit, and its value in the user's text."""

    call: GpuCall
    keyword: ast.keyword

    @property
    def value(self) -> ast.expr:
        return self.keyword.value


def match(failure: Failure) -> bool:
    if _NUMBERS.match(failure.text):
        return failure.call.is_triton
    of_triton = "triton" in failure.raised_in or failure.stage == "trace"
    is_told = _shapes(failure) is not None or failure.text == _NOT_MASKED
    of_gpu = failure.target.family == "gpu"
    return of_gpu and of_triton and is_told and failure.primitive in _MASKED


def key(failure: Failure) -> object:
    return failure.place or failure.text


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    given = _given(failure, sources)
    name_of_it = given.keyword.arg if given is not None else "mask"
    shapes, numbers = _shapes(failure), _NUMBERS.match(failure.text)
    written = _written(failure, sources)
    if shapes is not None:
        has, wanted = (shape_text(shape) for shape in shapes)
        message = f"`{name_of_it}` has the shape {has}; what {written} moves has {wanted}"
        mark = f"{has}, expected {wanted}"
        note = _NONE_PUT_IN if len(shapes[0]) < len(shapes[1]) else ""
    elif numbers is not None:
        message = f"the mask of {written} holds {numbers[1]}; Triton takes bool"
        mark, note = f"{numbers[1]}, expected bool", ""
    else:
        message, mark = f"{written} is given `other` and no mask", "never taken"
        note = "`other` is what is loaded where the mask is `False`"
    span = given.call.syntax.span(given.value) if given is not None else None
    told = diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=message,
        primary=span if span is not None and span.start_line == span.end_line else None,
        mark=mark,
        notes=[note] if note else [],
    )
    return dataclasses.replace(told, original="") if numbers is not None else told


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    given = _given(failure, sources)
    if given is None:
        return
    shapes = _shapes(failure)
    if shapes is not None:
        yield from _with_axes(failure, given, *shapes)
    elif failure.text == _NOT_MASKED:
        edit = remove_keyword(given.call.syntax, given.call.node, given.keyword)
        if edit is not None:
            yield Candidate("leave out `other`", (edit,))
    elif edits := _behind(given, ".astype(bool)"):
        yield Candidate("make it a mask of bool", edits)


def _with_axes(failure: Failure, given: _Given, has: _Shape, wanted: _Shape) -> Iterator[Candidate]:
    axes = _axes(has, wanted)
    index = index_with_axes(len(wanted), axes) if axes else ""
    edits = _behind(given, index) if index else ()
    if edits:
        what = "axis" if len(axes) == 1 else "axes"
        mechanical = failure.stage == "trace"
        yield Candidate(f"put in the {what} with `{index}`", edits, mechanical=mechanical)


def _axes(has: _Shape, wanted: _Shape) -> list[int]:
    """Where axes are missing: in front, as NumPy sees it, else at the one place where it fits."""
    missing = len(wanted) - len(has)
    if missing > 0 and broadcasts(has, wanted):
        return list(range(missing))
    if missing != 1:
        return []
    fitting = [
        axis for axis in range(len(wanted)) if broadcasts((*has[:axis], 1, *has[axis:]), wanted)
    ]
    return fitting if len(fitting) == 1 else []


def _behind(given: _Given, text: str) -> tuple[TextEdit, ...]:
    if isinstance(given.value, ast.Constant):
        return ()
    return complete(followed_by(given.call.syntax, given.value, text))


def _shapes(failure: Failure) -> tuple[_Shape, _Shape] | None:
    """The shape that is there and the one that is wanted."""
    found = next((text for one in _SHAPES if (text := one.match(failure.text))), None)
    return (shape_of(found[1]), shape_of(found[2])) if found is not None else None


def _given(failure: Failure, sources: Library) -> _Given | None:
    call = gpu_call(failure, sources)
    if call is None:
        return None
    is_other = failure.text == _NOT_MASKED or _other_fails(failure, call)
    found = keyword(call.node, "other" if is_other else "mask")
    return _Given(call, found) if found is not None else None


def _other_fails(failure: Failure, call: GpuCall) -> bool:
    """Whether it is `other` whose shape does not fit: the mask, which comes before, does."""
    shapes = _shapes(failure)
    if shapes is None or keyword(call.node, "other") is None or failure.stage == "trace":
        return False
    inputs = failure.operation.inputs
    if keyword(call.node, "mask") is None or len(inputs) < 2:
        return False
    return inputs[-2].shape != shapes[0]


def _written(failure: Failure, sources: Library) -> str:
    call = gpu_call(failure, sources)
    return f"`{call.text(call.node.func)}`" if call is not None else "this"
