"""Edits of the parameters of a function or lambda."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from pallas_magic.report import TextEdit
from pallas_magic.source.syntax import Function, Syntax

GRID_NAMES = ("i", "j", "k", "l", "m", "n")


def has_plain_parameters(node: Function) -> bool:
    """Whether all parameters are filled by position and have no defaults."""
    spec = node.args
    others = (spec.vararg, spec.kwarg, *spec.kwonlyargs, *spec.defaults)
    return all(one is None for one in others)


def add_parameters(
    syntax: Syntax, node: Function, names: Sequence[str], position: int | None = None
) -> TextEdit | None:
    """An edit that puts ``names`` before the parameter at ``position``, or last."""
    given = [*node.args.posonlyargs, *node.args.args]
    text = ", ".join(names)
    if not given:
        return _into_empty(syntax, node, text)
    if position is not None and position < len(given):
        return syntax.insert((given[position].lineno, given[position].col_offset), f"{text}, ")
    last = given[-1]
    on_its_own_line = not syntax.line_before(*_start(last)).strip()
    separator = ",\n" + syntax.indentation(last.lineno) if on_its_own_line else ", "
    return syntax.insert(_end(last), separator + text)


def remove_parameters(syntax: Syntax, node: Function, count: int) -> TextEdit | None:
    """An edit that takes the last ``count`` parameters away."""
    given = [*node.args.posonlyargs, *node.args.args]
    kept = given[: len(given) - count]
    last = given[-1]
    end = (last.end_lineno or last.lineno, last.end_col_offset or last.col_offset)
    if kept:
        before = kept[-1]
        start = (before.end_lineno or before.lineno, before.end_col_offset or before.col_offset)
        return syntax.replace_between(start, end, "")
    start = (given[0].lineno, given[0].col_offset)
    if isinstance(node, ast.Lambda):
        # The blank behind the word goes with its last parameter.
        start = (node.lineno, node.col_offset + len("lambda"))
    return syntax.replace_between(start, end, "")


def free_names(node: Function, wanted: Iterable[str], count: int) -> list[str]:
    """The first ``count`` of ``wanted`` that ``node`` does not use."""
    used = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    used |= {one.arg for one in ast.walk(node) if isinstance(one, ast.arg)}
    return [name for name in dict.fromkeys(wanted) if name not in used][:count]


def _into_empty(syntax: Syntax, node: Function, text: str) -> TextEdit | None:
    if isinstance(node, ast.Lambda):
        return syntax.insert((node.lineno, node.col_offset + len("lambda")), f" {text}")
    start = (node.lineno, node.col_offset)
    body = node.body[0]
    header = syntax.text_between(start, (body.lineno, body.col_offset))
    opening = header.find("(")
    if opening < 0 or "\n" in header[:opening]:
        return None
    return syntax.insert((node.lineno, node.col_offset + len(header[: opening + 1].encode())), text)


def without_parameters(
    syntax: Syntax, node: Function, unwanted: Sequence[ast.arg]
) -> tuple[TextEdit, ...]:
    """Edits that take single parameters away, each with the comma that goes with it."""
    given = [*node.args.posonlyargs, *node.args.args]
    kept = [one for one in given if one not in unwanted]
    if not kept:
        edit = remove_parameters(syntax, node, len(given))
        return (edit,) if edit is not None else ()
    first_kept = given.index(kept[0])
    edits: list[TextEdit | None] = []
    if first_kept > 0:
        edits.append(syntax.replace_between(_start(given[0]), _start(kept[0]), ""))
    for before, one in zip(given[first_kept:], given[first_kept + 1 :], strict=False):
        if one in unwanted:
            edits.append(syntax.replace_between(_end(before), _end(one), ""))
    known = tuple(edit for edit in edits if edit is not None)
    return known if len(known) == len(edits) else ()


def _start(one: ast.arg) -> tuple[int, int]:
    return one.lineno, one.col_offset


def _end(one: ast.arg) -> tuple[int, int]:
    return one.end_lineno or one.lineno, one.end_col_offset or one.col_offset
