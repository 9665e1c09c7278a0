"""Edits that index a ref down to a scalar where only one element is moved."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from pallas_magic.report import TextEdit
from pallas_magic.rules._memory.assignment import all_or_none
from pallas_magic.rules._memory.indexed import Indexed
from pallas_magic.source.syntax import end_of, identifier, start_of

Edits = tuple[TextEdit, ...]


def scalar_indices(moved: Sequence[Indexed]) -> Iterator[Edits]:
    """Ways to index every one of ``moved`` down to a scalar, the likeliest first.

    What is stored must become a scalar too. The text alone does not always tell
    whether it is one already; then both are proposed.
    """
    if any(one.stores and one.statement is None for one in moved):
        return
    seen = set()
    for element_of_value in (False, True):
        edits = [edit for one in moved for edit in _down_to_scalar(one, moved, element_of_value)]
        made = all_or_none(edits)
        if made and made not in seen:
            seen.add(made)
            yield made


def _down_to_scalar(
    one: Indexed, moved: Sequence[Indexed], element_of_value: bool
) -> Iterator[TextEdit | None]:
    index = ", ".join(axis.text for axis in one.axes)
    yield one.syntax.replace(one.node, f"{one.ref_text}[{index}]")
    statement = one.statement
    if statement is None:
        return
    value = statement.value
    if (text := repeated_scalar(one, value)) is not None:
        yield one.syntax.replace(value, text)
    elif (inner := _scalar_inside(value)) is not None:
        yield one.syntax.replace_between(start_of(value), start_of(inner), "")
        yield one.syntax.replace_between(end_of(inner), end_of(value), "")
    elif element_of_value or not _may_be_scalar(statement, moved):
        yield from _element(one, value)


def repeated_scalar(one: Indexed, value: ast.expr) -> str | None:
    """The number that all of ``value`` is, written as the ref's type wants it."""
    if not isinstance(value, ast.Call):
        return None
    number = {"zeros": "0", "zeros_like": "0", "ones": "1", "ones_like": "1"}.get(
        identifier(value.func)
    )
    if number is None:
        return None
    return {"float32": f"{number}.0", "int32": number}.get(one.accesses[0].dtype)


def _may_be_scalar(statement: ast.Assign | ast.AugAssign, moved: Sequence[Indexed]) -> bool:
    """A plain store of a scalar is refused earlier; with a load of the ref it is broadcast."""
    if isinstance(statement, ast.AugAssign):
        return True
    inside = set(ast.walk(statement.value))
    return any(other.node in inside for other in moved)


def _scalar_inside(value: ast.expr) -> ast.expr | None:
    """The scalar that ``value`` only wraps into an array of one element."""
    if isinstance(value, ast.Subscript):
        return value.value if _only_new_axes(value.slice) else None
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return None
    given = value.args
    match value.func.attr:
        case "reshape" if given and all(map(_is_shape, given)):
            return value.func.value
        case "reshape" | "broadcast_to" if len(given) == 2 and _is_shape(given[1]):
            return given[0]
        case "full" if len(given) >= 2 and _is_shape(given[0]):
            return given[1]
        case "array" | "asarray" if given and isinstance(given[0], ast.List):
            return _only_element(given[0])
    return None


def _only_element(node: ast.expr) -> ast.expr | None:
    while isinstance(node, ast.List):
        if len(node.elts) != 1:
            return None
        node = node.elts[0]
    return node


def _is_shape(node: ast.expr) -> bool:
    return _is_one(node) or (isinstance(node, ast.Tuple) and all(map(_is_one, node.elts)))


def _is_one(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 1


def _only_new_axes(index: ast.expr) -> bool:
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    return all(isinstance(part, ast.Constant) and part.value is None for part in parts)


def _element(one: Indexed, value: ast.expr) -> Iterator[TextEdit | None]:
    """Edits that take the only element of ``value``."""
    zeros = f"[{', '.join('0' for _ in one.shape)}]"
    if not one.has_words:
        yield None
    elif isinstance(value, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)):
        yield one.syntax.insert(end_of(value), zeros)
    else:
        yield one.syntax.insert(start_of(value), "(")
        yield one.syntax.insert(end_of(value), ")" + zeros)
