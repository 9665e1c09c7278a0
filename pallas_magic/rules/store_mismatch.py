"""# PM602: a store of another shape or dtype than the ref's

## What it means
The value that a kernel stores does not have the shape, or not the dtype, of the
part of the ref that it is stored to.

## Why the hardware says no
It does not: a store moves registers to memory as they are. NumPy would convert
and broadcast; a ref does neither, so that nothing is lost or repeated unseen.

## Fix
Give the value the dtype with `.astype(o_ref.dtype)`. Keep a reduced axis with
`keepdims=True`, put in an axis with `[:, None]`, repeat the value with
`jnp.broadcast_to`. An output without a spec is one block, all of it: give it
`out_specs` where the inputs have theirs.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def double(x_ref, o_ref):
    o_ref[...] = x_ref[...].astype(jnp.float32) * 2.0


fn = pl.pallas_call(double, out_shape=jax.ShapeDtypeStruct((16, 128), jnp.bfloat16))
args = [jax.ShapeDtypeStruct((16, 128), jnp.bfloat16)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def double(x_ref, o_ref):
    o_ref[...] = (x_ref[...].astype(jnp.float32) * 2.0).astype(o_ref.dtype)


fn = pl.pallas_call(double, out_shape=jax.ShapeDtypeStruct((16, 128), jnp.bfloat16))
args = [jax.ShapeDtypeStruct((16, 128), jnp.bfloat16)]
```

## Fix safety
Rounding a float to the ref's float, widening an integer, and axes of size 1 are
what the store asks for; they are safe. A float stored as an integer loses its
fraction, a number stored as a bool all but whether it is zero, and a broadcast
repeats the value: these are not called safe.

## References
- Pallas documentation, "Pallas quickstart": reading from and writing to refs.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure, Ref
from pallas_magic.report import Diagnostic, TextEdit
from pallas_magic.rules._memory.assignment import Assignment, operator, operator_end
from pallas_magic.rules._refs.expressions import (
    Failing,
    complete,
    failing,
    followed_by,
    needs_parentheses,
    numpy_name,
    shape_of,
)
from pallas_magic.rules._refs.reshaping import (
    broadcasts,
    index_with_axes,
    inserted_axes,
    keep_axis,
    keepable_reduction,
)
from pallas_magic.rules._specs.missing_specs import cut_like_input, no_spec_label, uncut_output
from pallas_magic.rules._specs.wording import diagnostic, shape_text
from pallas_magic.source.document import Library
from pallas_magic.source.syntax import Syntax, end_of, start_of

code = "PM602"
name = "store-mismatch"

_DTYPE = re.compile(r"Invalid dtype for `\w+`\. Ref dtype: (\w+)\. Value dtype: (\w+)\.")
_SHAPE = re.compile(
    r"Invalid shape for `\w+`\. Ref shape: .*?\. "
    r"Expected shape: (\(.*?\))\. Value shape: (\(.*?\))\."
)
_REPEATS = "the store may have been meant for a part of the ref"


def match(failure: Failure) -> bool:
    return bool(_DTYPE.match(failure.text) or _SHAPE.match(failure.text))


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    found = failing(failure, sources)
    dtype, shape = _DTYPE.match(failure.text), _SHAPE.match(failure.text)
    ref = _ref_text(found)
    subject = f"`{ref}`" if ref else "the ref"
    if dtype is not None:
        message = f"{subject} holds {dtype[1]}; this stores {dtype[2]}"
        mark = f"{dtype[2]}, expected {dtype[1]}"
    else:
        assert shape is not None
        wanted, value = (shape_text(shape_of(text)) for text in shape.groups())
        part = "" if _is_whole(found) else " here"
        message = f"{subject} takes the shape {wanted}{part}; this stores {value}"
        mark = f"{value}, expected {wanted}"
    statement = _statement(found)
    value_span = found.syntax.span(statement.value) if found is not None and statement else None
    single = value_span is not None and value_span.start_line == value_span.end_line
    uncut = _uncut(failure, found, shape)
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=message,
        primary=value_span if single else None,
        mark=mark,
        causes=(no_spec_label(failure, sources),) if uncut is not None else (),
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    found = failing(failure, sources)
    statement = _statement(found)
    if found is None or statement is None:
        return
    dtype, shape = _DTYPE.match(failure.text), _SHAPE.match(failure.text)
    if dtype is not None:
        yield from _cast(found, statement, dtype[1], dtype[2])
    elif shape is not None:
        uncut = _uncut(failure, found, shape)
        if uncut is not None:
            yield from cut_like_input(failure, sources, uncut, shape_of(shape[2]))
        yield from _shaped(found, statement, shape_of(shape[1]), shape_of(shape[2]), sources)


def _uncut(failure: Failure, found: Failing | None, shape: re.Match[str] | None) -> Ref | None:
    """The output that lacks a spec, where its whole is stored to and a block is given."""
    if shape is None or not _is_whole(found):
        return None
    return uncut_output(failure, _ref_text(found), shape_of(shape[2]))


def _cast(found: Failing, statement: Assignment, wanted: str, given: str) -> Iterator[Candidate]:
    ref = _ref_text(found)
    if not ref:
        return
    cast = f".astype({ref}.dtype)"
    if isinstance(statement, ast.AugAssign):
        edits = complete(_cast_sum(found.syntax, statement, cast))
    else:
        edits = complete(followed_by(found.syntax, statement.value, cast))
    if edits:
        loss = _loss(given, wanted)
        yield Candidate(f"cast the value to {wanted}", edits, mechanical=not loss, why=loss)


def _loss(given: str, wanted: str) -> str:
    """What a cast takes from some values of the type, beyond a float's last digits."""
    if wanted == "bool":
        return "only whether the value is zero is kept"
    if given.startswith("complex") and not wanted.startswith("complex"):
        return "the imaginary part of the value is cut off"
    return "the fraction of the value is cut off" if "int" in wanted and "float" in given else ""


