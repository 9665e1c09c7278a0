"""Edits that store a single element into VMEM as the vector that VMEM takes.

An element at a known lane is a slice of one element. Where the lane is known
only when the kernel runs, the whole row is read, changed under a mask and
written back: the hardware has no store at an unaligned lane.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from pallas_magic.failure import Ref
from pallas_magic.report import TextEdit
from pallas_magic.rules._memory.assignment import (
    Assignment,
    all_or_none,
    operator,
    operator_end,
)
from pallas_magic.rules._memory.indexed import Axis, Indexed
from pallas_magic.rules._memory.layout import indentation_step
from pallas_magic.source.document import Library
from pallas_magic.source.names import spelled
from pallas_magic.source.syntax import end_of, start_of

_LONGEST_LINE = 88


def as_vectors(ref: Ref, stores: Sequence[Indexed], sources: Library) -> tuple[TextEdit, ...]:
    """Every scalar store of ``stores`` as a vector store; empty where one cannot be."""
    edits: list[TextEdit] = []
    for store in stores:
        made = (
            _masked(ref, store, sources) if needs_mask(ref, store) else _slice(ref, store, sources)
        )
        if not made:
            return ()
        edits += made
    return tuple(edits)


def needs_mask(ref: Ref, store: Indexed) -> bool:
    """Whether the lane that is stored to is known only when the kernel runs."""
    return store.axes[-1].traced and ref.shape[-1] > 1


def _slice(ref: Ref, store: Indexed, sources: Library) -> tuple[TextEdit, ...]:
    document, statement = store.syntax.document, store.statement
    full = spelled(sources, document, "jax.numpy", "full")
    index = _slices(ref, store.axes, spelled(sources, document, "jax.experimental.pallas", "ds"))
    if statement is None or index is None or full is None:
        return ()
    target = store.syntax.replace(store.node, f"{store.ref_text}[{index}]")
    if isinstance(statement, ast.AugAssign):
        return all_or_none((target,))
    ones = ", ".join("1" for _ in ref.shape) + ("," if len(ref.shape) == 1 else "")
    return all_or_none(
        (
            target,
            store.syntax.insert(start_of(statement.value), f"{full}(({ones}), "),
            store.syntax.insert(end_of(statement.value), ")"),
        )
    )


def _masked(ref: Ref, store: Indexed, sources: Library) -> tuple[TextEdit, ...]:
    syntax, document, statement = store.syntax, store.syntax.document, store.statement
    where = spelled(sources, document, "jax.numpy", "where")
    int32 = spelled(sources, document, "jax.numpy", "int32")
    iota = spelled(sources, document, "jax.lax", "broadcasted_iota")
    row_index = _row(ref, store.axes, spelled(sources, document, "jax.experimental.pallas", "ds"))
    if statement is None or None in (where, int32, iota, row_index):
        return ()
    row = f"{store.ref_text}[{row_index}]"
    ones = "1, " * (len(ref.shape) - 1)
    shape = f"({ones}{ref.shape[-1]}{',' if not ones else ''})"
    lane = f"{iota}({int32}, {shape}, {len(ref.shape) - 1}) == {_grouped(store.axes[-1].text)}"
    before, after = _around_value(store, statement, row)
    value = syntax.text(statement.value)
    text = f"{row} = {where}({lane}, {before}{value}{after}, {row})"
    opening, closing = f"{where}({lane}, {before}", f"{after}, {row})"
    if statement.col_offset + len(text) > _LONGEST_LINE:
        base = syntax.indentation(statement.lineno)
        step = indentation_step(syntax, statement)
        opening = f"{where}(\n{base}{step}{lane},\n{base}{step}{before}"
        closing = f"{after},\n{base}{step}{row},\n{base})"
    end = operator_end(syntax, statement)
    return all_or_none(
        (
            syntax.replace_between(start_of(store.node), end, f"{row} ="),
            syntax.insert(start_of(statement.value), opening),
            syntax.insert(end_of(statement.value), closing),
        )
    )


def _around_value(store: Indexed, statement: Assignment, row: str) -> tuple[str, str]:
    """What an augmented assignment puts around the value to make it the new row."""
    if not isinstance(statement, ast.AugAssign):
        return "", ""
    symbol = operator(store.syntax, statement).removesuffix("=")
    simple = isinstance(statement.value, (ast.Name, ast.Constant, ast.Call, ast.Subscript))
    return (f"{row} {symbol} ", "") if simple else (f"{row} {symbol} (", ")")


def _slices(ref: Ref, axes: Sequence[Axis], ds: str | None) -> str | None:
    if all(size == 1 for size in ref.shape):
        return "..."
    parts = [_slice_of_one(axis, size, ds) for axis, size in zip(axes, ref.shape, strict=True)]
    known = [part for part in parts if part is not None]
    return ", ".join(known) if len(known) == len(parts) else None


def _row(ref: Ref, axes: Sequence[Axis], ds: str | None) -> str | None:
    if all(size == 1 for size in ref.shape[:-1]):
        return "..."
    leading = zip(axes[:-1], ref.shape[:-1], strict=True)
    parts = [_slice_of_one(axis, size, ds) for axis, size in leading]
    known = [part for part in parts if part is not None]
    return ", ".join([*known, ":"]) if len(known) == len(parts) else None


def _slice_of_one(axis: Axis, size: int, ds: str | None) -> str | None:
    if size == 1:
        return ":"
    if axis.text.isdecimal():
        return f"{axis.text}:{int(axis.text) + 1}"
    return f"{ds}({axis.text}, 1)" if ds is not None else None


def _grouped(text: str) -> str:
    return text if text.replace("_", "a").isalnum() else f"({text})"
