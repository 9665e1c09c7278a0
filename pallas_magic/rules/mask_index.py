"""# PM607: an array indexed with a mask

## What it means
An array is indexed with booleans, as in `x[x > 0]`. How many elements that
selects is known only when the kernel runs.

## Why the hardware says no
The kernel is written down before there is any data, and every array in it has a
shape of its own from then on.

## Fix
Keep the shape and choose for each element with `jnp.where(mask, x, 0)`. To reduce
what a mask selects, put in what changes nothing: 0 for a sum.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def keep_positive(x_ref, o_ref):
    x = x_ref[...]
    o_ref[...] = x[x > 0]


fn = pl.pallas_call(keep_positive, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def keep_positive(x_ref, o_ref):
    x = x_ref[...]
    o_ref[...] = jnp.where(x > 0, x, 0)


fn = pl.pallas_call(keep_positive, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Fix safety
In a sum, 0 for what the mask leaves out is the same sum, which is safe.
Elsewhere it keeps the shape instead of gathering what is selected; that is
offered and not called safe.

## References
- JAX documentation, "Errors": `NonConcreteBooleanIndexError`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic
from pallas_magic.rules._refs.expressions import Failing, failing, numpy_name
from pallas_magic.rules._specs.wording import diagnostic
from pallas_magic.source.document import Library
from pallas_magic.source.syntax import identifier

code = "PM607"
name = "mask-index"

_ERROR = "NonConcreteBooleanIndexError"
_KEEPS = "it keeps the shape and puts 0 where the mask is false"


def match(failure: Failure) -> bool:
    return failure.stage == "trace" and failure.error_type == _ERROR


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    found = failing(failure, sources)
    mask = _mask(found)
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message="a mask selects as many elements as it has true ones,"
        " which is known only when the kernel runs",
        primary=found.syntax.span(mask) if found is not None and mask is not None else None,
        mark="mask",
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    found = failing(failure, sources)
    mask = _mask(found)
    if found is None or mask is None or not isinstance(found.node, ast.Subscript):
        return
    where = numpy_name(sources, found.syntax, "where")
    if where is None or not isinstance(found.node.ctx, ast.Load):
        return
    value = found.syntax.text(found.node.value)
    text = f"{where}({found.syntax.text(mask)}, {value}, 0)"
    if edit := found.syntax.replace(found.node, text):
        summed = _is_summed(found)
        why = "" if summed else _KEEPS
        yield Candidate("choose with `jnp.where`", (edit,), mechanical=summed, why=why)


def _mask(found: Failing | None) -> ast.expr | None:
    """The mask, if it is the only index."""
    if found is None or not isinstance(found.node, ast.Subscript):
        return None
    index = found.node.slice
    return None if isinstance(index, (ast.Tuple, ast.Slice)) else index


def _is_summed(found: Failing) -> bool:
    """Whether all that is selected is added up at once."""
    parent = found.syntax.parent(found.node)
    if isinstance(parent, ast.Attribute):
        call = found.syntax.parent(parent)
        return parent.attr == "sum" and isinstance(call, ast.Call) and not call.args
    if not isinstance(parent, ast.Call) or parent.args != [found.node] or parent.keywords:
        return False
    return identifier(parent.func) == "sum"
