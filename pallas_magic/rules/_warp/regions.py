"""The text of a warp-level region: its function, how it is opened, its statements."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterable, Iterator

from pallas_magic.failure import Failure, VectorAccess
from pallas_magic.source.document import Library, Place
from pallas_magic.source.syntax import Syntax, identifier, syntax_of

_OPENS_WITH_DECORATOR = ("warp_map", "core_map", "kernel")


@dataclasses.dataclass(frozen=True, eq=False)
class Region:
    """A warp-level region as it is written.

    ``opening`` is the statement that runs the region: its function definition
    where a decorator does, else the call that stands by itself.
    """

    syntax: Syntax
    function: ast.FunctionDef
    opening: ast.stmt

    @property
    def around(self) -> list[ast.stmt]:
        """The statements that the region's function is one of."""
        holder = self.syntax.parent(self.function)
        body = getattr(holder, "body", [])
        return body if self.function in body else [self.function]

    @property
    def identifiers(self) -> frozenset[str]:
        """The names that tell a warp from the others: parameters and axis indices."""
        found = {argument.arg for argument in self.function.args.args}
        for statement in self.function.body:
            if is_axis_index(statement):
                found |= assigned(statement)
        return frozenset(found)


@dataclasses.dataclass(frozen=True, eq=False)
class Unit:
    """A statement of a region that is moved as a whole, with the guards it stands under."""

    statement: ast.stmt
    guards: tuple[ast.FunctionDef, ...] = ()


def find_region(failure: Failure, sources: Library) -> Region | None:
    """The region around a failure, ``None`` where the text does not show it plainly."""
    if failure.warp is None or failure.warp.place is None:
        return None
    place = failure.warp.place
    syntax = syntax_of(sources, place)
    node = syntax.at(place) if syntax is not None else None
    if syntax is None or node is None:
        return None
    above = syntax.parent(node)
    if isinstance(above, ast.FunctionDef) and node in above.decorator_list:
        return Region(syntax, above, above) if len(above.decorator_list) == 1 else None
    return _called(syntax, node, place)


def units(region: Region) -> Iterator[Unit]:
    """The statements of a region in the order of the text, those under guards each alone."""
    yield from _units(region, region.function.body, ())


def is_axis_index(statement: ast.stmt) -> bool:
    """Whether a statement only asks for an axis index: ``wid = lax.axis_index("w")``."""
    value = getattr(statement, "value", None)
    is_assignment = isinstance(statement, (ast.Assign, ast.AnnAssign))
    return is_assignment and isinstance(value, ast.Call) and identifier(value.func) == "axis_index"


def is_empty(statement: ast.stmt) -> bool:
    """Whether a statement does nothing: ``pass``, a docstring."""
    is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return isinstance(statement, ast.Pass) or is_text


def assigned(statement: ast.stmt) -> set[str]:
    """The names that a statement binds in its own scope or below."""
    found = {
        node.id
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    return found | {node.name for node in ast.walk(statement) if isinstance(node, ast.FunctionDef)}


def used(statement: ast.AST) -> set[str]:
    """The names that a statement reads."""
    return {
        node.id
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }


def is_shared_store(vector: VectorAccess) -> bool:
    """Whether an access stores to shared memory."""
    return vector.access.kind == "store" and vector.ref.memory_space == "smem"


def copies_from(statements: Iterable[ast.stmt], names: set[str]) -> bool:
    """Whether a statement starts a copy from shared memory that is in ``names``."""
    calls = [
        node
        for statement in statements
        for node in ast.walk(statement)
        if isinstance(node, ast.Call) and identifier(node.func).startswith("copy_smem_to_gmem")
    ]
    return any(used(call) & names for call in calls)


def _called(syntax: Syntax, node: ast.expr, place: Place) -> Region | None:
    """The region of ``name()``, ``plgpu.warp_map(name)`` or ``pl.core_map(mesh)(name)``."""
    statement = syntax.statement(node)
    if not (isinstance(statement, ast.Expr) and statement.value is node):
        return None
    if not isinstance(node, ast.Call) or place.function == "":
        return None
    names = set(_called_names(node))
    scope = syntax.function(node) or syntax.module
    functions = [
        child
        for child in ast.walk(scope)
        if isinstance(child, ast.FunctionDef)
        and child.name in names
        and syntax.parent(child) is syntax.parent(statement)
    ]
    if len(functions) != 1 or _reads(scope, functions[0].name) != 1:
        return None
    decorators = functions[0].decorator_list
    plain = not decorators or (len(decorators) == 1 and _opens(decorators[0]))
    return Region(syntax, functions[0], statement) if plain else None


def _called_names(call: ast.Call) -> Iterator[str]:
    """The functions that ``f()``, ``warp_map(f)`` or ``kernel(f, mesh=mesh)()`` may run."""
    for one in (call.func, *call.args):
        if isinstance(one, ast.Name):
            yield one.id
        elif isinstance(one, ast.Call):
            yield from _called_names(one)


def _opens(decorator: ast.expr) -> bool:
    function = decorator.func if isinstance(decorator, ast.Call) else decorator
    return identifier(function) in _OPENS_WITH_DECORATOR


def _reads(scope: ast.AST, name: str) -> int:
    return sum(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
        for node in ast.walk(scope)
    )


def _units(
    region: Region, body: list[ast.stmt], guards: tuple[ast.FunctionDef, ...]
) -> Iterator[Unit]:
    for statement in body:
        if isinstance(statement, ast.FunctionDef) and _is_guard(statement, region.identifiers):
            yield from _units(region, statement.body, (*guards, statement))
        else:
            yield Unit(statement, guards)


def _is_guard(function: ast.FunctionDef, identifiers: frozenset[str]) -> bool:
    """Whether ``@pl.when(wid == 0)`` picks warps for a function, by nothing but their number."""
    if len(function.decorator_list) != 1 or function.args.args:
        return False
    decorator = function.decorator_list[0]
    if not isinstance(decorator, ast.Call) or identifier(decorator.func) != "when":
        return False
    condition = decorator.args[0] if len(decorator.args) == 1 else None
    if not isinstance(condition, ast.Compare) or not isinstance(condition.ops[0], ast.Eq):
        return False
    sides = (condition.left, *condition.comparators)
    return len(sides) == 2 and all(
        isinstance(side, ast.Constant) or (isinstance(side, ast.Name) and side.id in identifiers)
        for side in sides
    )
