"""Call expressions read statically: their arguments, and edits that change one argument."""

from __future__ import annotations

import ast

from pallas_magic.report import TextEdit
from pallas_magic.source.syntax import Positioned, Syntax, end_of, start_of

_LONGEST_LINE = 96


def keyword(call: ast.Call, name: str) -> ast.keyword | None:
    """The keyword argument ``name`` of ``call``."""
    return next((given for given in call.keywords if given.arg == name), None)


def argument(call: ast.Call, name: str, position: int) -> ast.expr | None:
    """The argument given as ``name`` or, without a name, at ``position``."""
    given = keyword(call, name)
    if given is not None:
        return given.value
    before = call.args[: position + 1]
    if len(before) <= position or any(isinstance(one, ast.Starred) for one in before):
        return None
    return before[position]


def arguments(call: ast.Call) -> list[Positioned]:
    """All arguments of ``call`` in the order of the text."""
    return sorted([*call.args, *call.keywords], key=start_of)


def add_keyword(
    syntax: Syntax, call: ast.Call, text: str, after: Positioned | None = None
) -> TextEdit | None:
    """An edit that gives ``call`` one more keyword argument, written ``name=value``.

    It stands behind ``after``, or behind the last argument, on a line of its
    own where that one has its own.
    """
    given = arguments(call)
    if not given:
        return _fill_empty(syntax, call, text)
    previous = after if after in given and not _positional_follows(call, after) else given[-1]
    line, column = start_of(previous)
    end = outer_end(syntax, previous, call)
    separator = ", "
    if not syntax.line_before(line, column).strip():
        separator = ",\n" + syntax.indentation(line)
    elif end[1] + len(text) > _LONGEST_LINE and (first := syntax.span(given[0])) is not None:
        separator = ",\n" + " " * first.start_col
    return syntax.insert(end, separator + text)


def add_argument(syntax: Syntax, call: ast.Call, text: str) -> TextEdit | None:
    """An edit that gives ``call``, which has no keyword arguments, one more argument."""
    if not call.args:
        return _fill_empty(syntax, call, text)
    return syntax.insert(outer_end(syntax, call.args[-1], call), f", {text}")


def remove_keyword(syntax: Syntax, call: ast.Call, given: ast.keyword) -> TextEdit | None:
    """An edit that takes a keyword argument away, with the comma that goes with it."""
    every = arguments(call)
    index = every.index(given)
    if index > 0:
        start = outer_end(syntax, every[index - 1], call)
        return syntax.replace_between(start, outer_end(syntax, given, call), "")
    if len(every) > 1:
        return syntax.replace_between(start_of(given), start_of(every[1]), "")
    return syntax.replace_between(start_of(given), _before_closing(call), "")


def outer_end(syntax: Syntax, node: Positioned, call: ast.Call) -> tuple[int, int]:
    """The end of an argument with the parentheses around it, which ``ast`` leaves out."""
    end = end_of(node)
    text = syntax.text_between(end, _before_closing(call))
    taken, position = 0, 0
    while position < len(text):
        char = text[position]
        if char == "#":
            position = text.find("\n", position)
            if position < 0:
                break
        elif char == ")":
            taken = position + 1
        elif not char.isspace():
            break
        position += 1
    return _advanced(end, text[:taken])


def _advanced(point: tuple[int, int], text: str) -> tuple[int, int]:
    lines = text.split("\n")
    if len(lines) == 1:
        return point[0], point[1] + len(text.encode())
    return point[0] + len(lines) - 1, len(lines[-1].encode())


def _before_closing(call: ast.Call) -> tuple[int, int]:
    line, column = end_of(call)
    return line, column - 1


def _fill_empty(syntax: Syntax, call: ast.Call, text: str) -> TextEdit | None:
    return syntax.insert(_before_closing(call), text)


def _positional_follows(call: ast.Call, node: Positioned | None) -> bool:
    return node is not None and any(start_of(other) > start_of(node) for other in call.args)
