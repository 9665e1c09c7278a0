"""# PM623: an element of a value assigned

## What it means
A kernel assigns to a part of a value, `x[0] = 0.0`, that it has loaded or worked
out.

## Why the hardware says no
A value lives in registers, and JAX's values never change: a new one takes their
place. What can be stored to is a ref.

## Fix
- store to the ref: `o_ref[0, :] = ...`;
- choose under a mask: `x = jnp.where(rows == 0, 0.0, x)`, with `rows` counting
  along the axis.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl


def clear_first(x_ref, o_ref):
    x = x_ref[...]
    x[0] = 0.0
    o_ref[...] = x


fn = pl.pallas_call(clear_first, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl


def clear_first(x_ref, o_ref):
    x = x_ref[...]
    x = jnp.where(lax.broadcasted_iota(jnp.int32, x.shape, 0) == 0, 0.0, x)
    o_ref[...] = x


fn = pl.pallas_call(clear_first, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Fix safety
The mask sets the elements of one row, of one column, or those where a condition
holds, to a number, and is safe for an index that is a number from 0 on. An array
that is assigned to a row may bring its own type, and is not called safe; one for a
column would be laid along the row, and gets no fix. Another name that
stands for the same value keeps the old one, as it does everywhere in JAX.

## References
- JAX documentation, "In-place updates": `x.at[...]`, which a TPU does not have
  (PM301).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic
from pallas_magic.rules._refs.expressions import Failing, failing, numpy_name
from pallas_magic.rules._specs.wording import diagnostic
from pallas_magic.source.document import Library
from pallas_magic.source.names import spelled

code = "PM623"
name = "item-assignment"

_TYPE = "what is assigned may have another type, which the whole value then takes"
_TEXT = "JAX arrays are immutable"


def match(failure: Failure) -> bool:
    return failure.stage == "trace" and failure.error_type == "TypeError" and _TEXT in failure.text


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    found = failing(failure, sources)
    target = _target(found)
    whose = f"`{found.syntax.text(target.value)}`" if found is not None and target else "this"
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=f"{whose} is a value, which does not change; only refs are stored to",
        primary=found.span() if found is not None else None,
        mark="assigned",
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    found = failing(failure, sources)
    target, statement = _target(found), found.statement if found is not None else None
    if found is None or target is None or not isinstance(target.value, ast.Name):
        return
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return
    where = numpy_name(sources, found.syntax, "where")
    mask = _mask(found, target, sources)
    if where is None or mask is None:
        return
    x, value = target.value.id, found.syntax.text(statement.value)
    is_number = _is_number(statement.value, failure)
    if not is_number and not _is_first_axis(target):
        # An array would be laid along the last axis, whatever it was meant for.
        return
    edit = found.syntax.replace(statement, f"{x} = {where}({mask}, {value}, {x})")
    if edit is not None:
        why = "" if is_number else _TYPE
        title = "choose the elements under a mask"
        yield Candidate(title, (edit,), mechanical=is_number, why=why)


def _target(found: Failing | None) -> ast.Subscript | None:
    node = found.node if found is not None else None
    return node if isinstance(node, ast.Subscript) else None


def _mask(found: Failing, target: ast.Subscript, sources: Library) -> str | None:
    """Where one number is given for one axis and all of the others are taken, or a condition."""
    iota = spelled(sources, found.syntax.document, "jax.lax", "broadcasted_iota")
    int32 = numpy_name(sources, found.syntax, "int32")
    index = list(target.slice.elts) if isinstance(target.slice, ast.Tuple) else [target.slice]
    given = [axis for axis, part in enumerate(index) if not _is_whole(part)]
    if len(index) == 1 and isinstance(index[0], ast.Compare):
        return found.syntax.text(index[0])
    if iota is None or int32 is None or len(given) != 1:
        return None
    number = index[given[0]]
    if not isinstance(number, ast.Constant) or type(number.value) is not int or number.value < 0:
        return None
    assert isinstance(target.value, ast.Name)
    return f"{iota}({int32}, {target.value.id}.shape, {given[0]}) == {number.value}"


def _is_number(value: ast.expr, failure: Failure) -> bool:
    """Whether a number is assigned that leaves the type of the value as it is."""
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub):
        value = value.operand
    if not isinstance(value, ast.Constant):
        return False
    only_floats = all("float" in ref.dtype for ref in failure.refs)
    return type(value.value) is int or (type(value.value) is float and only_floats)


def _is_first_axis(target: ast.Subscript) -> bool:
    """Whether the index is of the first axis alone, so that what is assigned fits the rest."""
    index = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
    return isinstance(index[0], ast.Constant) and all(map(_is_whole, index[1:]))


def _is_whole(part: ast.expr) -> bool:
    return isinstance(part, ast.Slice) and not (part.lower or part.upper or part.step)
