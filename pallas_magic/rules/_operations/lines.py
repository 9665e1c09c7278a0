"""Edits that work an operation out in lines of their own before the statement it stands in."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

from pallas_magic.report import TextEdit
from pallas_magic.rules._memory.assignment import all_or_none
from pallas_magic.rules._memory.layout import as_lines, can_take_lines
from pallas_magic.rules._memory.scalar_loop import free_names
from pallas_magic.rules._operations.called import Called
from pallas_magic.source.syntax import Syntax, end_of, start_of

Edits = tuple[TextEdit, ...]
_Simple = ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Return | ast.Expr
_LATER = (ast.Lambda, ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp, ast.IfExp)


def replaced(one: Called, text: str) -> Edits:
    """The expression replaced by another, in parentheses where its place asks for them."""
    return all_or_none((one.syntax.replace(one.node, text),))


def statement_of(one: Called) -> _Simple | None:
    """The statement that lines can be put before, ``None`` where they would run at other times."""
    for above in one.syntax.around(one.node, ast.AST):
        if isinstance(above, _LATER):
            return None
        if isinstance(above, ast.stmt):
            simple = isinstance(above, _Simple) and can_take_lines(one.syntax, above)
            return above if simple and isinstance(above, _Simple) else None
    return None


def free_name(one: Called, *wanted: str) -> str:
    """The first of ``wanted`` that the text around does not use."""
    return free_names(one.syntax, one.node, wanted, 1)[0]


def step_of(one: Called) -> str:
    from pallas_magic.rules._memory.layout import indentation_step

    statement = one.syntax.statement(one.node)
    return indentation_step(one.syntax, statement) if statement is not None else "    "


def named(one: Called, operand: ast.expr, use: Callable[[str], str], *wanted: str) -> Edits:
    """The expression replaced by one that uses its operand several times, which so needs a name."""
    if isinstance(operand, ast.Name):
        return replaced(one, use(operand.id))
    statement = statement_of(one)
    if statement is None:
        return ()
    name = free_name(one, *wanted)
    line = f"{name} = {one.text(operand)}"
    return before(one, statement, [line], use(name))


def before(one: Called, statement: ast.stmt, lines: Sequence[str], text: str) -> Edits:
    """Lines put before ``statement``, and the expression in it replaced."""
    indentation = "\n" + one.syntax.indentation(statement.lineno)
    block = "".join(line.replace("\n", indentation) + indentation for line in lines)
    if start_of(statement) == start_of(one.node):
        return all_or_none((one.syntax.replace(one.node, block + text),))
    return all_or_none(
        (one.syntax.insert(start_of(statement), block), one.syntax.replace(one.node, text))
    )


def built_up(
    one: Called,
    operand: ast.expr,
    lines: Callable[[str], list[str]],
    result: Callable[[str], str],
    *wanted: str,
) -> Edits:
    """The operand under a name of its own, ``lines`` that change it, and what comes of it.

    Where the expression is all that is assigned to a name, that name serves.
    """
    statement = statement_of(one)
    if statement is None:
        return ()
    target = assigned_name(statement, one.node)
    text = one.text(operand)
    reads = {node.id for node in ast.walk(operand) if isinstance(node, ast.Name)}
    if target and (target not in reads or text == target):
        body = [f"{target} = {text}"] if text != target else []
        body += lines(target)
        if (last := result(target)) != target:
            body.append(f"{target} = {last}")
        return all_or_none((as_lines(one.syntax, statement, body),))
    name = free_name(one, *wanted)
    return before(one, statement, [f"{name} = {text}", *lines(name)], result(name))


def assigned_name(statement: ast.stmt, node: ast.expr) -> str:
    """The one name that all of ``node`` is assigned to, "" if it is to none."""
    if not isinstance(statement, ast.Assign) or statement.value is not node:
        return ""
    targets = statement.targets
    return targets[0].id if len(targets) == 1 and isinstance(targets[0], ast.Name) else ""


def without_statement(syntax: Syntax, statement: ast.stmt) -> TextEdit | None:
    """An edit that takes away a statement that has lines of its own, and something behind it."""
    parent = syntax.parent(statement)
    block = getattr(parent, "body", [])
    if (
        not isinstance(block, list)
        or statement not in block
        or not can_take_lines(syntax, statement)
    ):
        return None
    at = block.index(statement)
    following = block[at + 1] if at + 1 < len(block) else None
    if following is None:
        return None
    # A decorator stands before the line that `ast` gives.
    decorators = getattr(following, "decorator_list", [])
    end = min([start_of(following), *((one.lineno, one.col_offset - 1) for one in decorators)])
    between = syntax.text_between(end_of(statement), end)
    if between.strip() or not between.startswith("\n"):
        return None
    return syntax.replace_between(start_of(statement), end, "")


def parenthesised(one: Called, node: ast.expr) -> str:
    """The text of ``node`` as a part of a bigger expression."""
    text = one.text(node)
    whole = (ast.Name, ast.Constant, ast.Call, ast.Subscript, ast.Attribute, ast.List, ast.Tuple)
    return text if isinstance(node, whole) else f"({text})"
