"""The user's Python, read with ``ast``: nodes at places, texts and edits of nodes.

Everything here works on the text that was executed, whose lines and byte
columns both ``ast`` and a :class:`~pallas_magic.source.document.Place` use; only
the spans that come out are those of the text the user sees.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Mapping
from typing import TypeVar

from pallas_magic.report import Span, TextEdit
from pallas_magic.source.document import Document, Library, Place
from pallas_magic.source.edits import span_text

Node = TypeVar("Node", bound=ast.AST)
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Positioned = ast.expr | ast.stmt | ast.keyword


class Syntax:
    """One document with its syntax tree."""

    def __init__(self, document: Document, module: ast.Module) -> None:
        self.document = document
        self.module = module
        self._lines = [line.encode() for line in document.executed.split("\n")]
        self._parents: Mapping[ast.AST, ast.AST] = {
            child: parent for parent in ast.walk(module) for child in ast.iter_child_nodes(parent)
        }

    def at(self, place: Place) -> ast.expr | None:
        """The expression that covers exactly ``place``."""
        wanted = (place.line, place.col, place.end_line, place.end_col)
        nodes = (node for node in ast.walk(self.module) if isinstance(node, ast.expr))
        return next((node for node in nodes if _extent(node) == wanted), None)

    def parent(self, node: ast.AST) -> ast.AST | None:
        return self._parents.get(node)

    def around(self, node: ast.AST, kind: type[Node]) -> Iterator[Node]:
        """The nodes of ``kind`` that hold ``node``, innermost first."""
        above = self.parent(node)
        while above is not None:
            if isinstance(above, kind):
                yield above
            above = self.parent(above)

    def statement(self, node: ast.AST) -> ast.stmt | None:
        """The innermost statement that holds ``node``."""
        return next(self.around(node, ast.stmt), None)

    def function(self, node: ast.AST) -> Function | None:
        """The innermost function that holds ``node``."""
        return next(self.functions(node), None)

    def functions(self, node: ast.AST) -> Iterator[Function]:
        """The functions that hold ``node``, innermost first."""
        for above in self.around(node, ast.AST):
            if isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                yield above

    def place(self, node: Positioned) -> Place:
        return Place(self.document.filename, *_extent(node))

    def span(self, node: Positioned) -> Span | None:
        """Where the user sees ``node``."""
        return self.document.span(self.place(node))

    def text(self, node: Positioned) -> str:
        """The source text of ``node``."""
        return self.text_between(_extent(node)[:2], _extent(node)[2:])

    def text_between(self, start: tuple[int, int], end: tuple[int, int]) -> str:
        """The text from one (line, byte column) to another."""
        if start[0] == end[0]:
            return self._lines[start[0] - 1][start[1] : end[1]].decode()
        first = self._lines[start[0] - 1][start[1] :]
        last = self._lines[end[0] - 1][: end[1]]
        return b"\n".join([first, *self._lines[start[0] : end[0] - 1], last]).decode()

    def line_before(self, line: int, byte_col: int) -> str:
        """What stands on ``line`` before a byte column."""
        return self._lines[line - 1][:byte_col].decode()

    def line_after(self, line: int, byte_col: int) -> str:
        """What stands on ``line`` from a byte column on."""
        return self._lines[line - 1][byte_col:].decode()

    def replace(self, node: Positioned, new_text: str) -> TextEdit | None:
        """An edit that puts ``new_text`` in the place of ``node``."""
        extent = _extent(node)
        return self.replace_between(extent[:2], extent[2:], new_text)

    def insert(self, point: tuple[int, int], new_text: str) -> TextEdit | None:
        """An edit that puts ``new_text`` at a (line, byte column)."""
        return self.replace_between(point, point, new_text)

    def replace_between(
        self, start: tuple[int, int], end: tuple[int, int], new_text: str
    ) -> TextEdit | None:
        """An edit of a stretch; ``None`` where the user's text does not have it as executed."""
        span = self.document.span(Place(self.document.filename, *start, *end))
        if span is None:
            return None
        seen = span_text(self.document.source.text, span)
        if _unindented(seen) != _unindented(self.text_between(start, end)):
            return None
        return TextEdit(span, new_text)

    def indentation(self, line: int) -> str:
        """The white space before the user's text of an executed line."""
        span = self.document.span(Place(self.document.filename, line, 0, line, 0))
        if span is None:
            return ""
        text = self.document.source.text.split("\n")[span.start_line - 1]
        return text[: len(text) - len(text.lstrip())]


def start_of(node: Positioned) -> tuple[int, int]:
    return node.lineno, node.col_offset


def end_of(node: Positioned) -> tuple[int, int]:
    return _extent(node)[2:]


@functools.lru_cache(maxsize=1024)
def parse(document: Document) -> Syntax | None:
    """The syntax of ``document``, ``None`` where it does not parse."""
    try:
        return Syntax(document, ast.parse(document.executed))
    except (SyntaxError, ValueError, RecursionError):
        return None


def syntax_of(sources: Library, place: Place | None) -> Syntax | None:
    """The syntax of the document that ``place`` is in."""
    document = sources.find(place.filename) if place is not None else None
    return parse(document) if document is not None else None


def last_name(node: ast.expr) -> ast.expr | None:
    """``node`` if it is a name or a dotted name, ``None`` otherwise."""
    inner = node
    while isinstance(inner, ast.Attribute):
        inner = inner.value
    return node if isinstance(inner, ast.Name) else None


def identifier(node: ast.expr) -> str:
    """The last part of a dotted name, empty for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) and last_name(node) is not None else ""


def _extent(node: Positioned) -> tuple[int, int, int, int]:
    end_line = node.end_lineno if node.end_lineno is not None else node.lineno
    end_col = node.end_col_offset if node.end_col_offset is not None else node.col_offset
    return node.lineno, node.col_offset, end_line, end_col


def _unindented(text: str) -> list[str]:
    return [line.lstrip() for line in text.split("\n")]
