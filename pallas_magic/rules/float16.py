"""# PM401: float16 on a TPU

## What it means
An operand of the kernel, or a value in it, is of type float16. No TPU computes with it,
and the compiler refuses a kernel that takes a float16 array even where it never reads it.

## Why the hardware says no
The 16-bit float of TPUs is bfloat16: the exponent of float32 with 8 bits of precision.
float16 has 11 bits of precision and a small exponent, and there is nothing in the vector
unit, the matrix unit or the load path that reads it.

## Fix
Use bfloat16, or float32 where its precision is too little: cast the arrays before the
call, and give `out_shape` and scratch buffers the same type.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def double(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2


fn = pl.pallas_call(double, out_shape=jax.ShapeDtypeStruct((16, 128), jnp.float16))
args = [jax.ShapeDtypeStruct((16, 128), jnp.float16)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def double(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2


fn = pl.pallas_call(double, out_shape=jax.ShapeDtypeStruct((16, 128), jnp.bfloat16))
args = [jax.ShapeDtypeStruct((16, 128), jnp.bfloat16)]
```

## Fix safety
bfloat16 has fewer digits than float16 and a larger range: results differ, so that the
change is never called safe. Where the call returns float16 it is only an idea, and
where it takes float16 there is no ready fix: arrays have to be cast outside the kernel.

## References
- Pallas documentation, "TPU details": supported types.
- Compiled for TPU v4, v5e, v5p, v6e and v7x with libtpu 0.0.42.1, 0.0.50.1 and
  0.0.52: all refuse float16 inputs, loads, stores and casts. It is told without a compiler.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure, Ref
from pallas_magic.report import Diagnostic, Label, TextEdit
from pallas_magic.rules._refs.expressions import complete
from pallas_magic.rules._resources.wording import ref_span
from pallas_magic.rules._specs.kernels import kernel_text
from pallas_magic.rules._specs.wording import diagnostic, operand_name
from pallas_magic.source.document import Library
from pallas_magic.source.names import spelled
from pallas_magic.source.specs import spec_call
from pallas_magic.source.syntax import Syntax, identifier

code = "PM401"
name = "float16"

_OPERANDS = "Only arguments with float8"
_CAST = "Unsupported cast: "
_OTHERS = "TPUs compute with bfloat16 and float32"
_CAST_BEFORE = f"{_OTHERS}: cast the arrays before the call"
_FEWER_DIGITS = "bfloat16 has fewer digits than float16"
_GIVEN = "the call returns bfloat16 then"


def match(failure: Failure) -> bool:
    if failure.target.family != "tpu":
        return False
    values = (*failure.operation.inputs, *failure.operation.outputs)
    has_half = any(value.dtype == "float16" for value in values)
    if failure.stage == "lower":
        return failure.text.startswith(_CAST) and has_half
    if failure.text.startswith(_OPERANDS):
        return bool(_half_refs(failure))
    is_half = failure.ref is not None and failure.ref.dtype == "float16"
    return failure.stage == "compile" and (has_half or is_half)


def key(failure: Failure) -> object:
    return failure.stage == "lower" and failure.place


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    refs = _half_refs(failure)
    if failure.stage == "lower":
        message = f"no TPU has float16: {failure.text.removeprefix(_CAST).strip().rstrip('.')}"
        message += " is not implemented"
    elif refs:
        names = [operand_name(ref) for ref in refs]
        told = ", ".join(names[:-1]) + " and " + names[-1] if len(names) > 1 else names[0]
        message = f"{told} {'hold' if len(names) > 1 else 'holds'} float16, which no TPU has"
    else:
        message = "this makes float16 values, which no TPU has"
    first = failure.place is None and failure.ref is not None
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=message,
        primary=ref_span(failure, failure.ref, sources) if first and failure.ref else None,
        mark="float16",
        effects=[sources.span(later.place) for later in failure.also],
        causes=_causes(failure, sources, refs),
        notes=(_CAST_BEFORE if _is_given(failure) else _OTHERS,),
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    edits = _replaced(failure, sources)
    if not edits or _is_given(failure):
        return
    if any(ref.role == "output" for ref in _half_refs(failure)):
        yield Candidate("use bfloat16", edits, "display", why=_GIVEN)
    else:
        yield Candidate("use bfloat16", edits, "unsafe", why=_FEWER_DIGITS)


def _is_given(failure: Failure) -> bool:
    """Whether the caller hands float16 arrays to the call."""
    return any(ref.role in ("input", "prefetch") for ref in _half_refs(failure))


def _half_refs(failure: Failure) -> list[Ref]:
    return [ref for ref in failure.refs if ref.dtype == "float16"]


def _causes(failure: Failure, sources: Library, refs: list[Ref]) -> Iterator[Label]:
    """Where the type of an output or of a scratch buffer is written."""
    call = spec_call(sources, failure.call)
    if call is None or all(ref.role in ("input", "prefetch") for ref in refs):
        return
    for node in dict.fromkeys((call.build, call.node)):
        syntax = call.build_syntax if node is call.build else call.syntax
        for found in _halves(node):
            if (span := syntax.span(found)) is not None:
                yield Label(span, "float16", "cause")


def _replaced(failure: Failure, sources: Library) -> tuple[TextEdit, ...]:
    """Edits that write bfloat16 for float16 in the kernel and in its call."""
    kernel, call = kernel_text(failure, sources), spec_call(sources, failure.call)
    parts: list[tuple[Syntax, ast.AST]] = []
    if kernel is not None:
        parts += [(kernel.syntax, node) for node in kernel.body]
    if call is not None:
        parts += [(call.build_syntax, call.build), (call.syntax, call.node)]
    edits: list[TextEdit | None] = []
    for syntax, part in parts:
        other = spelled(sources, syntax.document, "jax.numpy", "bfloat16")
        found = [*_halves(part)] if other is not None else []
        edits += [syntax.replace(node, other) for node in found if other is not None]
    return complete(edits)


def _halves(part: ast.AST) -> Iterator[ast.expr]:
    for node in ast.walk(part):
        if isinstance(node, (ast.Attribute, ast.Name)) and identifier(node) == "float16":
            yield node
