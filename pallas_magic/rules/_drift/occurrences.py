"""Where a text names something by its dotted name in JAX."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Iterator, Mapping

from pallas_magic.source.document import Library
from pallas_magic.source.names import imports
from pallas_magic.source.resolve import local_names
from pallas_magic.source.syntax import Syntax

# An `if` that asks for one of these chooses what fits the release of JAX that is there.
_ASKS_FOR_RELEASE = {"hasattr", "__version__", "__version_info__", "getattr"}


@dataclasses.dataclass(frozen=True, eq=False)
class Named:
    """A name, or a dotted name, and what it is called in JAX."""

    node: ast.Name | ast.Attribute
    dotted: str


class Names:
    """The dotted names of one text, read by its imports."""

    def __init__(self, sources: Library, syntax: Syntax) -> None:
        self.syntax = syntax
        self.imported: Mapping[str, str] = imports(sources, syntax.document)

    def dotted(self, node: ast.expr) -> str:
        """What ``node`` is called in JAX, "" where the text does not tell it."""
        if isinstance(node, ast.Attribute):
            owner = self.dotted(node.value)
            return f"{owner}.{node.attr}" if owner else ""
        if not isinstance(node, ast.Name) or self._is_local(node):
            return ""
        return self.imported.get(node.id, "")

    def _is_local(self, node: ast.Name) -> bool:
        return any(node.id in local_names(one) for one in self.syntax.functions(node))

    def occurrences(self, root: ast.AST, wanted: Callable[[str], bool]) -> Iterator[Named]:
        """The longest names under ``root`` that are ``wanted``, in the order of the text.

        What stands where the text itself asks which JAX it runs on is left out.
        """
        for node in sorted(_names_under(root), key=lambda one: (one.lineno, one.col_offset)):
            dotted = self.dotted(node)
            parent = self.syntax.parent(node)
            longer = isinstance(parent, ast.Attribute) and wanted(self.dotted(parent))
            if dotted and wanted(dotted) and not longer and not self._is_guarded(node):
                yield Named(node, dotted)

    def _is_guarded(self, node: ast.AST) -> bool:
        if next(self.syntax.around(node, ast.Try), None) is not None:
            return True
        tests = [one.test for one in self.syntax.around(node, ast.If)]
        tests += [one.test for one in self.syntax.around(node, ast.IfExp)]
        return any(_asks_for_release(test) for test in tests)


def _names_under(root: ast.AST) -> Iterator[ast.Name | ast.Attribute]:
    for node in ast.walk(root):
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
            yield node


def _asks_for_release(test: ast.expr) -> bool:
    names = {one.id for one in ast.walk(test) if isinstance(one, ast.Name)}
    names |= {one.attr for one in ast.walk(test) if isinstance(one, ast.Attribute)}
    return bool(names & _ASKS_FOR_RELEASE)
