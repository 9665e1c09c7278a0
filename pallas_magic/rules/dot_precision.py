"""# PM402: a precision that the operands of a product do not have

## What it means
`precision=lax.Precision.HIGHEST` (or `HIGH`) asks the matrix unit to multiply
float32 numbers in several passes. Operands of another type have one pass only, and
the compiler of every TPU refuses the request.

## Why the hardware says no
The matrix unit multiplies bfloat16. A float32 number is split into bfloat16 parts,
three for `HIGH` and `HIGHEST`, and the products of the parts are added up. A
bfloat16 number has one part: there is nothing to split, and one pass is exact already.

## Fix
Leave `precision` out for bfloat16 and integer operands: their products are exact,
and sums are kept in the type of `preferred_element_type`. Where one operand is
float32, cast the other one to float32 to keep the precision.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl


def product(a_ref, b_ref, o_ref):
    o_ref[...] = jnp.dot(
        a_ref[...],
        b_ref[...],
        precision=lax.Precision.HIGHEST,
        preferred_element_type=jnp.float32,
    )


fn = pl.pallas_call(product, out_shape=jax.ShapeDtypeStruct((128, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((128, 128), jnp.bfloat16)] * 2
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def product(a_ref, b_ref, o_ref):
    o_ref[...] = jnp.dot(a_ref[...], b_ref[...], preferred_element_type=jnp.float32)


fn = pl.pallas_call(product, out_shape=jax.ShapeDtypeStruct((128, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((128, 128), jnp.bfloat16)] * 2
```

## Fix safety
Without `precision` the products of bfloat16 numbers are what they were: each is
exact in float32. A cast to float32 changes no number. Where one operand is float32,
leaving `precision` out rounds it to bfloat16; that is not called safe.

## References
- JAX documentation, `jax.lax.Precision`.
- Compiled for TPU v4, v5e, v5p, v6e and v7x with libtpu 0.0.42.1, 0.0.50.1 and
  0.0.52: all refuse it, for products of 16 shapes. It is told without a compiler.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.matrix_units import PASSES_LEFT, PASSES_RIGHT
from pallas_magic.report import Diagnostic
from pallas_magic.rules._dtypes.products import Product, Types, product
from pallas_magic.rules._operations.wording import key as key
from pallas_magic.rules._specs.wording import diagnostic
from pallas_magic.source.calls import remove_keyword
from pallas_magic.source.document import Library

code = "PM402"
name = "dot-precision"

_NO_HIGH = "Unsupported dot precision: HIGH"
_ROUNDS = "the float32 operand is rounded to bfloat16"


def match(failure: Failure) -> bool:
    if failure.primitive != "dot_general":
        return False
    refused = failure.stage == "compile" and failure.text.startswith((PASSES_LEFT, PASSES_RIGHT))
    return refused or failure.text.startswith(_NO_HIGH)


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    one = product(failure, sources)
    given = one.given("precision") if one is not None else None
    written = (
        f"`{one.one.text(given.value)}`" if one is not None and given else "the precision asked for"
    )
    if failure.text.startswith(_NO_HIGH):
        message = f"{written} is not implemented by this JAX; `HIGHEST` is"
        mark = "not implemented"
    else:
        message = f"{written} is for float32 operands; {_wrong(failure, one)}"
        mark = "for float32 only"
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=message,
        primary=one.one.syntax.span(given) if one is not None and given is not None else None,
        mark=mark,
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    one = product(failure, sources)
    given = one.given("precision") if one is not None else None
    if one is None or given is None or one.call is None:
        return
    if failure.text.startswith(_NO_HIGH):
        yield from _more_precise(one, given.value)
        return
    left, right = _types(failure)
    if "float32" in (left, right):
        types = Types(right="float32") if left == "float32" else Types(left="float32")
        if edits := one.made_of(types):
            wrong = one.text(one.right if left == "float32" else one.left)
            yield Candidate(f"cast {f'`{wrong}`' if wrong else 'the other'} to float32", edits)
    if (edit := remove_keyword(one.one.syntax, one.call, given)) is not None:
        loses = "float32" in (left, right)
        yield Candidate(
            "leave `precision` out",
            (edit,),
            "unsafe" if loses else "safe",
            exact=False,
            why=_ROUNDS if loses else "",
        )


def _more_precise(one: Product, value: ast.expr) -> Iterator[Candidate]:
    precision = one.one.lax("Precision")
    edit = one.one.syntax.replace(value, f"{precision}.HIGHEST") if precision else None
    if edit is not None:
        yield Candidate("use `HIGHEST`", (edit,), exact=False)


def _types(failure: Failure) -> tuple[str, str]:
    inputs = [value.dtype for value in failure.operation.inputs]
    return (inputs[0], inputs[1]) if len(inputs) == 2 else ("", "")


def _wrong(failure: Failure, one: Product | None) -> str:
    """The operands that are not float32, by what they are called."""
    types = _types(failure)
    texts = one.operands() if one is not None else ("", "")
    wrong = [(text, dtype) for text, dtype in zip(texts, types, strict=True) if dtype != "float32"]
    if len(wrong) == 2 and wrong[0][1] == wrong[1][1]:
        named = " and ".join(f"`{text}`" for text, _ in wrong if text) or "the operands"
        return f"{named} are {wrong[0][1]}"
    return " and ".join(
        f"{f'`{text}`' if text else 'an operand'} is {kind}" for text, kind in wrong
    )
