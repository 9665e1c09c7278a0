"""The expression that failed inside a kernel, and the statement it stands in."""

from __future__ import annotations

import ast
import dataclasses
import re

from pallas_magic.failure import Failure
from pallas_magic.report import Span, TextEdit
from pallas_magic.source.document import Library
from pallas_magic.source.names import spelled
from pallas_magic.source.syntax import Syntax, end_of, start_of, syntax_of

_SHAPE = re.compile(r"-?\d+")
# What binds at least as tightly as a call, an index or an attribute does.
_TIGHT = (ast.Name, ast.Constant, ast.Attribute, ast.Subscript, ast.Call, ast.Tuple, ast.List)


@dataclasses.dataclass(frozen=True, eq=False)
class Failing:
    """An expression that JAX refused while it was evaluated."""

    syntax: Syntax
    node: ast.expr
    statement: ast.stmt | None

    @property
    def text(self) -> str:
        return self.syntax.text(self.node)

    def span(self) -> Span | None:
        return self.syntax.span(self.node)


def failing(failure: Failure, sources: Library) -> Failing | None:
    """The expression at the failure's place, ``None`` where no text has it."""
    syntax = syntax_of(sources, failure.place)
    node = syntax.at(failure.place) if syntax is not None and failure.place is not None else None
    if syntax is None or node is None:
        return None
    return Failing(syntax, node, syntax.statement(node))


def numpy_name(sources: Library, syntax: Syntax, name: str) -> str | None:
    """``jax.numpy``'s ``name`` as the text can write it."""
    return spelled(sources, syntax.document, "jax.numpy", name)


def shape_of(text: str) -> tuple[int, ...]:
    """A shape as JAX prints it."""
    return tuple(int(size) for size in _SHAPE.findall(text))


def needs_parentheses(node: ast.expr) -> bool:
    """Whether something put behind ``node`` would bind to a part of it only."""
    is_number = isinstance(node, ast.Constant) and isinstance(node.value, (int, float))
    return is_number or not isinstance(node, _TIGHT)


def followed_by(syntax: Syntax, node: ast.expr, text: str) -> tuple[TextEdit | None, ...]:
    """Edits that put ``text`` behind the value of ``node``: a method, an index."""
    if not needs_parentheses(node):
        return (syntax.insert(end_of(node), text),)
    if _has_parentheses(syntax, node):
        line, column = end_of(node)
        return (syntax.insert((line, column + 1), text),)
    return (syntax.insert(start_of(node), "("), syntax.insert(end_of(node), f"){text}"))


def complete(edits: tuple[TextEdit | None, ...] | list[TextEdit | None]) -> tuple[TextEdit, ...]:
    """The edits if every one could be made, each once; otherwise none."""
    known = tuple(dict.fromkeys(edit for edit in edits if edit is not None))
    return known if None not in edits else ()


def _has_parentheses(syntax: Syntax, node: ast.expr) -> bool:
    """Whether ``node`` stands in parentheses of its own, on its own lines."""
    before = syntax.line_before(*start_of(node))
    after = syntax.line_after(*end_of(node))
    parent = syntax.parent(node)
    if isinstance(parent, ast.Call) and node in parent.args:
        return False
    return before.endswith("(") and after.startswith(")")
