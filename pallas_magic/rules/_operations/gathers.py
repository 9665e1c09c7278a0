"""Rows of a value taken by a vector of indices, as a product with a one-hot matrix."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pallas_magic.failure import Candidate
from pallas_magic.rules._operations.called import Called, axis_of
from pallas_magic.rules._operations.lines import before, free_name, statement_of

_LONGEST_TABLE = 2048
_DOUBT = "an index out of range gives zeros, and a number that is not finite spoils its column"


def gather_fixes(one: Called) -> Iterator[Candidate]:
    """For a two-dimensional table of floats whose rows are asked for."""
    taken = _taken(one)
    if taken is None or len(one.shape) != 2 or one.dtype not in ("float32", "bfloat16"):
        return
    indices = _index_shape(one)
    if indices is None or one.shape[0] > _LONGEST_TABLE:
        return
    table, index = taken
    dot, highest = one.numpy("dot"), one.lax("Precision.HIGHEST")
    statement = statement_of(one)
    count = one.counted(f"({indices}, {one.shape[0]})", 1)
    if statement is None or dot is None or highest is None or count is None:
        return
    name = free_name(one, "chosen", "one_hot", "is_chosen")
    text = one.text(index)
    index_text = (
        f"{text}[:, None]" if isinstance(index, (ast.Name, ast.Subscript)) else f"({text})[:, None]"
    )
    chosen = f"{name}.astype({_dtype(one, table)})"
    lines = [f"{name} = {count} == {index_text}"]
    if one.dtype == "float32":
        product = f"{dot}({chosen}, {one.text(table)}, precision={highest})"
    else:
        # Sums of bfloat16 products are kept in float32.
        rows = free_name(one, "rows", "taken")
        wide = f"preferred_element_type={one.numpy('float32')}"
        lines.append(f"{rows} = {dot}({chosen}, {one.text(table)}, {wide})")
        product = f"{rows}.astype({_dtype(one, table)})"
    if edits := before(one, statement, lines, product):
        yield Candidate(
            "take the rows by a one-hot product",
            edits,
            applicability="unsafe",
            exact=False,
            why=_DOUBT,
        )


def _taken(one: Called) -> tuple[ast.expr, ast.expr] | None:
    """The table and the indices of its rows."""
    if isinstance(one.node, ast.Subscript):
        index = one.node.slice
        return None if isinstance(index, (ast.Tuple, ast.Slice)) else (one.node.value, index)
    table, wanted = one.operand(), one.argument("indices", 1)
    if (
        one.name != "take"
        or table is None
        or wanted is None
        or not one.has_only(3, "indices", "axis")
    ):
        return None
    axis = one.argument("axis", 2)
    return (table, wanted) if axis is not None and axis_of(one, axis) == 0 else None


def _index_shape(one: Called) -> int | None:
    """How many rows are taken, where they are taken by one vector."""
    inputs = one.operation.inputs
    if len(inputs) < 2 or len(inputs[1].shape) != 2 or inputs[1].shape[1] != 1:
        return None
    whole_rows = one.operation.parameter("slice_sizes") == (1, one.shape[1])
    return inputs[1].shape[0] if whole_rows else None


def _dtype(one: Called, table: ast.expr) -> str:
    if isinstance(table, ast.Name):
        return f"{table.id}.dtype"
    return one.numpy(one.dtype) or f'"{one.dtype}"'
