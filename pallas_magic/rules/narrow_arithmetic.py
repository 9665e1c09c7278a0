"""# PM404: arithmetic in a type that is for storage

## What it means
The kernel adds, multiplies, compares or reduces vectors of a type that a TPU loads,
stores and casts, and does not compute with: 8- and 4-bit integers and 8-bit floats; of
int16, bfloat16 and their like, single operations.

## Why the hardware says no
The vector unit has lanes of 32 bits, and halves of them for some operations on 16 bits.
Narrow types save memory and feed the matrix unit; for all else they are unpacked.

## Fix
Cast to int32 or float32 for the arithmetic, and back for the store.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def total(x_ref, y_ref, o_ref):
    o_ref[...] = x_ref[...] + y_ref[...]


fn = pl.pallas_call(total, out_shape=jax.ShapeDtypeStruct((32, 128), jnp.int8))
args = [jax.ShapeDtypeStruct((32, 128), jnp.int8)] * 2
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def total(x_ref, y_ref, o_ref):
    wide = x_ref[...].astype(jnp.int32) + y_ref[...].astype(jnp.int32)
    o_ref[...] = wide.astype(jnp.int8)


fn = pl.pallas_call(total, out_shape=jax.ShapeDtypeStruct((32, 128), jnp.int8))
args = [jax.ShapeDtypeStruct((32, 128), jnp.int8)] * 2
```

## Fix safety
Integers that are cast back wrap round as they did. Sums and products are cast back once,
at their end, which gives the same; everything else at each step. 8-bit floats are rounded
once less. Interpreted, both kernels must agree.

## References
- Pallas documentation, "TPU details": supported types.
- Compiled for TPU v4, v5e, v5p, v6e and v7x with libtpu 0.0.42.1, 0.0.50.1 and 0.0.52:
  `+ - *` and the larger or smaller of two are refused for int8, uint8, int4, uint4,
  float8_e4m3fn and float8_e5m2 by all; so are division and remainder of int8, int4 and
  int16, the larger or smaller of two int16 or uint16, and the remainder of bfloat16.
  That is told without a compiler.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic
from pallas_magic.rules._dtypes.widened import Arithmetic, wider, written_at
from pallas_magic.rules._refs.expressions import complete
from pallas_magic.rules._specs.wording import diagnostic
from pallas_magic.source.document import Library
from pallas_magic.source.names import spelled
from pallas_magic.source.syntax import Syntax, syntax_of

code = "PM404"
name = "narrow-arithmetic"

_OPERATIONS = {
    "add", "sub", "mul", "div", "rem", "max", "min", "pow", "neg", "abs", "sign", "integer_pow",
    "exp", "tanh", "sqrt", "rsqrt", "log", "sin", "floor", "round",
    "reduce_sum", "reduce_max", "reduce_min",
}  # fmt: skip
_TYPES = re.compile(r"u?int(4|8|16)|float8_\w+|bfloat16")
_TEXTS = (
    "Only vector<i16> and vector<i32> are supported",
    "failed to legalize operation",
    "Unsupported data type",
    "Unsupported element type for the selected reduction",
)
_REDUCTION = re.compile(r"Reductions over (u?int(4|8|16)|unsigned integers) not implemented")
_LONGEST = 48


def match(failure: Failure) -> bool:
    if failure.target.family != "tpu" or failure.primitive not in _OPERATIONS:
        return False
    if _TYPES.fullmatch(_type(failure)) is None:
        return False
    if failure.stage == "lower":
        return _REDUCTION.match(failure.text) is not None
    return failure.stage == "compile" and any(text in failure.text for text in _TEXTS)


def key(failure: Failure) -> object:
    return failure.stage


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    dtype = _type(failure)
    types = dict.fromkeys(_type(one) for one in (failure, *failure.also))
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=f"no TPU computes {_written(failure, sources)} in {dtype}",
        primary=None,
        mark=dtype,
        effects=[sources.span(later.place) for later in failure.also],
        notes=[f"{one} is computed with as {wider(one)}" for one in types],
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    every = (failure, *failure.also)
    syntax = syntax_of(sources, failure.place)
    if syntax is None:
        return
    types = {}
    for one in every:
        place = one.place
        node = written_at(syntax, place) if place is not None else None
        if place is None or node is None or place.filename != syntax.document.filename:
            return
        types[node] = _type(one)

    def name_of(dtype: str) -> str | None:
        return _spelled(sources, syntax, dtype)

    edits = Arithmetic(syntax, types, name_of).edits()
    if complete(edits):
        wide = " and ".join(dict.fromkeys(wider(dtype) for dtype in types.values()))
        exact = all("int" in dtype for dtype in types.values())
        yield Candidate(f"compute in {wide} and cast back", complete(edits), exact=exact)


def _spelled(sources: Library, syntax: Syntax, dtype: str) -> str | None:
    return spelled(sources, syntax.document, "jax.numpy", dtype)


def _type(failure: Failure) -> str:
    values = (*failure.operation.inputs, *failure.operation.outputs)
    return values[0].dtype if values else ""


def _written(failure: Failure, sources: Library) -> str:
    syntax = syntax_of(sources, failure.place)
    node = syntax.at(failure.place) if syntax is not None and failure.place is not None else None
    text = syntax.text(node) if syntax is not None and node is not None else ""
    return f"`{text}`" if text and len(text) <= _LONGEST and "\n" not in text else "this"
