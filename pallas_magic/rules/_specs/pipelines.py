"""The call of ``emit_pipeline`` inside a kernel, its specs and what it is given."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator

from pallas_magic.failure import Failure
from pallas_magic.rules._specs.parameters import has_plain_parameters
from pallas_magic.rules._specs.texts import IndexMap, index_map_of
from pallas_magic.source.calls import argument, keyword
from pallas_magic.source.document import Library
from pallas_magic.source.resolve import Expression, leaves, resolve
from pallas_magic.source.syntax import identifier, syntax_of

_SPECS = ("in_specs", "out_specs")


@dataclasses.dataclass(frozen=True, eq=False)
class PipelineSpec:
    """One ``pl.BlockSpec(...)`` of a pipeline."""

    role: str
    written: Expression
    block: Expression | None
    index_map: IndexMap | None

    @property
    def axes(self) -> int | None:
        """How many axes the block has."""
        node = self.block.node if self.block is not None else None
        return len(node.elts) if isinstance(node, (ast.Tuple, ast.List)) else None


@dataclasses.dataclass(frozen=True, eq=False)
class Pipeline:
    """``pltpu.emit_pipeline(body, ...)``, and the call that gives it its refs."""

    sources: Library
    build: Expression
    applied: Expression | None

    @property
    def node(self) -> ast.Call:
        assert isinstance(self.build.node, ast.Call)
        return self.build.node

    @property
    def name(self) -> str:
        """The function as the user writes it."""
        return self.build.syntax.text(self.node.func)

    def given(self) -> int | None:
        """How many refs it is given."""
        node = self.applied.node if self.applied is not None else None
        if not isinstance(node, ast.Call) or node.keywords:
            return None
        return None if any(isinstance(one, ast.Starred) for one in node.args) else len(node.args)

    def grid(self) -> list[ast.expr] | None:
        """The sizes of the grid."""
        given = keyword(self.node, "grid")
        if given is None:
            return None
        found = resolve(self.sources, Expression(self.build.syntax, given.value)).node
        is_plain = isinstance(found, (ast.Tuple, ast.List))
        return list(found.elts) if is_plain and isinstance(found, (ast.Tuple, ast.List)) else None

    def specs(self) -> list[PipelineSpec] | None:
        """Its specs, inputs first; ``None`` where the text does not tell all of them."""
        found: list[PipelineSpec] = []
        for role in _SPECS:
            given = keyword(self.node, role)
            if given is None:
                continue
            several = leaves(self.sources, Expression(self.build.syntax, given.value))
            if several is None:
                return None
            for one in several:
                spec = self._spec(role, one)
                if spec is None:
                    return None
                found.append(spec)
        return found

    def body(self) -> IndexMap | None:
        """The function that is run at each step, where all its parameters are plain ones."""
        given = argument(self.node, "body", 0)
        found = index_map_of(self.sources, Expression(self.build.syntax, given)) if given else None
        return found if found is not None and has_plain_parameters(found.node) else None

    def _spec(self, role: str, one: Expression) -> PipelineSpec | None:
        written = resolve(self.sources, one)
        node = written.node
        if not isinstance(node, ast.Call) or identifier(node.func) != "BlockSpec":
            return None
        block, given = argument(node, "block_shape", 0), argument(node, "index_map", 1)
        shape = resolve(self.sources, Expression(written.syntax, block)) if block else None
        index_map = index_map_of(self.sources, Expression(written.syntax, given)) if given else None
        return PipelineSpec(role, written, shape, index_map)


def pipeline_of(failure: Failure, sources: Library) -> Pipeline | None:
    """The pipeline that the failing expression builds, or runs."""
    syntax = syntax_of(sources, failure.place)
    node = syntax.at(failure.place) if syntax is not None and failure.place is not None else None
    if syntax is None or not isinstance(node, ast.Call):
        return None
    if identifier(node.func) == "emit_pipeline":
        return Pipeline(sources, Expression(syntax, node), None)
    build = resolve(sources, Expression(syntax, node.func))
    if isinstance(build.node, ast.Call) and identifier(build.node.func) == "emit_pipeline":
        return Pipeline(sources, build, Expression(syntax, node))
    return None


def plain_maps(specs: list[PipelineSpec]) -> Iterator[IndexMap]:
    """The index maps that are known, and have plain parameters only."""
    for one in specs:
        if one.index_map is not None and has_plain_parameters(one.index_map.node):
            yield one.index_map
