"""The parts of an assignment: its target, its operator, its value."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from pallas_magic.report import TextEdit
from pallas_magic.source.syntax import Syntax, end_of, start_of

Assignment = ast.Assign | ast.AugAssign


def operator(syntax: Syntax, statement: Assignment) -> str:
    """How it is written: "=", "+=" and the like."""
    return _target_to_value(syntax, statement).partition("=")[0].strip() + "="


def operator_end(syntax: Syntax, statement: Assignment) -> tuple[int, int]:
    """Where the operator ends, as (line, byte column)."""
    before = _target_to_value(syntax, statement).partition("=")[0].split("\n")
    line, column = end_of(target(statement))
    if len(before) > 1:
        return line + len(before) - 1, len(before[-1].encode()) + 1
    return line, column + len(before[0].encode()) + 1


def target(statement: Assignment) -> ast.expr:
    return statement.target if isinstance(statement, ast.AugAssign) else statement.targets[0]


def all_or_none(edits: Sequence[TextEdit | None]) -> tuple[TextEdit, ...]:
    """The edits if every one could be made, otherwise none."""
    known = tuple(edit for edit in edits if edit is not None)
    return known if len(known) == len(edits) else ()


def _target_to_value(syntax: Syntax, statement: Assignment) -> str:
    return syntax.text_between(end_of(target(statement)), start_of(statement.value))
