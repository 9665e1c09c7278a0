"""Accesses of a ref that the user wrote as ``ref[...]``, with their indices taken apart."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Sequence

from pallas_magic.failure import Access, Ref
from pallas_magic.source.document import Library
from pallas_magic.source.syntax import Syntax, syntax_of


@dataclasses.dataclass(frozen=True)
class Axis:
    """What an index selects of one axis: the element at ``text``, or ``size`` from there."""

    text: str
    size: int | None = None
    traced: bool = False


@dataclasses.dataclass(frozen=True, eq=False)
class Indexed:
    """A subscript expression and everything it was seen to access."""

    syntax: Syntax
    node: ast.Subscript
    axes: tuple[Axis, ...]
    accesses: tuple[Access, ...]

    @property
    def ref_text(self) -> str:
        return self.syntax.text(self.node.value)

    @property
    def stores(self) -> bool:
        return any(access.kind == "store" for access in self.accesses)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.accesses[0].shape

    @property
    def has_words(self) -> bool:
        """Whether single elements can be taken out of a vector: 32-bit types only."""
        return self.accesses[0].dtype in ("float32", "int32", "uint32")

    @property
    def statement(self) -> ast.Assign | ast.AugAssign | None:
        """The assignment that this subscript is the only target of."""
        parent = self.syntax.parent(self.node)
        if isinstance(parent, ast.Assign) and parent.targets == [self.node]:
            return parent
        if isinstance(parent, ast.AugAssign) and parent.target is self.node:
            return parent
        return None


def indexed(ref: Ref, accesses: Sequence[Access], sources: Library) -> tuple[Indexed, ...] | None:
    """Each subscript among ``accesses`` once; ``None`` unless all are plain subscripts."""
    by_place: dict[object, list[Access]] = {}
    for access in accesses:
        by_place.setdefault(access.place, []).append(access)
    found = [_indexed(ref, tuple(same), sources) for same in by_place.values()]
    known = [one for one in found if one is not None]
    return tuple(known) if len(known) == len(found) else None


def _indexed(ref: Ref, accesses: tuple[Access, ...], sources: Library) -> Indexed | None:
    place = accesses[0].place
    syntax = syntax_of(sources, place)
    node = syntax.at(place) if syntax is not None and place is not None else None
    if syntax is None or not isinstance(node, ast.Subscript):
        return None
    if len({access.shape for access in accesses}) > 1:
        return None
    axes = _axes(syntax, node, ref, accesses)
    return Indexed(syntax, node, axes, accesses) if axes is not None else None


def _axes(
    syntax: Syntax, node: ast.Subscript, ref: Ref, accesses: tuple[Access, ...]
) -> tuple[Axis, ...] | None:
    rank = len(ref.shape)
    written = _one_for_each_axis(node.slice, rank)
    if written is None or any(len(access.static_index) != rank for access in accesses):
        return None
    axes = []
    for number, index in enumerate(written):
        axis = _axis(syntax, index, [access.static_index[number] for access in accesses])
        if axis is None:
            return None
        axes.append(axis)
    return tuple(axes)


def _one_for_each_axis(index: ast.expr, rank: int) -> list[ast.expr | None] | None:
    """The index expressions by axis, ``None`` standing for a whole axis."""
    written = list(index.elts) if isinstance(index, ast.Tuple) else [index]
    dots = [number for number, one in enumerate(written) if _is_ellipsis(one)]
    if len(dots) > 1 or any(isinstance(one, ast.Starred) or _is_none(one) for one in written):
        return None
    missing = rank - (len(written) - len(dots))
    if missing < 0:
        return None
    at = dots[0] if dots else len(written)
    return [*written[:at], *[None] * missing, *written[at + len(dots) :]]


def _axis(syntax: Syntax, index: ast.expr | None, seen: list[object]) -> Axis | None:
    ranges = [one for one in seen if isinstance(one, tuple)]
    if not ranges:
        text = syntax.text(index) if index is not None else ""
        return Axis(text, None, traced=any(one is None for one in seen)) if text else None
    if len(ranges) != len(seen) or len({one[1:] for one in ranges}) > 1 or ranges[0][2] != 1:
        return None
    start = _start_text(syntax, index)
    traced = any(one[0] is None for one in ranges)
    return Axis(start, ranges[0][1], traced) if start is not None else None


def _start_text(syntax: Syntax, index: ast.expr | None) -> str | None:
    if index is None:
        return "0"
    if isinstance(index, ast.Slice):
        return syntax.text(index.lower) if index.lower is not None else "0"
    if isinstance(index, ast.Call) and index.args:
        return syntax.text(index.args[0])
    return None


def _is_ellipsis(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is Ellipsis


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
