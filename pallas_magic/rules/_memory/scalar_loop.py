"""Edits that move a short vector through SMEM one scalar at a time."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence

from pallas_magic.report import TextEdit
from pallas_magic.rules._memory.assignment import (
    Assignment,
    all_or_none,
    operator,
    operator_end,
)
from pallas_magic.rules._memory.indexed import Axis, Indexed
from pallas_magic.rules._memory.layout import (
    as_lines,
    can_take_lines,
    indentation_step,
    lines_after,
)
from pallas_magic.rules._memory.scalar_index import repeated_scalar
from pallas_magic.source.document import Library
from pallas_magic.source.names import spelled
from pallas_magic.source.syntax import Syntax, start_of

LONGEST_STORE = 128
LONGEST_LOAD = 32

_COUNTERS = ("i", "j", "k", "row", "column", "index")
_VALUES = ("values", "new_values", "stored_values")


def loops_of_stores(stores: Sequence[Indexed]) -> tuple[TextEdit, ...]:
    """Each vector store as a Python loop of scalar stores; empty where one is too long."""
    edits: list[TextEdit] = []
    for store in stores:
        made = _loop(store)
        if not made:
            return ()
        edits += made
    return tuple(edits)


def stacks_of_loads(loads: Sequence[Indexed], sources: Library) -> tuple[TextEdit, ...]:
    """Each vector load as a stack of scalar loads; empty where one is too long."""
    return all_or_none([_stack(load, sources) for load in loads])


def _loop(store: Indexed) -> tuple[TextEdit, ...]:
    syntax, statement = store.syntax, store.statement
    short = 1 < math.prod(store.shape) <= LONGEST_STORE and len(store.shape) <= 2
    if statement is None or not short or not store.has_words:
        return ()
    if not can_take_lines(syntax, statement):
        return ()
    counters = _counters(store)
    at = f"[{', '.join(counters)}]"
    value = statement.value
    number = repeated_scalar(store, value)
    if number is None and not isinstance(value, ast.Name):
        values = free_names(syntax, statement, _VALUES, 1)[0]
        before_value = start_of(store.node), operator_end(syntax, statement)
        lines = _loop_lines(store, statement, counters, values + at)
        return all_or_none(
            (
                syntax.replace_between(*before_value, f"{values} ="),
                lines_after(syntax, statement, lines),
            )
        )
    scalar = number if number is not None else syntax.text(value) + at
    lines = _loop_lines(store, statement, counters, scalar)
    return all_or_none((as_lines(syntax, statement, lines),))


def _loop_lines(
    store: Indexed, statement: Assignment, counters: list[str], scalar: str
) -> list[str]:
    step = indentation_step(store.syntax, statement)
    loops = [(name, size) for name, size in zip(counters, store.shape, strict=True) if size > 1]
    lines = [
        f"{step * depth}for {name} in range({size}):" for depth, (name, size) in enumerate(loops)
    ]
    target = f"{store.ref_text}[{_scalar_index(store.axes, counters)}]"
    body = f"{target} {operator(store.syntax, statement)} {scalar}"
    return [*lines, step * len(loops) + body]


def _counters(one: Indexed) -> list[str]:
    """A loop variable for each axis of the value, "0" for an axis of one element."""
    names = iter(free_names(one.syntax, one.node, _COUNTERS, len(one.shape)))
    return [next(names) if size > 1 else "0" for size in one.shape]


def _scalar_index(axes: Sequence[Axis], counters: Sequence[str]) -> str:
    remaining = iter(counters)
    return ", ".join(
        axis.text if axis.size is None else _shifted(axis.text, next(remaining)) for axis in axes
    )


def _shifted(start: str, counter: str) -> str:
    if start == "0" or counter == "0":
        return counter if start == "0" else start
    return f"{start} + {counter}" if start.isalnum() else f"({start}) + {counter}"


def _stack(load: Indexed, sources: Library) -> TextEdit | None:
    stack = spelled(sources, load.syntax.document, "jax.numpy", "stack")
    if stack is None or len(load.shape) != 1 or load.statement is not None:
        return None
    if not 1 < load.shape[0] <= LONGEST_LOAD or not load.has_words:
        return None
    counters = _counters(load)
    element = f"{load.ref_text}[{_scalar_index(load.axes, counters)}]"
    text = f"{stack}([{element} for {counters[0]} in range({load.shape[0]})])"
    return load.syntax.replace(load.node, text)


def free_names(syntax: Syntax, node: ast.AST, wanted: Sequence[str], count: int) -> list[str]:
    """The first ``count`` of ``wanted`` that the text around ``node`` does not use."""
    scope = next(syntax.functions(node), syntax.module)
    used = {one.id for one in ast.walk(scope) if isinstance(one, ast.Name)}
    used |= {one.arg for one in ast.walk(scope) if isinstance(one, ast.arg)}
    free = [name for name in wanted if name not in used]
    free += [name for number in range(2, 9) if (name := f"{wanted[0]}{number}") not in used]
    return free[:count]
