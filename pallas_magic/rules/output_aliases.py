"""# PM213: an alias between an operand and an output that do not match

## What it means
`input_output_aliases` pairs an operand with an output that has another shape or
dtype, or names an operand or output that does not exist.

## Why the hardware says no
An aliased output is written into the memory of its operand. The two must be the
same array in all but content.

## Fix
The keys count the operands of the call from 0, prefetched ones included; the
values count the outputs. Pair those that have the same shape and dtype.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def add(x_ref, total_ref, o_ref):
    o_ref[...] = total_ref[...] + jnp.sum(x_ref[...], axis=0, keepdims=True)


fn = pl.pallas_call(
    add,
    out_shape=jax.ShapeDtypeStruct((1, 128), jnp.float32),
    input_output_aliases={0: 0},
)
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32), jax.ShapeDtypeStruct((1, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def add(x_ref, total_ref, o_ref):
    o_ref[...] = total_ref[...] + jnp.sum(x_ref[...], axis=0, keepdims=True)


fn = pl.pallas_call(
    add,
    out_shape=jax.ShapeDtypeStruct((1, 128), jnp.float32),
    input_output_aliases={1: 0},
)
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32), jax.ShapeDtypeStruct((1, 128), jnp.float32)]
```

## Fix safety
Where one operand only has the shape and dtype of the output, it is the one that
can be meant; its number is offered and not called safe, as the alias decides
which array is overwritten.

## References
- Pallas documentation, `pallas_call`, parameter `input_output_aliases`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure, Ref
from pallas_magic.report import Diagnostic
from pallas_magic.rules._specs.wording import counted, diagnostic, keyword_of, operand_name
from pallas_magic.source.document import Library
from pallas_magic.source.resolve import Expression, resolve
from pallas_magic.source.specs import spec_call

code = "PM213"
name = "output-aliases"

_RAISED_IN = "jax.pallas.pallas_call.wrapped"
_TEXT = re.compile(r"input_output_aliases contains the mapping '(\d+):(\d+)'")
_OVERWRITES = "which array is overwritten is for you to decide"


def match(failure: Failure) -> bool:
    return failure.raised_in == _RAISED_IN and _TEXT.match(failure.text) is not None


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    number, output = _pair(failure)
    operands, outputs = _operands(failure), _outputs(failure)
    entry = _entry(failure, sources, number)
    if number >= len(operands):
        message = f"operand {number} is aliased; the call has {counted(len(operands), 'operand')}"
        mark = f"operands are 0 to {len(operands) - 1}" if operands else "no operand"
    elif output >= len(outputs):
        message = f"output {output} is aliased; the call has {counted(len(outputs), 'output')}"
        mark = f"outputs are 0 to {len(outputs) - 1}" if outputs else "no output"
    else:
        given, wanted = _type(operands[number]), _type(outputs[output])
        message = f"{operand_name(operands[number])}, {given}, is aliased with"
        message += f" {operand_name(outputs[output])}, {wanted}"
        mark = f"{given} and {wanted}"
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=message,
        primary=entry.syntax.span(entry.node) if entry is not None else None,
        mark=mark,
        notes=("operands are counted from 0, prefetched ones included",),
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    number, output = _pair(failure)
    outputs, entry = _outputs(failure), _entry(failure, sources, number)
    if output >= len(outputs) or entry is None:
        return
    alike = [
        at for at, ref in enumerate(_operands(failure)) if _type(ref) == _type(outputs[output])
    ]
    if len(alike) == 1 and (edit := entry.syntax.replace(entry.node, str(alike[0]))):
        yield Candidate(f"alias operand {alike[0]}", (edit,), why=_OVERWRITES)


def _pair(failure: Failure) -> tuple[int, int]:
    found = _TEXT.match(failure.text)
    assert found is not None
    return int(found[1]), int(found[2])


def _operands(failure: Failure) -> list[Ref]:
    return [ref for ref in failure.refs if ref.role in ("prefetch", "input")]


def _outputs(failure: Failure) -> list[Ref]:
    return [ref for ref in failure.refs if ref.role == "output"]


def _type(ref: Ref) -> str:
    """Dtype and shape of the whole array."""
    shape = ref.window.array if ref.window is not None else ref.shape
    return f"{ref.dtype}[{','.join(map(str, shape))}]"


def _entry(failure: Failure, sources: Library, number: int) -> Expression | None:
    """The key of the alias as it is written."""
    call = spec_call(sources, failure.call)
    given = keyword_of(call, "input_output_aliases")
    if call is None or given is None:
        return None
    aliases = resolve(sources, Expression(call.build_syntax, given.value))
    keys = aliases.node.keys if isinstance(aliases.node, ast.Dict) else []
    found = [key for key in keys if isinstance(key, ast.Constant) and key.value == number]
    return Expression(aliases.syntax, found[0]) if len(found) == 1 else None
