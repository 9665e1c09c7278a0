"""The spec of an operand as the user wrote it, taken apart."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator

from pallas_magic.failure import Failure, Ref
from pallas_magic.report import Span
from pallas_magic.rules._memory.placement import Placed, placed
from pallas_magic.source.calls import argument
from pallas_magic.source.document import Library, Place
from pallas_magic.source.names import namespace
from pallas_magic.source.resolve import Expression, resolve
from pallas_magic.source.syntax import Function, Syntax


@dataclasses.dataclass(frozen=True, eq=False)
class IndexMap:
    """A lambda, or a function, that tells which block of an operand is used."""

    syntax: Syntax
    node: Function

    @property
    def parameters(self) -> list[ast.arg]:
        return [*self.node.args.posonlyargs, *self.node.args.args]

    @property
    def result(self) -> ast.expr | None:
        """The one expression it returns, ``None`` where there are several or none."""
        if isinstance(self.node, ast.Lambda):
            return self.node.body
        returns = [node for node in ast.walk(self.node) if isinstance(node, ast.Return)]
        return returns[0].value if len(returns) == 1 else None

    @property
    def results(self) -> list[ast.expr] | None:
        """The block index of each axis."""
        result = self.result
        if result is None:
            return None
        return list(result.elts) if isinstance(result, (ast.Tuple, ast.List)) else [result]

    def reads(self, name: str) -> bool:
        """Whether the body uses ``name``."""
        body = self.node.body if isinstance(self.node.body, list) else [self.node.body]
        return any(
            isinstance(node, ast.Name) and node.id == name
            for part in body
            for node in ast.walk(part)
        )

    def span(self) -> Span | None:
        """The lambda, or the parameters of the function."""
        if isinstance(self.node, ast.Lambda):
            return self.syntax.span(self.node)
        return signature_span(self.syntax, self.node)


@dataclasses.dataclass(frozen=True, eq=False)
class SpecText:
    """The ``pl.BlockSpec(...)`` of one operand; what is not written is ``None``."""

    ref: Ref
    where: Placed
    block: Expression | None
    given_map: Expression | None
    index_map: IndexMap | None

    @property
    def syntax(self) -> Syntax:
        return self.where.built.syntax

    @property
    def node(self) -> ast.Call:
        assert isinstance(self.where.built.node, ast.Call)
        return self.where.built.node


def spec_text(failure: Failure, ref: Ref, sources: Library) -> SpecText | None:
    """The spec of ``ref``, ``None`` where it is not written in a text that is known."""
    where = placed(dataclasses.replace(failure, ref=ref), sources)
    if where is None or not isinstance(where.built.node, ast.Call):
        return None
    syntax, call = where.built.syntax, where.built.node
    block, given_map = argument(call, "block_shape", 0), argument(call, "index_map", 1)
    return SpecText(
        ref,
        where,
        Expression(syntax, block) if block is not None else None,
        Expression(syntax, given_map) if given_map is not None else None,
        index_map_of(sources, Expression(syntax, given_map)) if given_map is not None else None,
    )


def spec_texts(failure: Failure, sources: Library) -> Iterator[SpecText]:
    """The specs of the inputs and outputs that have one, in order."""
    for ref in failure.refs:
        if ref.role in ("input", "output") and ref.has_spec:
            text = spec_text(failure, ref, sources)
            if text is not None:
                yield text


def index_map_of(sources: Library, given: Expression) -> IndexMap | None:
    """The function that ``given`` stands for."""
    found = resolve(sources, given)
    if isinstance(found.node, ast.Lambda):
        return IndexMap(found.syntax, found.node)
    if isinstance(found.node, ast.Name):
        return _named(sources, found.syntax, found.node.id)
    return None


def signature_span(syntax: Syntax, node: Function) -> Span | None:
    """A function's parameters, or its name where it has none."""
    spec = node.args
    every = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]
    every += [one for one in (spec.vararg, spec.kwarg) if one is not None]
    if not every:
        return _name_span(syntax, node)
    first = min(every, key=lambda one: (one.lineno, one.col_offset))
    last = max(every, key=lambda one: (one.lineno, one.col_offset))
    end = (last.end_lineno or last.lineno, last.end_col_offset or last.col_offset)
    return syntax.document.span(
        Place(syntax.document.filename, first.lineno, first.col_offset, *end)
    )


def _name_span(syntax: Syntax, node: Function) -> Span | None:
    if isinstance(node, ast.Lambda):
        return syntax.span(node)
    word = "async def " if isinstance(node, ast.AsyncFunctionDef) else "def "
    start = node.col_offset + len(word)
    end = start + len(node.name.encode())
    return syntax.document.span(
        Place(syntax.document.filename, node.lineno, start, node.lineno, end)
    )


def _named(sources: Library, syntax: Syntax, name: str) -> IndexMap | None:
    found = [
        IndexMap(one, node)
        for one in namespace(sources, syntax.document)
        for node in ast.walk(one.module)
        if isinstance(node, ast.FunctionDef) and node.name == name
    ]
    return found[0] if len(found) == 1 else None
