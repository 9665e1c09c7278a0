"""The k largest of each row, as k rounds of maximum and mask."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pallas_magic.failure import Candidate
from pallas_magic.rules._memory.assignment import all_or_none
from pallas_magic.rules._memory.layout import as_lines
from pallas_magic.rules._operations.called import Called, integer
from pallas_magic.rules._operations.lines import Edits, free_name, statement_of, step_of

_MOST_ROUNDS = 16


def largest_fixes(one: Called) -> Iterator[Candidate]:
    """`values, indices = lax.top_k(x, k)` along the last axis of a value of two axes."""
    operand, count = one.operand(), integer(one.argument("k", 1))
    if one.name != "top_k" or operand is None or count is None or not one.has_only(2, "k"):
        return
    targets = _targets(one)
    if targets is None or len(one.shape) != 2 or one.dtype != "float32":
        return
    values, indices = targets
    if count == 1 and not indices and (edits := _maximum(one, operand, values)):
        yield Candidate("take the maximum of each row", edits)
    elif 1 <= count <= _MOST_ROUNDS and (edits := _rounds(one, operand, count, values, indices)):
        yield Candidate(
            f"take the largest of each row {count} times, exact for finite values", edits
        )
    if edits := _unstable(one):
        title = "ask for `is_stable=False`, which leaves the order of equal values open"
        why = "the places of equal values can differ" if indices else ""
        yield Candidate(title, edits, applicability="unsafe" if why else "safe", why=why)


def _targets(one: Called) -> tuple[str, str] | None:
    """The names of the values and of their places, "" for what is not used."""
    statement = statement_of(one)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target = statement.targets[0]
    if (
        not isinstance(target, ast.Tuple)
        or len(target.elts) != 2
        or statement.value is not one.node
    ):
        return None
    names = [part.id if isinstance(part, ast.Name) else "" for part in target.elts]
    if not all(names) or names[0].startswith("_"):
        return None
    return names[0], "" if names[1].startswith("_") else names[1]


def _maximum(one: Called, operand: ast.expr, values: str) -> Edits:
    statement, largest = statement_of(one), one.numpy("max")
    if statement is None or largest is None:
        return ()
    line = f"{values} = {largest}({one.text(operand)}, axis=1, keepdims=True)"
    return all_or_none((as_lines(one.syntax, statement, [line]),))


def _rounds(one: Called, operand: ast.expr, count: int, values: str, indices: str) -> Edits:
    needed = [one.numpy(name) for name in ("max", "min", "where", "inf", "concatenate")]
    statement, place = statement_of(one), one.counted("x.shape", 1)
    if statement is None or place is None or None in needed:
        return ()
    largest, least, where, infinity, concatenate = needed
    rest, lane, best, at = (
        free_name(one, *names)
        for names in (("rest", "left"), ("lane", "place"), ("best", "top"), ("at", "best_lane"))
    )
    step = step_of(one)
    found = f"{least}({where}({rest} == {best}, {lane}, {one.shape[1]}), axis=1, keepdims=True)"
    lists = f"{values}, {indices} = [], []" if indices else f"{values} = []"
    lines = [
        f"{rest} = {one.text(operand)}",
        f"{lane} = {one.counted(f'{rest}.shape', 1)}",
        lists,
        f"for _ in range({count}):",
        f"{step}{best} = {largest}({rest}, axis=1, keepdims=True)",
        f"{step}{at} = {found}",
        f"{step}{rest} = {where}({lane} == {at}, -{infinity}, {rest})",
        f"{step}{values}.append({best})",
        *([f"{step}{indices}.append({at})"] if indices else []),
        f"{values} = {concatenate}({values}, axis=1)",
        *([f"{indices} = {concatenate}({indices}, axis=1)"] if indices else []),
    ]
    return all_or_none((as_lines(one.syntax, statement, lines),))


def _unstable(one: Called) -> Edits:
    from pallas_magic.source.calls import add_keyword

    if not isinstance(one.node, ast.Call) or "is_stable" not in one.failure.text:
        return ()
    return all_or_none((add_keyword(one.syntax, one.node, "is_stable=False"),))
