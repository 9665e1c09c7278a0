"""# PM612: a loop that is unrolled as its back end cannot

## What it means
`unroll=` of `lax.fori_loop`, `lax.scan` or `pl.loop` asks for what cannot be had:
steps of a loop whose bounds are known only when the kernel runs, fewer steps
than none, or what the back end leaves out. Triton unrolls no loop. Mosaic GPU
unrolls by a divisor of the number of steps, and `unroll=0` it does not know.
Mosaic TPU unrolls by any number.

## Why the hardware says no
It does not: to unroll is to write the body down several times, so the number of
times has to be known beforehand.

## Fix
Leave `unroll` out, or give a number that divides the number of steps. Where a
loop must be unrolled for Triton, a Python `for` over a `range` is: it writes its
body once for each step.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plt


def sum_rows(x_ref, o_ref):
    def add_row(row, total):
        return total + x_ref[row]

    o_ref[...] = lax.fori_loop(0, 8, add_row, jnp.zeros((128,), jnp.float32), unroll=4)


fn = pl.pallas_call(
    sum_rows,
    out_shape=jax.ShapeDtypeStruct((128,), jnp.float32),
    compiler_params=plt.CompilerParams(),
)
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plt


def sum_rows(x_ref, o_ref):
    def add_row(row, total):
        return total + x_ref[row]

    o_ref[...] = lax.fori_loop(0, 8, add_row, jnp.zeros((128,), jnp.float32))


fn = pl.pallas_call(
    sum_rows,
    out_shape=jax.ShapeDtypeStruct((128,), jnp.float32),
    compiler_params=plt.CompilerParams(),
)
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Fix safety
A loop takes the same steps in the same order, however many of them are written
down at once.

## References
- JAX documentation, `jax.lax.fori_loop`, `jax.lax.scan`.
- PM303 (scans over arrays).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic, Label, TextEdit
from pallas_magic.rules._operations.called import Called, called, integer
from pallas_magic.rules._operations.kinds import is_part
from pallas_magic.rules._operations.wording import back_end, what_was_written
from pallas_magic.rules._operations.wording import key as key
from pallas_magic.rules._refs.expressions import complete
from pallas_magic.rules._specs.wording import diagnostic
from pallas_magic.source.calls import argument, keyword, remove_keyword
from pallas_magic.source.document import Library

code = "PM612"
name = "loop-unroll"

_LOOPS = "jax.lax.control_flow.loops."
_AT_RUN_TIME = "Can only use `unroll` in `fori_loop` if the loop bounds are statically known"
_NEGATIVE = "`unroll` must be a `bool` or a non-negative `int`"
_TRITON = "jax.pallas.triton.lowering._scan_lowering_rule"
_MOSAIC_GPU = "jax.pallas.mosaic_gpu.lowering._lower_jaxpr_to_for_loop"
_NO_DIVISOR = "``unroll`` must divide ``length``"
_PYTHON_LOOP = "a Python `for` over a `range` writes its body once for each step"
_NO_ARRAYS = "nor does Triton implement a scan over arrays; a loop can load from a ref at each step"
# Where `lax.scan` has it; the other loops take it by name only.
_POSITION = 5


def match(failure: Failure) -> bool:
    if failure.stage == "trace":
        known = failure.text.startswith((_AT_RUN_TIME, _NEGATIVE))
        return known and failure.raised_in.startswith(_LOOPS)
    if failure.primitive != "scan" or is_part(failure):
        return False
    return _no_unrolling(failure) or _no_divisor(failure) or _no_zero(failure)


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    one = called(failure, sources)
    given = _given(one)
    span = one.syntax.span(given) if one is not None and given is not None else None
    loop = what_was_written(failure, sources)
    message, mark = _said(failure, loop, _amount(one, failure))
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=message,
        primary=span,
        mark=mark,
        causes=(_run_time_bound(one, failure),),
        notes=_notes(one, failure),
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    one = called(failure, sources)
    given = _given(one)
    if one is None or given is None or not isinstance(one.node, ast.Call):
        return
    other = _other(failure)
    if other and (edits := complete((one.syntax.replace(_value(given), other),))):
        yield Candidate(f"unroll {_by(other)}", edits)
    if edits := complete((_left_out(one, one.node, given),)):
        yield Candidate("do not unroll the loop", edits, mechanical=failure.stage == "trace")


def _left_out(one: Called, call: ast.Call, given: ast.expr | ast.keyword) -> TextEdit | None:
    if isinstance(given, ast.keyword):
        return remove_keyword(one.syntax, call, given)
    return one.syntax.replace(given, "1")


def _no_unrolling(failure: Failure) -> bool:
    """Whether Triton was asked to unroll, which it refuses without a word."""
    unroll = failure.operation.parameter("unroll")
    if failure.operation.parameter("reverse") is True or failure.text.strip():
        return False
    return failure.raised_in == _TRITON and isinstance(unroll, int) and unroll != 1


def _no_divisor(failure: Failure) -> bool:
    return failure.raised_in == _MOSAIC_GPU and failure.text.startswith(_NO_DIVISOR)


def _no_zero(failure: Failure) -> bool:
    by_jax = failure.raised_in == _MOSAIC_GPU and failure.error_type == "ZeroDivisionError"
    return by_jax and failure.operation.parameter("unroll") == 0


def _said(failure: Failure, loop: str, amount: str) -> tuple[str, str]:
    """The message, and the mark of ``unroll``."""
    if failure.text.startswith(_AT_RUN_TIME):
        known = "its number of steps is known only when the kernel runs"
        return f"{loop} is unrolled {amount}, and {known}", "needs bounds known beforehand"
    if failure.text.startswith(_NEGATIVE):
        return f"{loop} is unrolled {amount}, which is no number of steps", "less than 0"
    if _no_unrolling(failure):
        return f"{loop} is unrolled, which Triton does not implement", "not in Triton"
    compiler = back_end(failure)
    if _no_zero(failure):
        message = f"{loop} is unrolled with `unroll=0`, which {compiler} does not implement"
        return message, "all steps are `True`"
    length = failure.operation.parameter("length")
    steps = f"{length} steps"
    message = f"{loop} of {steps} is unrolled {amount}; {compiler} unrolls by a divisor of them"
    return message, f"does not divide {length}"


def _notes(one: Called | None, failure: Failure) -> tuple[str, ...]:
    if not _no_unrolling(failure):
        return ()
    elements = one.argument("xs", 2) if one is not None and one.name == "scan" else None
    if elements is None or (isinstance(elements, ast.Constant) and elements.value is None):
        return (_PYTHON_LOOP,)
    return (_NO_ARRAYS,)


def _given(one: Called | None) -> ast.expr | ast.keyword | None:
    """What the loop is given as ``unroll``."""
    if one is None or not isinstance(one.node, ast.Call):
        return None
    if (named := keyword(one.node, "unroll")) is not None:
        return named
    return argument(one.node, "unroll", _POSITION) if one.name == "scan" else None


def _amount(one: Called | None, failure: Failure) -> str:
    unroll = failure.operation.parameter("unroll")
    if isinstance(unroll, int):
        return f"by {unroll}"
    given = _given(one)
    if one is None or given is None:
        return "in part"
    return _by(one.text(_value(given)))


def _value(given: ast.expr | ast.keyword) -> ast.expr:
    return given.value if isinstance(given, ast.keyword) else given


def _by(text: str) -> str:
    return "fully" if text in ("0", "True") else f"by {text}"


def _other(failure: Failure) -> str:
    """What comes next to the ``unroll`` that Mosaic GPU refuses, "" for nothing."""
    if _no_zero(failure):
        return "True"
    unroll, length = (failure.operation.parameter(one) for one in ("unroll", "length"))
    if not _no_divisor(failure) or not isinstance(unroll, int) or not isinstance(length, int):
        return ""
    most = next(steps for steps in range(min(unroll, length), 0, -1) if length % steps == 0)
    return str(most) if most > 1 else ""


def _run_time_bound(one: Called | None, failure: Failure) -> Label | None:
    """The bound that is known only at run time, where the other is a number."""
    if one is None or not failure.text.startswith(_AT_RUN_TIME):
        return None
    if not isinstance(one.node, ast.Call) or keyword(one.node, "step") is not None:
        return None
    bounds = (one.argument("lower", 0), one.argument("upper", 1))
    traced = [bound for bound in bounds if bound is not None and integer(bound) is None]
    span = one.syntax.span(traced[0]) if len(traced) == 1 else None
    return Label(span, "known only when the kernel runs", "cause") if span is not None else None
