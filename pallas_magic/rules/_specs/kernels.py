"""The kernel function as the user wrote it."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator

from pallas_magic.failure import Failure
from pallas_magic.source.document import Library
from pallas_magic.source.syntax import Function, Syntax, identifier, syntax_of

_STEP_QUERIES = ("program_id", "num_programs")


@dataclasses.dataclass(frozen=True, eq=False)
class KernelText:
    """The definition of a kernel; its decorators are not part of ``node``'s first line."""

    syntax: Syntax
    node: Function

    @property
    def parameters(self) -> list[ast.arg]:
        return [*self.node.args.posonlyargs, *self.node.args.args]

    @property
    def body(self) -> list[ast.AST]:
        return list(self.node.body) if isinstance(self.node.body, list) else [self.node.body]

    def nodes(self) -> Iterator[ast.AST]:
        """Every node of the body, those of inner functions included."""
        for part in self.body:
            yield from ast.walk(part)

    def reads(self, name: str) -> list[ast.Name]:
        """Where the body reads ``name``."""
        return [
            node
            for node in self.nodes()
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
        ]


def kernel_text(failure: Failure, sources: Library) -> KernelText | None:
    """The function that was to be traced, ``None`` where its text does not tell which it is."""
    place = failure.call.kernel
    syntax = syntax_of(sources, place)
    if syntax is None or place is None:
        return None
    name = place.function.rsplit(".", maxsplit=1)[-1]
    found = [
        node
        for node in ast.walk(syntax.module)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        and _first_line(node) == place.line
        and getattr(node, "name", "<lambda>") == name
    ]
    return KernelText(syntax, found[0]) if len(found) == 1 else None


def asks_for_its_step(failure: Failure, sources: Library) -> bool:
    """Whether the kernel, as far as its own text tells, depends on the step of the grid."""
    kernel = kernel_text(failure, sources)
    return kernel is not None and any(
        isinstance(node, ast.Call) and identifier(node.func) in _STEP_QUERIES
        for node in kernel.nodes()
    )


def _first_line(node: Function) -> int:
    decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
    return min([node.lineno, *(one.lineno for one in decorators)])
