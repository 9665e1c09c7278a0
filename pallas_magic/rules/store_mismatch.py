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
import dataclasses
import re
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure, Ref
from pallas_magic.report import Diagnostic, TextEdit
from pallas_magic.rules._memory.assignment import operator, operator_end
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
from pallas_magic.source.calls import argument
from pallas_magic.source.document import Library
from pallas_magic.source.syntax import Syntax, end_of, identifier, start_of

code = "PM602"
name = "store-mismatch"

_DTYPE = re.compile(r"Invalid dtype for `\w+`\. Ref dtype: (\w+)\. Value dtype: (\w+)\.")
_SHAPE = re.compile(
    r"Invalid shape for `\w+`\. Ref shape: .*?\. "
    r"Expected shape: (\(.*?\))\. Value shape: (\(.*?\))\."
)
_CALLED = re.compile(
    r"Invalid shape for `swap`\. Ref shape: (\([\d, ]*\))\. Value shape: (\([\d, ]*\))\. "
    r"Transforms: (\(.*\))\.",
    re.DOTALL,
)
_PART = re.compile(r"Slice\(start=.*?, size=(\d+), stride=")
_BY_NUMBERS = re.compile(r"int_indexer_shape=(\([\d, ]*\))")
_Shape = tuple[int, ...]
_REPEATS = "the store may have been meant for a part of the ref"


@dataclasses.dataclass(frozen=True, eq=False)
class _Store:
    """A store as it is written: `o_ref[...] = value`, `plt.store(o_ref, value)`.

    ``ref`` is "" where what is stored to is no plain name.
    """

    value: ast.expr
    ref: str
    is_whole: bool
    sum: ast.AugAssign | None = None


def match(failure: Failure) -> bool:
    return _DTYPE.match(failure.text) is not None or _shapes(failure.text) is not None


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    found = failing(failure, sources)
    store = _store(found)
    dtype, shapes = _DTYPE.match(failure.text), _shapes(failure.text)
    ref, is_whole = _target(found)
    subject = f"`{ref}`" if ref else "the ref"
    if dtype is not None:
        message = f"{subject} holds {dtype[1]}; this stores {dtype[2]}"
        mark = f"{dtype[2]}, expected {dtype[1]}"
    else:
        assert shapes is not None
        wanted, value = (shape_text(shape) for shape in shapes)
        part = "" if is_whole else " here"
        message = f"{subject} takes the shape {wanted}{part}; this stores {value}"
        mark = f"{value}, expected {wanted}"
    value_span = found.syntax.span(store.value) if found is not None and store else None
    single = value_span is not None and value_span.start_line == value_span.end_line
    uncut = _uncut(failure, store, shapes)
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
    store = _store(found)
    if found is None or store is None:
        return
    dtype, shapes = _DTYPE.match(failure.text), _shapes(failure.text)
    if dtype is not None:
        yield from _cast(found, store, dtype[1], dtype[2])
    elif shapes is not None:
        uncut = _uncut(failure, store, shapes)
        if uncut is not None:
            yield from cut_like_input(failure, sources, uncut, shapes[1])
        yield from _shaped(found, store, *shapes, sources)


def _shapes(text: str) -> tuple[_Shape, _Shape] | None:
    """The shape that is wanted and the one that is stored."""
    if (shape := _SHAPE.match(text)) is not None:
        return shape_of(shape[1]), shape_of(shape[2])
    called = _CALLED.match(text)
    wanted = _indexed(called[1], called[3]) if called is not None else None
    return (wanted, shape_of(called[2])) if called is not None and wanted is not None else None


def _indexed(ref: str, transforms: str) -> _Shape | None:
    """The shape of a ref under what JAX prints of one index of it, or of none."""
    if transforms == "()":
        return shape_of(ref)
    numbers = _BY_NUMBERS.findall(transforms)
    if not transforms.startswith("(NDIndexer(") or len(numbers) != 1:
        return None
    return (*shape_of(numbers[0]), *(int(size) for size in _PART.findall(transforms)))


def _uncut(
    failure: Failure, store: _Store | None, shapes: tuple[_Shape, _Shape] | None
) -> Ref | None:
    """The output that lacks a spec, where its whole is stored to and a block is given."""
    if shapes is None or store is None or not store.is_whole:
        return None
    return uncut_output(failure, store.ref, shapes[1])


def _cast(found: Failing, store: _Store, wanted: str, given: str) -> Iterator[Candidate]:
    if not store.ref:
        return
    cast = f".astype({store.ref}.dtype)"
    if store.sum is not None:
        edits = complete(_cast_sum(found.syntax, store.sum, cast))
    else:
        edits = complete(followed_by(found.syntax, store.value, cast))
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
    store: _Store,
    wanted: _Shape,
    value: _Shape,
    sources: Library,
) -> Iterator[Candidate]:
    syntax, axes = found.syntax, inserted_axes(value, wanted)
    if axes is not None:
        reduction = keepable_reduction(syntax, store.value)
        kept = keep_axis(syntax, reduction) if reduction is not None else None
        if kept is not None:
            yield Candidate("keep the reduced axis", (kept,), mechanical=True)
        index = index_with_axes(len(wanted), axes)
        if kept is None and (edits := complete(followed_by(syntax, store.value, index))):
            yield Candidate(f"put in the axes with `{index}`", edits, mechanical=True)
    elif inserted_axes(wanted, value) is not None:
        text = f".reshape({shape_text(wanted)})"
        if edits := complete(followed_by(syntax, store.value, text)):
            yield Candidate("leave out the axes of size 1", edits, mechanical=True)
    elif broadcasts(value, wanted) and store.sum is None:
        function = numpy_name(sources, syntax, "broadcast_to")
        target = f"{store.ref}.shape" if store.ref and store.is_whole else shape_text(wanted)
        if function is not None:
            edits = complete(
                [
                    syntax.insert(start_of(store.value), f"{function}("),
                    syntax.insert(end_of(store.value), f", {target})"),
                ]
            )
            yield Candidate(f"repeat the value to {shape_text(wanted)}", edits, why=_REPEATS)


def _target(found: Failing | None) -> tuple[str, bool]:
    """The ref that is stored to, "" if it is no plain name, and whether all of it is."""
    node = found.node if found is not None else None
    index: ast.expr | None = None
    if isinstance(node, ast.Subscript):
        ref, index = node.value, node.slice
    elif isinstance(node, ast.Call) and node.args:
        ref, index = node.args[0], argument(node, "idx", 1) if _is_atomic(node) else None
    else:
        return "", False
    is_all = index is None or (isinstance(index, ast.Constant) and index.value is Ellipsis)
    return (ref.id, is_all) if isinstance(ref, ast.Name) else ("", is_all)


def _store(found: Failing | None) -> _Store | None:
    """The store that failed, ``None`` where it is none that is that plain."""
    node = found.node if found is not None else None
    statement = found.statement if found is not None else None
    ref, is_whole = _target(found)
    if isinstance(node, ast.Call):
        stored = argument(node, "val", 2 if _is_atomic(node) else 1)
        is_store = _is_atomic(node) or identifier(node.func) == "store"
        return _Store(stored, ref, is_whole) if stored is not None and is_store else None
    if isinstance(statement, ast.AugAssign) and statement.target is node:
        return _Store(statement.value, ref, is_whole, statement)
    if isinstance(statement, ast.Assign) and statement.targets == [node]:
        return _Store(statement.value, ref, is_whole)
    return None


def _is_atomic(call: ast.Call) -> bool:
    """Whether it is `plt.atomic_add(ref, index, value)`, or another of its kind."""
    return identifier(call.func).startswith("atomic_")
