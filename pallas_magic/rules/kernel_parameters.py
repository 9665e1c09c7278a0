"""# PM209: a kernel with more or fewer parameters than refs

## What it means
The kernel function takes another number of arguments than it is given. It gets
one ref for each operand, then one for each output, then one for each scratch.

## Why the hardware says no
It does not: JAX calls the kernel with all its refs, and Python refuses the call.

## Fix
Give the kernel one parameter for each ref, in that order: prefetched operands,
inputs, outputs, scratch.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def double(x_ref, scale_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0


fn = pl.pallas_call(double, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def double(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0


fn = pl.pallas_call(double, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Fix safety
A parameter that the kernel never uses is taken away; that is safe. One that is
missing is added where the order of the refs has it and is then unused, which
is offered and not called safe: the kernel was hardly meant to ignore it.

## References
- Pallas documentation, "Pallas quickstart".
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from pallas_magic.failure import Candidate, Failure, Ref
from pallas_magic.report import Diagnostic, Label, TextEdit
from pallas_magic.rules._specs.kernels import KernelText, kernel_text
from pallas_magic.rules._specs.parameters import (
    add_parameters,
    free_names,
    has_plain_parameters,
    without_parameters,
)
from pallas_magic.rules._specs.texts import signature_span
from pallas_magic.rules._specs.wording import counted, diagnostic
from pallas_magic.source.document import Library
from pallas_magic.source.syntax import identifier, syntax_of

code = "PM209"
name = "kernel-parameters"

_TEXT = re.compile(r"(.+)\(\) (?:takes (?:from )?\d+|missing \d+ required positional) .*argument")
# An operand that is a tree of arrays is one parameter and several refs.
_PLAIN = re.compile(r"(?:args\[\d+\]|outputs(?:\[\d+\])?)?")
_UNUSED = "the kernel does not use what it is given there"


def match(failure: Failure) -> bool:
    found = _TEXT.match(failure.text)
    if failure.stage != "trace" or failure.error_type != "TypeError" or found is None:
        return False
    kernel = failure.call.kernel
    by_jax = failure.raised_in.startswith("jax.") and failure.ref is None
    plain = bool(failure.refs) and all(_PLAIN.fullmatch(ref.origin) for ref in failure.refs)
    return by_jax and plain and kernel is not None and kernel.function == found[1]


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    kernel = kernel_text(failure, sources)
    span = signature_span(kernel.syntax, kernel.node) if kernel is not None else None
    refs = counted(len(failure.refs), "ref")
    applied = sources.span(failure.call.applied)
    single = applied is not None and applied.start_line == applied.end_line
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=f"`{failure.kernel}` does not take the {refs} that it is given",
        primary=span,
        mark=f"expected {counted(len(failure.refs), 'parameter')}",
        causes=[Label(applied, f"gives {refs}", "cause")] if applied and single else [],
        notes=(f"it is given {', '.join(_refs(failure))}",),
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    kernel = kernel_text(failure, sources)
    if kernel is None or not has_plain_parameters(kernel.node):
        return
    surplus = len(kernel.parameters) - len(failure.refs)
    if surplus > 0:
        unused = [one for one in kernel.parameters if not kernel.reads(one.arg)]
        edits = without_parameters(kernel.syntax, kernel.node, unused)
        if len(unused) == surplus and edits:
            names = " and ".join(f"`{one.arg}`" for one in unused)
            yield Candidate(f"take away {names}, which is never used", edits, mechanical=True)
    elif surplus < 0:
        yield from _more(failure, sources, kernel, -surplus)


def _more(
    failure: Failure, sources: Library, kernel: KernelText, count: int
) -> Iterator[Candidate]:
    scratch = [ref for ref in failure.refs if ref.role == "scratch"]
    if len(scratch) == count:
        wanted = ["scratch_ref", *(f"scratch{number}_ref" for number in range(2, count + 2))]
        names, at = free_names(kernel.node, wanted, count), None
    else:
        names, at = _operand_names(failure, sources, kernel), _outputs_at(failure, kernel, count)
    if len(names) != count:
        return
    edit: TextEdit | None = add_parameters(kernel.syntax, kernel.node, names, at)
    if edit is not None:
        title = " and ".join(f"`{one}`" for one in names)
        yield Candidate(f"take {title} too", (edit,), why=_UNUSED)


def _operand_names(failure: Failure, sources: Library, kernel: KernelText) -> list[str]:
    """The operands of the call that no parameter of the kernel is named after."""
    syntax = syntax_of(sources, failure.call.applied)
    place = failure.call.applied
    call = syntax.at(place) if syntax is not None and place is not None else None
    if not isinstance(call, ast.Call):
        return []
    operands = [identifier(one) for one in call.args]
    inputs = [ref for ref in failure.refs if ref.role in ("prefetch", "input")]
    taken = {one.arg for one in kernel.parameters}
    if len(operands) != len(inputs) or not all(operands):
        return []
    left = [one for one in operands if not taken & {one, f"{one}_ref"}]
    is_last = operands[len(operands) - len(left) :] == left
    return [f"{one}_ref" for one in left] if is_last else []


def _outputs_at(failure: Failure, kernel: KernelText, count: int) -> int:
    """Where among the parameters those of the outputs begin, ``count`` inputs missing."""
    inputs = sum(ref.role in ("prefetch", "input") for ref in failure.refs)
    return max(0, inputs - count)


def _refs(failure: Failure) -> Iterator[str]:
    return (f"`{_word(ref, failure.refs)}`" for ref in failure.refs)


def _word(ref: Ref, refs: Sequence[Ref]) -> str:
    if ref.role == "scratch":
        return f"scratch_shapes[{ref.operand}]"
    return ref.origin or f"{ref.role} {ref.operand}"
