"""The store statements of one diagnosis, and fixes that rewrite them where they stand."""

from __future__ import annotations

import ast
import dataclasses

from pallas_magic.failure import Failure, VectorAccess
from pallas_magic.report import TextEdit
from pallas_magic.rules._memory.layout import as_lines, can_take_lines
from pallas_magic.rules._warp.lines import as_block
from pallas_magic.rules._warp.statements import accesses, head
from pallas_magic.source.document import Library
from pallas_magic.source.syntax import Function, Syntax, syntax_of


@dataclasses.dataclass(frozen=True, eq=False)
class Store:
    """``ref[index] = value`` in a region, with the vector loads inside the value."""

    syntax: Syntax
    statement: ast.Assign
    target: ast.Subscript
    told: VectorAccess
    loads: tuple[tuple[ast.Subscript, VectorAccess], ...]

    @property
    def value(self) -> ast.expr:
        return self.statement.value

    @property
    def function(self) -> Function | None:
        return self.syntax.function(self.statement)

    def replaced_by(self, lines: list[str]) -> TextEdit | None:
        """An edit that puts ``lines`` in the place of the statement."""
        if can_take_lines(self.syntax, self.statement):
            return as_lines(self.syntax, self.statement, lines)
        return as_block(self.syntax, self.statement, lines)


def stores(failure: Failure, sources: Library) -> tuple[Store, ...]:
    """Every store of a diagnosis told at a store; empty where one is not plain."""
    first = head(failure)
    if first is None or first.access.kind != "store":
        return ()
    told = {vector.access.place: vector for vector in accesses(failure)}
    found = [_store(failure, vector, sources) for vector in told.values()]
    plain = tuple(store for store in found if store is not None)
    return plain if len(plain) == len(found) else ()


def _store(failure: Failure, told: VectorAccess, sources: Library) -> Store | None:
    place = told.access.place
    syntax = syntax_of(sources, place)
    target = syntax.at(place) if syntax is not None and place is not None else None
    if syntax is None or not isinstance(target, ast.Subscript):
        return None
    statement = syntax.parent(target)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    if not isinstance(target.value, ast.Name) or target.value.id != told.ref.name:
        return None
    return Store(syntax, statement, target, told, _loads(failure, syntax, statement.value))


def _loads(
    failure: Failure, syntax: Syntax, value: ast.expr
) -> tuple[tuple[ast.Subscript, VectorAccess], ...]:
    assert failure.warp is not None
    vectors = [vector for vector in failure.warp.vectors if vector.access.kind == "load"]
    found = []
    for node in ast.walk(value):
        if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name):
            continue
        place = syntax.place(node)
        for vector in vectors:
            other = vector.access.place
            same = other is not None and (other.line, other.col) == (place.line, place.col)
            if same and vector.ref.name == node.value.id:
                found.append((node, vector))
                break
    return tuple(found)
