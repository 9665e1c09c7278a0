"""Whether two objects were made by the same expression, as far as they show it."""

from __future__ import annotations

import dataclasses
import functools
from types import CellType, CodeType, FunctionType
from typing import Any

_DEEPEST = 12


def alike(first: Any, second: Any, depth: int = _DEEPEST) -> bool:
    """Whether the objects have the same parts; functions must have the same code."""
    if first is second:
        return True
    if type(first) is not type(second) or depth == 0:
        return False
    deeper = depth - 1
    match first:
        case FunctionType():
            return _alike_functions(first, second, deeper)
        case list() | tuple():
            same = len(first) == len(second)
            return same and all(alike(*two, deeper) for two in zip(first, second, strict=True))
        case dict():
            same = list(first) == list(second)
            return same and all(alike(first[name], second[name], deeper) for name in first)
        case functools.partial():
            mine = first.func, first.args, first.keywords
            return alike(mine, (second.func, second.args, second.keywords), deeper)
    if dataclasses.is_dataclass(first) or hasattr(first, "index_map"):
        return alike(_parts(first), _parts(second), deeper)
    return _equal(first, second)


def same_code(first: CodeType, second: CodeType) -> bool:
    """Whether two code objects were compiled from the same place of the same text.

    What the compiler was told beside the text, as by a ``__future__`` import, may differ.
    """
    return (
        first.co_filename == second.co_filename
        and first.co_code == second.co_code
        and first.co_names == second.co_names
        and first.co_varnames == second.co_varnames
        and first.co_freevars == second.co_freevars
        and list(first.co_positions()) == list(second.co_positions())
        and len(first.co_consts) == len(second.co_consts)
        and all(map(_same_constant, first.co_consts, second.co_consts))
    )


def _same_constant(first: Any, second: Any) -> bool:
    if isinstance(first, CodeType) and isinstance(second, CodeType):
        return same_code(first, second)
    return type(first) is type(second) and bool(first == second)


def _alike_functions(first: FunctionType, second: FunctionType, depth: int) -> bool:
    same = same_code(first.__code__, second.__code__)
    return same and alike(_outer(first), _outer(second), depth)


def _outer(function: FunctionType) -> list[Any]:
    cells = [_contents(cell) for cell in function.__closure__ or ()]
    return [function.__defaults__, function.__kwdefaults__, cells]


def _contents(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _parts(value: Any) -> dict[str, Any]:
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return {"index_map": value.index_map}


def _equal(first: Any, second: Any) -> bool:
    try:
        return bool(first == second)
    except Exception:  # what cannot be compared is not shown to be alike
        return False
