"""Whole lines of a region taken out of it, indentation and comments with them."""

from __future__ import annotations

import ast

from pallas_magic.report import TextEdit
from pallas_magic.rules._warp.regions import Region, Unit
from pallas_magic.source.syntax import Syntax, end_of, start_of


def stands_alone(syntax: Syntax, statement: ast.stmt) -> bool:
    """Whether nothing but a comment shares its lines with a statement."""
    after = syntax.line_after(last_line(statement), statement.end_col_offset or 0).strip()
    before = syntax.line_before(first_line(statement), statement.col_offset).strip()
    return before in ("", "@") and (not after or after.startswith("#"))


def can_be_moved(syntax: Syntax, statement: ast.stmt) -> bool:
    """Whether a statement has lines of its own, or shares one with others by semicolons."""
    return stands_alone(syntax, statement) or bool(_neighbours(syntax, statement))


def as_block(syntax: Syntax, statement: ast.stmt, lines: list[str]) -> TextEdit | None:
    """Lines in the place of the one statement behind `if c:`, as a block below it."""
    holder = syntax.parent(statement)
    if not isinstance(holder, ast.stmt) or getattr(holder, "body", None) != [statement]:
        return None
    before = syntax.line_before(*start_of(statement))
    if holder.lineno != statement.lineno or not before.rstrip().endswith(":"):
        return None
    margin = syntax.indentation(holder.lineno) + " " * 4
    start = (statement.lineno, len(before.rstrip().encode()))
    text = "".join(f"\n{margin}{line}" for line in lines)
    return syntax.replace_between(start, end_of(statement), text)


def has_long_strings(statement: ast.stmt) -> bool:
    """Whether a string runs over several lines, which indentation would change."""
    return any(
        isinstance(node, (ast.Constant, ast.JoinedStr)) and node.lineno != node.end_lineno
        for node in ast.walk(statement)
    )


def first_line(statement: ast.stmt) -> int:
    """The first line of a statement, its decorators and no comment included."""
    if isinstance(statement, ast.FunctionDef) and statement.decorator_list:
        return statement.decorator_list[0].lineno
    return statement.lineno


def last_line(statement: ast.stmt) -> int:
    return statement.end_lineno or statement.lineno


def with_comments(syntax: Syntax, statement: ast.stmt, not_above: int) -> int:
    """The first of the comment lines directly above a statement, its own if there are none."""
    line = first_line(statement)
    while line - 1 > not_above and line_text(syntax, line - 1).lstrip().startswith("#"):
        line -= 1
    return line


def line_text(syntax: Syntax, line: int) -> str:
    return syntax.line_after(line, 0)


def line_end(syntax: Syntax, line: int) -> tuple[int, int]:
    """The end of a line, a comment included."""
    return line, len(line_text(syntax, line).encode())


def moved_lines(region: Region, unit: Unit) -> list[str]:
    """The lines of a unit as they read at the region's own indentation."""
    syntax, statement = region.syntax, unit.statement
    if not stands_alone(syntax, statement):
        return [syntax.indentation(first_line(region.opening)) + syntax.text(statement)]
    holder = unit.guards[-1] if unit.guards else region.function
    start = with_comments(syntax, statement, holder.lineno)
    depth = statement.col_offset - region.opening.col_offset
    margin = syntax.indentation(first_line(region.opening))
    own = region.opening.col_offset
    lines = []
    for line in range(start, last_line(statement) + 1):
        text = line_text(syntax, line)
        cut = min(own + depth, len(text) - len(text.lstrip()))
        lines.append((margin + text[cut:]) if text.strip() else "")
    return lines


def without(
    syntax: Syntax, statement: ast.stmt, body: list[ast.stmt], start: int
) -> TextEdit | None:
    """An edit that takes a statement out of ``body``, its comments from line ``start`` on too.

    The blank lines that set it off from the next statement go along, or where
    it is the last one those before it.
    """
    if not stands_alone(syntax, statement):
        return _without_semicolon(syntax, statement)
    first, last = start, last_line(statement)
    if body[-1] is not statement:
        while body[0] is statement and not line_text(syntax, last + 1).strip():
            last += 1
    elif body[0] is not statement:
        while not line_text(syntax, first - 1).strip():
            first -= 1
    return syntax.replace_between(line_end(syntax, first - 1), line_end(syntax, last), "")


def _without_semicolon(syntax: Syntax, statement: ast.stmt) -> TextEdit | None:
    """An edit that takes one of the statements of a line away."""
    neighbours = _neighbours(syntax, statement)
    if not neighbours:
        return None
    other = neighbours[-1]
    if start_of(other) > start_of(statement):
        return syntax.replace_between(start_of(statement), start_of(other), "")
    return syntax.replace_between(end_of(other), end_of(statement), "")


def _neighbours(syntax: Syntax, statement: ast.stmt) -> list[ast.stmt]:
    """The statements before and behind a simple one on its line, semicolons between them."""
    body = getattr(syntax.parent(statement), "body", [])
    if not isinstance(body, list) or statement not in body or hasattr(statement, "body"):
        return []
    if statement.lineno != last_line(statement) or syntax.line_before(*start_of(body[0])).strip():
        return []
    at = body.index(statement)
    found = [*body[max(at - 1, 0) : at], *body[at + 1 : at + 2]]
    return [one for one in found if one.lineno == last_line(one) == statement.lineno]