def _cast_sum(syntax: Syntax, statement: ast.AugAssign, cast: str) -> list[TextEdit | None]:
    """Edits that cast what an augmented assignment stores, not what it adds."""
    target, value = syntax.text(statement.target), statement.value
    symbol = operator(syntax, statement).removesuffix("=")
    start, end = end_of(statement.target), operator_end(syntax, statement)
    opening, closing = ("(", ")") if needs_parentheses(value) else ("", "")
    return [
        syntax.replace_between(start, end, f" = ({target} {symbol}"),
        syntax.insert(start_of(value), opening),
        syntax.insert(end_of(value), f"{closing}){cast}"),
    ]


def _shaped(
    found: Failing,
    statement: Assignment,
    wanted: tuple[int, ...],
    value: tuple[int, ...],
    sources: Library,
) -> Iterator[Candidate]:
    syntax, axes = found.syntax, inserted_axes(value, wanted)
    if axes is not None:
        reduction = keepable_reduction(syntax, statement.value)
        kept = keep_axis(syntax, reduction) if reduction is not None else None
        if kept is not None:
            yield Candidate("keep the reduced axis", (kept,), mechanical=True)
        index = index_with_axes(len(wanted), axes)
        if kept is None and (edits := complete(followed_by(syntax, statement.value, index))):
            yield Candidate(f"put in the axes with `{index}`", edits, mechanical=True)
    elif inserted_axes(wanted, value) is not None:
        text = f".reshape({shape_text(wanted)})"
        if edits := complete(followed_by(syntax, statement.value, text)):
            yield Candidate("leave out the axes of size 1", edits, mechanical=True)
    elif broadcasts(value, wanted) and isinstance(statement, ast.Assign):
        function = numpy_name(sources, syntax, "broadcast_to")
        ref = _ref_text(found)
        target = f"{ref}.shape" if ref and _is_whole(found) else shape_text(wanted)
        if function is not None:
            edits = complete(
                [
                    syntax.insert(start_of(statement.value), f"{function}("),
                    syntax.insert(end_of(statement.value), f", {target})"),
                ]
            )
            yield Candidate(f"repeat the value to {shape_text(wanted)}", edits, why=_REPEATS)


def _statement(found: Failing | None) -> Assignment | None:
    """The assignment that is the store that failed."""
    if found is None or not isinstance(found.statement, (ast.Assign, ast.AugAssign)):
        return None
    statement = found.statement
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    is_store = len(targets) == 1 and isinstance(targets[0], ast.Subscript)
    return statement if is_store and targets[0] is found.node else None


def _ref_text(found: Failing | None) -> str:
    """The ref that is stored to, if it is a plain name."""
    node = found.node if found is not None else None
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        return node.value.id
    return ""


def _is_whole(found: Failing | None) -> bool:
    node = found.node if found is not None else None
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Constant):
        return False
    return node.slice.value is Ellipsis
