"""# PM307: a roll backwards, or along an axis counted from the end

## What it means
`pltpu.roll(x, shift, axis)` takes a shift that is not negative, and an axis counted
from the front. `jnp.roll` takes both signs of both.

## Why the hardware says no
The instruction rotates lanes or sublanes one way round. Backwards by one is forwards
by all but one.

## Fix
- `pltpu.roll(x, x.shape[1] - 1, 1)` for a shift of -1 along axis 1.
- `x.ndim - 1` for the axis -1.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def turned(x_ref, o_ref):
    o_ref[...] = pltpu.roll(x_ref[...], -1, 1)


fn = pl.pallas_call(turned, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def turned(x_ref, o_ref):
    o_ref[...] = pltpu.roll(x_ref[...], x_ref.shape[1] - 1, 1)


fn = pl.pallas_call(turned, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Fix safety
A rotation by the length less one is one backwards: the edit says what was meant, and
is safe where the kernel then lowers.

## References
- Pallas documentation, `pltpu.roll`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic
from pallas_magic.rules._refs.expressions import Failing, failing
from pallas_magic.rules._specs.wording import diagnostic
from pallas_magic.source.calls import argument
from pallas_magic.source.document import Library

code = "PM307"
name = "roll-arguments"

_RAISED_IN = "jax.pallas.mosaic.primitives.roll"
_SHIFT = "shift must be non-negative"
_AXIS = "axis is out of range"


def match(failure: Failure) -> bool:
    return failure.raised_in == _RAISED_IN and failure.text.startswith((_SHIFT, _AXIS))


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    one = failing(failure, sources)
    is_shift = failure.text.startswith(_SHIFT)
    node = _given(one, is_shift)
    written = _function(one)
    if is_shift:
        message, mark = f"{written} rolls forwards only; its shift is negative", "negative"
    elif one is not None and node is not None and _negative(node):
        message, mark = f"{written} counts axes from the front only", "from the end"
    else:
        message, mark = f"{written} is told an axis that its operand does not have", "no such axis"
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=message,
        primary=one.syntax.span(node) if one is not None and node is not None else None,
        mark=mark,
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    one, is_shift = failing(failure, sources), failure.text.startswith(_SHIFT)
    node, operand = _given(one, is_shift), _operand(one)
    if one is None or node is None or not operand:
        return
    amount, axis = _negative(node), _literal(_given(one, False))
    if not amount or (is_shift and axis is None):
        return
    if is_shift:
        text, title = f"{operand}.shape[{axis}] - {amount}", "roll forwards by the rest"
    else:
        text, title = f"{operand}.ndim - {amount}", "count the axis from the front"
    edit = one.syntax.replace(node, text)
    if edit is not None:
        yield Candidate(title, (edit,), mechanical=True)


def _function(one: Failing | None) -> str:
    """The function as the user writes it."""
    if one is None or not isinstance(one.node, ast.Call):
        return "`pltpu.roll`"
    return f"`{one.syntax.text(one.node.func)}`"


def _given(one: Failing | None, is_shift: bool) -> ast.expr | None:
    """The shift of the roll, or its axis."""
    if one is None or not isinstance(one.node, ast.Call):
        return None
    return argument(one.node, "shift", 1) if is_shift else argument(one.node, "axis", 2)


def _operand(one: Failing | None) -> str:
    """The name of what is rolled, or of the ref that is loaded as a whole for it."""
    node = argument(one.node, "x", 0) if one and isinstance(one.node, ast.Call) else None
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        node = node.value if node.slice.value is Ellipsis else None
    return node.id if isinstance(node, ast.Name) else ""


def _negative(node: ast.expr) -> int:
    """The amount of a negative number that is written out, else 0."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return _literal(node.operand) or 0
    return 0


def _literal(node: ast.expr | None) -> int | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    return None
