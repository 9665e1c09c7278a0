"""# PM306: something that Triton has in part

## What it means
Triton has the operation, or the option of `pl.pallas_call`, but not in this form:
a running sum from the end, a product with a vector, a product of two types,
arrays put together along another axis than the last, atomic updates of narrow
numbers, float8_e4m3fn on A100, scratch memory, scalar prefetch, a grid of more than
three axes.

## Why the hardware says no
What Triton can do with an array follows from how its elements lie in registers:
it can reduce, scan forwards and multiply matrices; what would move elements from
thread to thread in another way it leaves out. Memory is updated atomically in words
of 32 bits; A100 has no instruction that makes float8_e4m3fn, which came later. A
CUDA launch has three axes.

## Fix
- A running sum from the end: the sum of all, less the running sum, plus the
  element itself.
- A product with a vector: multiply, and sum along the axis.
- A product of two types: convert one of the operands.
- Put arrays together by storing each to its part of a ref.
- Atomic updates: `int32`, `uint32` or `float32`; `float16` can be added.
- On A100: `float8_e5m2`, which is converted on every chip.
- Scratch: keep values in registers, or use an output. Prefetched scalars: load
  them in the kernel. More axes than three: fold two into one.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plt


def from_the_end(x_ref, o_ref):
    o_ref[...] = lax.cumsum(x_ref[...], axis=0, reverse=True)


fn = pl.pallas_call(
    from_the_end,
    out_shape=jax.ShapeDtypeStruct((16, 16), jnp.float32),
    compiler_params=plt.CompilerParams(),
)
args = [jax.ShapeDtypeStruct((16, 16), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plt


def from_the_end(x_ref, o_ref):
    x = x_ref[...]
    o_ref[...] = jnp.sum(x, axis=0, keepdims=True) - lax.cumsum(x, axis=0) + x


fn = pl.pallas_call(
    from_the_end,
    out_shape=jax.ShapeDtypeStruct((16, 16), jnp.float32),
    compiler_params=plt.CompilerParams(),
)
args = [jax.ShapeDtypeStruct((16, 16), jnp.float32)]
```

## Fix safety
Sums in another order agree up to the rounding of their type. To convert the
narrower operand of a product loses nothing.

## References
- PM301 (operations that Triton does not have at all), PM305 (sizes).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic
from pallas_magic.rules._memory.assignment import all_or_none
from pallas_magic.rules._operations.called import Called, called
from pallas_magic.rules._operations.choices import choice_fixes
from pallas_magic.rules._operations.lines import named, parenthesised
from pallas_magic.rules._operations.wording import what_was_written
from pallas_magic.rules._specs.wording import diagnostic
from pallas_magic.source.document import Library

code = "PM306"
name = "triton-limits"

_JOINED = "puts arrays together in a way that Triton does not have"
_TWICE = "indexes what is indexed already, which Triton does not have"
_LIMITS = {
    "Only 2-argument concatenate is supported": _JOINED,
    "Only concatenate along the last dimension": _JOINED,
    "Only arguments with shape [..., 1] are supported": _JOINED,
    "Only 2-argument stack is supported": _JOINED,
    "Only stack along the last dimension": _JOINED,
    "Only unstack ": "takes an array apart in a way that Triton does not have",
    "Only power-of-2 num parts": "takes an array apart in a way that Triton does not have",
    "Only equal-sized splits": "takes an array apart in a way that Triton does not have",
    "Reverse cumsum is not supported": "adds from the end, which Triton does not have",
    "a and b must be 2D": "multiplies what is no matrix, which Triton does not have",
    "a and b must have the same element type": "multiplies two types, which Triton does not have",
    "Unsigned integer dtype": "multiplies unsigned integers, which Triton does not have",
    "Only single indexer is supported": _TWICE,
    "No support for multiple indexers yet": _TWICE,
    "approx_tanh does not accept": "is of floats, and is given other numbers",
    "All arguments of elementwise_inline_asm": "is given arrays of several shapes, and takes one",
    "ref must be scalar": "swaps one number, and is given a ref of more axes",
    "cmp and val must have identical": "is given numbers of two types or shapes to swap",
}
_CAST = re.compile(r"cannot cast (to|from) `(\w+)`")
_ATOMIC = re.compile(r"`atomic_(\w+)` does not support (\w+)")
_POLICY = re.compile(r"unsupported (cache modifier|eviction policy): (\S*)")
_CHOICES = {
    "cache modifier": "`.ca` and `.cg`",
    "eviction policy": "`evict_normal`, `evict_first` and `evict_last`",
}
_UPDATED = {
    "add": "int32, uint32, float16 and float32 can be added",
    "max": "float32 can be updated",
    "min": "float32 can be updated",
}
_LATER = "float8_e4m3fn"
_DTYPES = {"f16": "float16"}
_OPTIONS = {
    "scalar prefetch not implemented in the Triton backend": "scalar prefetch",
    "scratch memory not implemented in the Triton backend": "scratch memory",
    "dynamic grid bounds not supported in the Triton backend": "grids of sizes known at run time",
    "mesh is not supported in the Triton backend": "meshes",
    "`grid` should have three or fewer dimensions": "grids of more than three axes",
    "Pipeline mode is not supported in Triton lowering": "a pipeline mode",
}
_WIDTHS = {"float16": 16, "bfloat16": 16, "float32": 32, "int8": 8, "int32": 32}


def match(failure: Failure) -> bool:
    by_pattern = any(one.match(failure.text) for one in (_CAST, _ATOMIC, _POLICY))
    by_start = failure.text.startswith((*_LIMITS, *_OPTIONS))
    return "triton" in failure.raised_in and (by_pattern or by_start)


def key(failure: Failure) -> object:
    return failure.place or failure.text


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    message, mark, note = _said(failure, sources)
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=message,
        primary=None,
        mark=mark,
        notes=[note] if note else [],
    )


def _said(failure: Failure, sources: Library) -> tuple[str, str, str]:
    """The message, what is said at the mark, and a note."""
    written = what_was_written(failure, sources)
    if (cast := _CAST.match(failure.text)) is not None:
        return _of_cast(failure, f"{written} converts {cast[1]} {cast[2]}", cast[2])
    if (atomic := _ATOMIC.match(failure.text)) is not None:
        dtype = _DTYPES.get(atomic[2], atomic[2])
        message = f"{written} updates {dtype}, which Triton cannot do in one step"
        return message, "not in Triton", _UPDATED.get(atomic[1], "int32 can be updated")
    if (policy := _POLICY.match(failure.text)) is not None:
        message = f"{written} is given the {policy[1]} `{policy[2]}`, which Triton does not have"
        return message, "not in Triton", f"Triton has {_CHOICES[policy[1]]}"
    said = next((words for text, words in _LIMITS.items() if failure.text.startswith(text)), "")
    if written.endswith("select`"):
        said = "chooses among more than two values, which Triton does not have"
    if said:
        return f"{written} {said}", "not in Triton", ""
    option = next(words for text, words in _OPTIONS.items() if failure.text.startswith(text))
    message = f"`{failure.kernel}` is called with {option}, which Triton does not have"
    return message, "not in Triton", ""


def _of_cast(failure: Failure, message: str, dtype: str) -> tuple[str, str, str]:
    if dtype != _LATER:
        return f"{message}, which Triton does not have", "not in Triton", ""
    title = failure.target.title
    note = f"float8_e5m2 is converted on {title} too"
    return f"{message}, which is of H100 and B200, not of {title}", f"not on {title}", note


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    one = called(failure, sources)
    if one is None:
        return
    text = failure.text
    if text.startswith("Reverse cumsum"):
        yield from _from_the_end(one)
    elif text.startswith("a and b must be 2D"):
        yield from _with_a_vector(one)
    elif text.startswith("a and b must have the same"):
        yield from _one_type(one)
    elif one.name == "select":
        yield from choice_fixes(one)


def _from_the_end(one: Called) -> Iterator[Candidate]:
    operand, axis, total = one.operand(), one.operation.parameter("axis"), one.numpy("sum")
    if operand is None or not isinstance(axis, int) or total is None or one.name != "cumsum":
        return
    if not isinstance(one.node, ast.Call):
        return
    function = one.text(one.node.func)

    def use(x: str) -> str:
        whole = f"{total}({x}, axis={axis}, keepdims=True)"
        return f"{whole} - {function}({x}, axis={axis}) + {x}"

    if edits := named(one, operand, use, "x", "value"):
        yield Candidate(
            "take the running sum from the sum of all; rounds as that does", edits, exact=False
        )


def _with_a_vector(one: Called) -> Iterator[Candidate]:
    """`a @ v` for a matrix and a vector."""
    inputs, total = one.operation.inputs, one.numpy("sum")
    pair = _operands(one)
    if len(inputs) != 2 or pair is None or total is None:
        return
    if (len(inputs[0].shape), len(inputs[1].shape)) != (2, 1):
        return
    left, right = (parenthesised(one, side) for side in pair)
    edits = all_or_none((one.syntax.replace(one.node, f"{total}({left} * {right}, axis=1)"),))
    if edits:
        yield Candidate("multiply, and sum each row", edits, exact=False)


def _one_type(one: Called) -> Iterator[Candidate]:
    """The narrower operand converted."""
    inputs, pair = one.operation.inputs, _operands(one)
    if len(inputs) != 2 or pair is None:
        return
    widths = [_WIDTHS.get(value.dtype) for value in inputs]
    if None in widths or widths[0] == widths[1]:
        return
    narrow = widths.index(min(width for width in widths if width is not None))
    dtype = one.numpy(inputs[1 - narrow].dtype)
    if dtype is None:
        return
    text = f"{parenthesised(one, pair[narrow])}.astype({dtype})"
    if edits := all_or_none((one.syntax.replace(pair[narrow], text),)):
        yield Candidate(f"convert the {inputs[narrow].dtype} operand", edits, exact=False)


def _operands(one: Called) -> tuple[ast.expr, ast.expr] | None:
    node = one.node
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return node.left, node.right
    if isinstance(node, ast.Call) and one.name in ("dot", "matmul") and len(node.args) == 2:
        return node.args[0], node.args[1]
    return None
