"""# PM214: an index map that returns 64-bit integers

## What it means
The index map of an operand returns an int64. With `jax_enable_x64` a number that is
written in Python, as the 0 in `lambda i: (i, 0)`, is one.

## Why the hardware says no
Block indices are computed by the scalar unit of a TPU, whose registers have 32 bits.
JAX lowers the index map as it is, and the compiler refuses it without telling where.

## Fix
Write the number as an int32: `jnp.int32(0)`. Or leave `jax_enable_x64` off: nothing in a
TPU kernel can be 64 bits wide.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def double(x_ref, o_ref):
    o_ref[...] = x_ref[...] + x_ref[...]


@jax.enable_x64(True)
def fn(x):
    return pl.pallas_call(
        double,
        grid=(4,),
        in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32),
    )(x)


args = [jax.ShapeDtypeStruct((32, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def double(x_ref, o_ref):
    o_ref[...] = x_ref[...] + x_ref[...]


@jax.enable_x64(True)
def fn(x):
    return pl.pallas_call(
        double,
        grid=(4,),
        in_specs=[pl.BlockSpec((8, 128), lambda i: (i, jnp.int32(0)))],
        out_specs=pl.BlockSpec((8, 128), lambda i: (i, jnp.int32(0))),
        out_shape=jax.ShapeDtypeStruct((32, 128), jnp.float32),
    )(x)


args = [jax.ShapeDtypeStruct((32, 128), jnp.float32)]
```

## Fix safety
The number is the same; only its type changes. Interpreted, the kernel before and after
must agree exactly.

## References
- JAX documentation, "Default dtypes and the X64 flag".
- Compiled for TPU v4, v5e, v5p, v6e and v7x with libtpu 0.0.42.1, 0.0.50.1 and
  0.0.52: all refuse it. It is told without a compiler.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic, Span, TextEdit
from pallas_magic.rules._refs.expressions import complete
from pallas_magic.rules._specs.texts import SpecText, spec_text
from pallas_magic.rules._specs.wording import diagnostic, operand_name
from pallas_magic.source.document import Library
from pallas_magic.source.names import spelled

code = "PM214"
name = "wide-index-map"


def match(failure: Failure) -> bool:
    is_return = failure.text.startswith("failed to legalize operation 'func.return'")
    return failure.stage == "compile" and is_return and failure.ref is not None


def key(failure: Failure) -> object:
    return None


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    wrong = (failure, *failure.also)
    names = list(dict.fromkeys(operand_name(one.ref) for one in wrong))
    told = ", ".join(names[:-1]) + " and " + names[-1] if len(names) > 1 else names[0]
    verb = "return" if len(names) > 1 else "returns"
    what = "the index maps of" if len(names) > 1 else "the index map of"
    spans = [span for one in wrong for span in _spans(one, sources)]
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=f"{what} {told} {verb} 64-bit integers; a TPU computes with 32-bit ones",
        primary=spans[0] if spans else None,
        mark="int64",
        effects=spans[1:],
        notes=("with `jax_enable_x64`, a number written in Python is an int64",),
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    texts = [_spec(one, sources) for one in (failure, *failure.also)]
    edits = [edit for spec in texts for edit in _narrowed(spec, sources)]
    if complete(edits):
        yield Candidate("write the numbers as int32", complete(edits))


def _spec(failure: Failure, sources: Library) -> SpecText | None:
    return spec_text(failure, failure.ref, sources) if failure.ref is not None else None


def _numbers(spec: SpecText | None) -> list[ast.expr]:
    """What the index map returns that is a plain number."""
    results = spec.index_map.results if spec is not None and spec.index_map is not None else None
    return [
        node for node in results or () if isinstance(node, ast.Constant) and type(node.value) is int
    ]


def _spans(failure: Failure, sources: Library) -> list[Span]:
    """The numbers, else all that is returned, else the spec."""
    spec = _spec(failure, sources)
    if spec is None:
        span = sources.span(failure.place)
        return [span] if span is not None else []
    index_map = spec.index_map
    if index_map is None or index_map.result is None:
        found = [spec.syntax.span(spec.node)]
    else:
        nodes = _numbers(spec) or [index_map.result]
        found = [index_map.syntax.span(node) for node in nodes]
    return [span for span in found if span is not None]


def _narrowed(spec: SpecText | None, sources: Library) -> list[TextEdit | None]:
    if spec is None or spec.index_map is None:
        return [None]
    syntax = spec.index_map.syntax
    int32 = spelled(sources, syntax.document, "jax.numpy", "int32")
    numbers = _numbers(spec)
    if int32 is None or not numbers:
        return [None]
    return [syntax.replace(node, f"{int32}({syntax.text(node)})") for node in numbers]
