"""Edits that write every name that is gone as it is today."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator

from pallas_magic.report import Span, TextEdit
from pallas_magic.rules._drift.names import MOVED, REWRITTEN, TRITON, since
from pallas_magic.rules._drift.occurrences import Named, Names
from pallas_magic.rules._drift.rewrites import OldCall, rewritten
from pallas_magic.rules._drift.spelling import Spelling, spelling
from pallas_magic.source.absent import is_present
from pallas_magic.source.document import Library
from pallas_magic.source.syntax import Syntax, end_of, start_of


@dataclasses.dataclass(frozen=True, eq=False)
class Mended:
    """One use of a name that is gone: what is replaced, by what, and what else it takes."""

    named: Named
    node: ast.expr
    text: str
    title: str
    why: str = ""


class Mender:
    """Writes the text of one document in the names that the running JAX has."""

    def __init__(self, sources: Library, syntax: Syntax, on_gpu: bool) -> None:
        self._sources = sources
        self._syntax = syntax
        self._names = Names(sources, syntax)
        self._on_gpu = on_gpu or self._is_for_triton()
        self._imports: dict[str, TextEdit] = {}

    def uses(self, root: ast.AST) -> list[Named]:
        """Where something under ``root`` names what this JAX does not have any more."""
        return [
            one
            for one in self._names.occurrences(root, is_gone)
            # A name of its own was imported, and the import is what fails.
            if isinstance(one.node, ast.Attribute) or one.dotted in REWRITTEN
        ]

    def mended(self, named: Named) -> Mended | None:
        """How one use is written today, ``None`` where that is not known."""
        if named.dotted in MOVED:
            return self._renamed(named)
        call = self._syntax.parent(named.node)
        if named.dotted not in REWRITTEN or not isinstance(call, ast.Call):
            return None
        if call.func is not named.node:
            return None
        statement = isinstance(self._syntax.parent(call), ast.Expr)
        old = OldCall(call, self.text, self._spelled, statement, self._on_gpu)
        written = rewritten(named.dotted, old)
        if written is None:
            return None
        return Mended(named, call, written.text, written.title, written.why)

    def text(self, node: ast.expr) -> str:
        """The text of ``node`` with everything in it mended."""
        pieces, done = [], start_of(node)
        for one in self._outermost(node):
            pieces += [self._syntax.text_between(done, start_of(one.node)), one.text]
            done = end_of(one.node)
        return "".join([*pieces, self._syntax.text_between(done, end_of(node))])

    def edits(self, root: ast.AST) -> tuple[TextEdit, ...]:
        """The edits that mend all that can be mended under ``root``, imports included."""
        edits = [self._syntax.replace(one.node, one.text) for one in self._outermost(root)]
        known = [edit for edit in edits if edit is not None]
        return tuple(known) + tuple(self._imports.values()) if len(known) == len(edits) else ()

    def spans(self, root: ast.AST) -> list[Span]:
        """The marks of all uses under ``root``."""
        spans = [self._syntax.span(one.node) for one in self.uses(root)]
        return [span for span in spans if span is not None]

    def all_mended(self, root: ast.AST) -> list[Mended]:
        """Every use under ``root`` that is known, each for itself."""
        found = (self.mended(one) for one in self.uses(root))
        return [one for one in found if one is not None]

    def _outermost(self, root: ast.AST) -> Iterator[Mended]:
        done: tuple[int, int] = (0, 0)
        found = (one for one in self.all_mended(root) if one.node is not root)
        for one in sorted(found, key=lambda one: (start_of(one.node), _reversed(end_of(one.node)))):
            if start_of(one.node) >= done:
                yield one
                done = end_of(one.node)

    def _renamed(self, named: Named) -> Mended | None:
        moved = MOVED[named.dotted]
        text = self._spelled(moved.now)
        if text is None:
            return None
        return Mended(named, named.node, text + moved.suffix, f"write `{text}{moved.suffix}`")

    def _spelled(self, dotted: str) -> str | None:
        found: Spelling | None = spelling(self._sources, self._syntax, dotted)
        if found is None or not is_present(dotted):
            return None
        if found.imported is not None:
            self._imports[found.imported.new_text] = found.imported
        return found.text

    def _is_for_triton(self) -> bool:
        known = set(self._names.imported.values())
        return TRITON in known and not any(name.endswith("pallas.tpu") for name in known)


def is_gone(dotted: str) -> bool:
    """Whether Pallas had ``dotted`` once and the running JAX does not."""
    return bool(since(dotted)) and not is_present(dotted)


def _reversed(point: tuple[int, int]) -> tuple[int, int]:
    return -point[0], -point[1]
