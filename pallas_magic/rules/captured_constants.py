"""# PM211: a kernel that uses an array from outside

## What it means
The kernel function uses an array that is not one of its refs: a variable of the
function or module around it, or an array that it makes from Python numbers.

## Why the hardware says no
A kernel is compiled by itself and sees only the memory that the call hands it.
An array from outside would have to be copied there, and only an operand says
where and when.

## Fix
Pass the array as an operand: one more argument of the call, one more parameter
of the kernel, and `pl.BlockSpec()` in `in_specs` if there are some. An array that
is one number over and over, or counts up, is made in the kernel.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

bias = jnp.arange(128, dtype=jnp.float32)


def add_bias(x_ref, o_ref):
    o_ref[...] = x_ref[...] + bias


fn = pl.pallas_call(add_bias, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

bias = jnp.arange(128, dtype=jnp.float32)


def add_bias(x_ref, bias_ref, o_ref):
    o_ref[...] = x_ref[...] + bias_ref[...]


def fn(x):
    return pl.pallas_call(add_bias, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))(x, bias)


args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Fix safety
An array that is made in the kernel has the values that the one outside has
now; it does not follow when that one changes. It is offered where these are
known: one number, or a row that counts in equal steps. Passing an array
changes the call as well as the kernel.

## References
- Pallas documentation, "Pallas quickstart": kernels and refs.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Captured, Failure
from pallas_magic.report import Diagnostic, Label, Span, TextEdit
from pallas_magic.rules._specs.kernels import KernelText, kernel_text
from pallas_magic.rules._specs.operands import as_operands
from pallas_magic.rules._specs.wording import diagnostic
from pallas_magic.source.document import Library
from pallas_magic.source.names import spelled
from pallas_magic.source.resolve import Expression, resolve

code = "PM211"
name = "captured-constants"

_RAISED_IN = (
    "jax.pallas.pallas_call._trace_kernel_to_jaxpr",
    "jax.pallas.mpmd._error_if_non_ref_consts",
)
_TEXTS = ("captures constants", "captures non-scalar array constants")
_NOTE = "a kernel is compiled by itself and sees only the memory that the call hands it"


def match(failure: Failure) -> bool:
    known = failure.raised_in in _RAISED_IN and any(text in failure.text for text in _TEXTS)
    return known and failure.warp is None


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    kernel = kernel_text(failure, sources)
    reads = list(_reads(failure, kernel)) if kernel is not None else []
    spans = [kernel.syntax.span(read) for read in reads] if kernel is not None else []
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=_message(failure),
        primary=_first(failure, sources, spans),
        mark="from outside" if spans else "a constant array",
        effects=spans,
        causes=_causes(reads, kernel, sources),
        notes=(_NOTE,),
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    kernel = kernel_text(failure, sources)
    names = [one.name for one in failure.captured]
    if kernel is None or not names or not all(names):
        return
    listed = " and ".join(f"`{one}`" for one in names)
    if edits := _made_inside(failure, sources, kernel):
        yield Candidate(f"make {listed} in the kernel", edits, mechanical=True)
    has_axes = all(one.shape for one in failure.captured)
    if has_axes and (edits := as_operands(failure, sources, kernel, names)):
        yield Candidate(f"pass {listed} as an operand", edits, mechanical=True)


def _message(failure: Failure) -> str:
    named = [one for one in failure.captured if one.name]
    if not named:
        types = " and ".join(f"a constant {_type(one)} array" for one in failure.captured)
        what = types or "a constant array"
        return f"`{failure.kernel}` uses {what}; a kernel takes arrays through its refs"
    listed = " and ".join(f"`{one.name}`, {_article(_type(one))} array" for one in named)
    return f"`{failure.kernel}` uses {listed} from outside; a kernel sees only its refs"


def _type(one: Captured) -> str:
    return f"{one.dtype}[{','.join(map(str, one.shape))}]"


def _article(word: str) -> str:
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"


def _reads(failure: Failure, kernel: KernelText) -> Iterator[ast.Name]:
    reads = (kernel.reads(one.name) for one in failure.captured if one.name)
    yield from itertools.chain.from_iterable(reads)


def _first(failure: Failure, sources: Library, spans: list[Span | None]) -> Span | None:
    """The use that JAX met first: the name in the expression that failed, if it is there."""
    around = sources.span(failure.place)
    known = [span for span in spans if span is not None]
    inside = [span for span in known if around is not None and _contains(around, span)]
    return next(iter((*inside, *known)), None)


def _contains(outer: Span, inner: Span) -> bool:
    if outer.source != inner.source:
        return False
    starts = (outer.start_line, outer.start_col) <= (inner.start_line, inner.start_col)
    return starts and (inner.end_line, inner.end_col) <= (outer.end_line, outer.end_col)


def _causes(
    reads: list[ast.Name], kernel: KernelText | None, sources: Library
) -> Iterator[Label | None]:
    """Where each of the arrays is made, as far as the text tells."""
    if kernel is None:
        return
    for read in {read.id: read for read in reversed(reads)}.values():
        made = resolve(sources, Expression(kernel.syntax, read))
        span = made.syntax.span(made.node) if made.node is not read else None
        if span is not None and span.start_line == span.end_line:
            yield Label(span, "made here", "cause")


def _made_inside(failure: Failure, sources: Library, kernel: KernelText) -> tuple[TextEdit, ...]:
    edits: list[TextEdit | None] = []
    for one in failure.captured:
        text = _made(one, sources, kernel)
        reads = kernel.reads(one.name)
        if text is None or not reads:
            return ()
        edits += [kernel.syntax.replace(read, text) for read in reads]
    known = tuple(edit for edit in edits if edit is not None)
    return known if len(known) == len(edits) else ()


def _made(one: Captured, sources: Library, kernel: KernelText) -> str | None:
    """An expression with the values of a plain array."""

    def numpy_name(name: str) -> str | None:
        return spelled(sources, kernel.syntax.document, "jax.numpy", name)

    full, arange = numpy_name("full"), numpy_name("arange")
    dtype = numpy_name(one.dtype if one.dtype != "bool" else "bool_")
    if dtype is None:
        return None
    if one.fill and full is not None:
        shape = ", ".join(map(str, one.shape)) + ("," if len(one.shape) == 1 else "")
        return f"{full}(({shape}), {one.fill}, {dtype})"
    if one.steps is None or arange is None or len(one.shape) != 1:
        return None
    first, step = one.steps
    stop = first + step * one.shape[0]
    counted = f"{first}, {stop}, {step}" if step != 1 else f"{first}, {stop}"
    row = f"{arange}({stop})" if (first, step) == (0, 1) else f"{arange}({counted})"
    return row if one.dtype == "int32" else f"{row}.astype({dtype})"
