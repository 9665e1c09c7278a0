"""Edits that put several lines where one statement stood."""

from __future__ import annotations

import ast

from pallas_magic.report import TextEdit
from pallas_magic.source.syntax import Syntax, end_of, start_of


def can_take_lines(syntax: Syntax, statement: ast.stmt) -> bool:
    """Whether lines can be put in the place of ``statement``: its block begins on its own line."""
    first = _first_on_line(syntax, statement)
    return not syntax.line_before(*start_of(first)).strip()


def as_lines(syntax: Syntax, statement: ast.stmt, lines: list[str]) -> TextEdit | None:
    """``statement`` replaced by lines; what shares its line gets one of its own."""
    indentation = "\n" + syntax.indentation(statement.lineno)
    start, end = start_of(statement), end_of(statement)
    before, after = _on_same_line(syntax, statement)
    text = indentation.join(lines)
    if before is not None:
        start, text = end_of(before), indentation + text
    if after is not None:
        end, text = start_of(after), text + indentation
    return syntax.replace_between(start, end, text)


def lines_after(syntax: Syntax, statement: ast.stmt, lines: list[str]) -> TextEdit | None:
    """Lines put behind ``statement``; what shares its line goes behind them."""
    indentation = "\n" + syntax.indentation(statement.lineno)
    text = "".join(indentation + line for line in lines)
    _, after = _on_same_line(syntax, statement)
    end = end_of(statement)
    if after is None:
        return syntax.insert(end, text)
    return syntax.replace_between(end, start_of(after), text + indentation)


def indentation_step(syntax: Syntax, statement: ast.stmt) -> str:
    """By how much the user indents a block."""
    for above in syntax.around(statement, ast.stmt):
        column = _first_on_line(syntax, statement).col_offset
        if above.lineno < statement.lineno and column > above.col_offset:
            return " " * (column - above.col_offset)
    return "    "


def _on_same_line(syntax: Syntax, statement: ast.stmt) -> tuple[ast.stmt | None, ast.stmt | None]:
    block = _block(syntax, statement)
    at = block.index(statement)
    before = block[at - 1] if at > 0 else None
    after = block[at + 1] if at + 1 < len(block) else None
    if before is not None and end_of(before)[0] != statement.lineno:
        before = None
    if after is not None and after.lineno != end_of(statement)[0]:
        after = None
    return before, after


def _first_on_line(syntax: Syntax, statement: ast.stmt) -> ast.stmt:
    before, _ = _on_same_line(syntax, statement)
    return statement if before is None else _first_on_line(syntax, before)


def _block(syntax: Syntax, statement: ast.stmt) -> list[ast.stmt]:
    parent = syntax.parent(statement)
    for field in ("body", "orelse", "finalbody"):
        block = getattr(parent, field, None)
        if isinstance(block, list) and statement in block:
            return block
    return [statement]
