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


def as_vectors(
    ref: Ref, stores: Sequence[Indexed], loads: Sequence[Indexed], sources: Library
) -> tuple[TextEdit, ...]:
    """Every scalar store of ``stores`` as a vector store; empty where one cannot be.

    ``loads`` are the loads of single elements: those that a masked store covers
    become loads of its row.
    """
    edits: list[TextEdit] = []
    for store in stores:
        if needs_mask(ref, store):
            made = _masked(ref, store, covered(store, loads), sources)
        else:
            made = _slice(ref, store, sources)
        if not made:
            return ()
        edits += made
    return tuple(edits)


def covered(store: Indexed, loads: Sequence[Indexed]) -> list[Indexed]:
    """The loads within the stored value of the very element that is stored."""
    if store.statement is None:
        return []
    inside = set(ast.walk(store.statement.value))
    return [load for load in loads if load.node in inside and load.axes == store.axes]


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


def _masked(
    ref: Ref, store: Indexed, loads: Sequence[Indexed], sources: Library
) -> tuple[TextEdit, ...]:
    syntax, document, statement = store.syntax, store.syntax.document, store.statement
    where = spelled(sources, document, "jax.numpy", "where")
    lane = _lane(ref, store, sources)
    row_index = _row(ref, store.axes, spelled(sources, document, "jax.experimental.pallas", "ds"))
    if statement is None or where is None or lane is None or row_index is None:
        return ()
    row = f"{store.ref_text}[{row_index}]"
    before, after = _around_value(store, statement, row)
    parts = [lane, f"{before}{syntax.text(statement.value)}{after}", row]
    base, separator, closing = "", ", ", ""
    if statement.col_offset + len(f"{row} = {where}({', '.join(parts)})") > _LONGEST_LINE:
        base = "\n" + syntax.indentation(statement.lineno)
        step = indentation_step(syntax, statement)
        separator, closing, base = f",{base}{step}", f",{base}", f"{base}{step}"
    return all_or_none(
        (
            syntax.replace_between(
                start_of(store.node), operator_end(syntax, statement), f"{row} ="
            ),
            syntax.insert(start_of(statement.value), f"{where}({base}{lane}{separator}{before}"),
            *(load.syntax.replace(load.node, row) for load in loads),
            syntax.insert(end_of(statement.value), f"{after}{separator}{row}{closing})"),
        )
    )


def _lane(ref: Ref, store: Indexed, sources: Library) -> str | None:
    """The mask of the one lane that is stored to."""
    document = store.syntax.document
    int32 = spelled(sources, document, "jax.numpy", "int32")
    iota = spelled(sources, document, "jax.lax", "broadcasted_iota")
    if int32 is None or iota is None:
        return None
    ones = "1, " * (len(ref.shape) - 1)
    shape = f"({ones}{ref.shape[-1]}{',' if not ones else ''})"
    return f"{iota}({int32}, {shape}, {len(ref.shape) - 1}) == {_operand(store.axes[-1].text)}"


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


def _operand(text: str) -> str:
    """``text`` as the right side of a comparison."""
    node = ast.parse(text, mode="eval").body
    weak = (ast.Compare, ast.BoolOp, ast.IfExp, ast.Lambda, ast.NamedExpr, ast.UnaryOp)
    return f"({text})" if isinstance(node, weak) else text
