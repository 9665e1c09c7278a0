"""# PM403: a product of types that the matrix unit does not multiply

## What it means
The matrix unit of the chip does not multiply operands of these types, or does not
keep sums of this type. Sums are kept in 32 bits: without `preferred_element_type`,
a product of bfloat16 matrices asks for sums in bfloat16.

## Why the hardware says no
A matrix unit has fixed multipliers and fixed adders behind them. All TPUs multiply
bfloat16 (float32 in several passes) and add in float32. TPU v5e, v5p, v6e and v7x
multiply int8 and int4 too, and add in int32; TPU v4 does not. All but TPU v4 multiply
8-bit floats. TPU v7x also takes two integers of different types; the others do not.
Two int32 or two int16 matrices no TPU multiplies, nor unsigned integers.

## Fix
- Give `preferred_element_type=jnp.float32` (`jnp.int32` for integers) and cast the
  result to the type you want.
- Cast narrow integers to bfloat16, which holds all numbers of 8 bits, and the sums back.
- Cast int32 to float32, with `precision=lax.Precision.HIGHEST`, or to int8 where the
  numbers fit.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def product(a_ref, b_ref, o_ref):
    o_ref[...] = jnp.dot(a_ref[...], b_ref[...])


fn = pl.pallas_call(product, out_shape=jax.ShapeDtypeStruct((128, 128), jnp.bfloat16))
args = [jax.ShapeDtypeStruct((128, 128), jnp.bfloat16)] * 2
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def product(a_ref, b_ref, o_ref):
    total = jnp.dot(a_ref[...], b_ref[...], preferred_element_type=jnp.float32)
    o_ref[...] = total.astype(jnp.bfloat16)


fn = pl.pallas_call(product, out_shape=jax.ShapeDtypeStruct((128, 128), jnp.bfloat16))
args = [jax.ShapeDtypeStruct((128, 128), jnp.bfloat16)] * 2
```

## Fix safety
Sums in 32 bits are those that a TPU makes anyway; interpreted, both kernels must give
the same numbers within the rounding of the narrow type. Through float32, sums of
integers are exact up to 2**24: where the operands can exceed it, the fix says so and is
not called safe. A cast to int8 cuts large numbers off and is never called safe.

## References
- Pallas documentation, "TPU details": supported types.
- Compiled for every pair of types, for TPU v4, v5e, v5p, v6e and v7x, with libtpu
  0.0.42.1, 0.0.50.1 and 0.0.52. What they refuse is told without a compiler.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.matrix_units import NO_SUCH_TYPE, PRODUCT_TEXTS, chips_that_multiply
from pallas_magic.report import Applicability, Diagnostic
from pallas_magic.rules._dtypes.product_types import Asked, offers
from pallas_magic.rules._dtypes.products import product
from pallas_magic.rules._operations.wording import key as key
from pallas_magic.rules._specs.wording import diagnostic
from pallas_magic.source.document import Library

code = "PM403"
name = "dot-types"

_NARROW_SUM = "Expected matmul acc to be 32-bit"
_UNSIGNED = "is not supported for dot_general (matmul)"
_COMPILER_TEXTS = (*PRODUCT_TEXTS, NO_SUCH_TYPE, "Unsupported type for matmul", "E2001")


def match(failure: Failure) -> bool:
    if failure.primitive != "dot_general" or len(failure.operation.inputs) != 2:
        return False
    if failure.stage == "compile":
        return any(text in failure.text for text in _COMPILER_TEXTS)
    return _NARROW_SUM in failure.text or _UNSIGNED in failure.text


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    asked = _asked(failure)
    notes = [] if failure.target.name == "tpu:v7x" else [*_takers(asked)]
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=_message(failure, asked),
        primary=None,
        mark=f"{asked.left} by {asked.right}, sums in {asked.total}",
        notes=notes,
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    one = product(failure, sources)
    if one is None:
        return
    for offer in offers(_asked(failure)):
        if edits := one.made_of(offer.types):
            limit: Applicability = "unsafe" if offer.why else "safe"
            yield Candidate(offer.title, edits, limit, exact=offer.exact, why=offer.why)


def _asked(failure: Failure) -> Asked:
    left, right = failure.operation.inputs
    outputs = failure.operation.outputs
    total = outputs[0].dtype if outputs else ""
    sizes = math.prod(left.shape) * math.prod(right.shape)
    terms = math.isqrt(sizes // max(math.prod(outputs[0].shape), 1)) if outputs else sizes
    return Asked(left.dtype, right.dtype, total, terms, failure.target)


def _message(failure: Failure, asked: Asked) -> str:
    chip = failure.target.title
    operands = f"{asked.left} by {asked.right}"
    if _NARROW_SUM in failure.text:
        return f"this product asks for sums in {asked.total}; a TPU keeps them in 32 bits"
    if _UNSIGNED in failure.text:
        return "no TPU multiplies matrices of unsigned integers"
    if chips_that_multiply(asked.left, asked.right, _natural(asked)):
        other_sums = asked.total != _natural(asked)
        if other_sums and failure.target.name[4:] in _chips(asked):
            return f"{chip} multiplies {operands} with sums in {_natural(asked)} only"
        return f"{chip} does not multiply {operands}"
    return f"no TPU multiplies {operands}"


def _natural(asked: Asked) -> str:
    """The type in which a matrix unit adds up such products."""
    return "float32" if asked.is_float else "int32"


def _chips(asked: Asked) -> tuple[str, ...]:
    return chips_that_multiply(asked.left, asked.right, _natural(asked))


def _takers(asked: Asked) -> Iterator[str]:
    chips = chips_that_multiply(asked.left, asked.right, asked.total)
    if chips and not asked.left.startswith("uint") and asked.total.endswith("32"):
        told = ", ".join(chips[:-1]) + " and " + chips[-1] if len(chips) > 1 else chips[0]
        verb = "take" if len(chips) > 1 else "takes"
        yield f"TPU {told} {verb} it"
