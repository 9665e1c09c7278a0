"""Blocks and index maps brought to the number of axes that the operand has.

Every way to put axes in, or to leave some out, is tried; what counts is that
the blocks then go through the whole operand and nothing beyond it.
"""

from __future__ import annotations

import ast
import dataclasses
import itertools
from collections.abc import Iterator, Sequence

from pallas_magic.failure import Window
from pallas_magic.report import TextEdit
from pallas_magic.rules._specs.blocks import Step, block_counts, covers, steps
from pallas_magic.rules._specs.texts import IndexMap, SpecText

_ZERO = Step(constant=0)


@dataclasses.dataclass(frozen=True)
class Layout:
    """A block and its index map, both with an entry for each axis.

    ``block`` and ``results`` hold the number of the entry that the user wrote,
    ``None`` for one that is new.
    """

    block: tuple[int | None, ...]
    results: tuple[int | None, ...]


def layouts(spec: SpecText, window: Window, grid: Sequence[int | None]) -> list[Layout]:
    """All layouts with the operand's number of axes that go through the whole of it."""
    rank = len(window.array)
    if window.block is None:
        return []
    walked = _walked(spec, len(window.block))
    if walked is None:
        return []
    found = []
    for block in _placed(len(window.block), rank):
        sizes = tuple(window.block[at] if at is not None else None for at in block)
        counts = block_counts(dataclasses.replace(window, block=sizes))
        for results in _placed(len(walked), rank):
            taken = [walked[at] if at is not None else _ZERO for at in results]
            left_out = set(range(len(walked))) - set(results)
            if any(walked[at] != _ZERO for at in left_out):
                continue
            if counts is not None and covers(counts, taken, grid):
                found.append(Layout(block, results))
    return _each_meaning_once(found, walked, window.block)


def block_edit(spec: SpecText, layout: Layout, new: str) -> TextEdit | None:
    """An edit that gives the block the axes of ``layout``, new ones written ``new``."""
    if spec.block is None or not isinstance(spec.block.node, (ast.Tuple, ast.List)):
        return None
    elements = [spec.syntax.text(one) for one in spec.block.node.elts]
    texts = [elements[at] if at is not None else new for at in layout.block]
    closing = "[]" if isinstance(spec.block.node, ast.List) else "()"
    return spec.syntax.replace(spec.block.node, _sequence(texts, closing))


def results_edit(index_map: IndexMap, results: Sequence[int | None]) -> TextEdit | None:
    """An edit of what an index map returns: the entries at ``results``, 0 for new ones."""
    result, written = index_map.result, index_map.results
    if result is None or written is None:
        return None
    texts = [index_map.syntax.text(written[at]) if at is not None else "0" for at in results]
    whole = index_map.syntax.text(result)
    if isinstance(result, ast.Tuple) and not whole.startswith("("):
        return index_map.syntax.replace(result, _sequence(texts, "()")[1:-1])
    closing = "[]" if isinstance(result, ast.List) else "()"
    return index_map.syntax.replace(result, _sequence(texts, closing))


def result_texts(index_map: IndexMap, results: Sequence[int | None]) -> str:
    """What an index map with these entries returns, as text."""
    written = index_map.results or []
    texts = [index_map.syntax.text(written[at]) if at is not None else "0" for at in results]
    return _sequence(texts, "()")


def _walked(spec: SpecText, rank: int) -> list[Step] | None:
    if spec.index_map is None:
        has_map = spec.ref.window is not None and spec.ref.window.has_index_map
        return None if has_map else [_ZERO] * rank
    return steps(spec.index_map)


def _placed(count: int, rank: int) -> Iterator[tuple[int | None, ...]]:
    """Ways to spread ``count`` entries in order over ``rank`` axes, or to leave some out."""
    if count <= rank:
        for axes in itertools.combinations(range(rank), count):
            at = {axis: number for number, axis in enumerate(axes)}
            yield tuple(at.get(axis) for axis in range(rank))
        return
    yield from itertools.combinations(range(count), rank)


def _each_meaning_once(
    found: Sequence[Layout], walked: Sequence[Step], block: Sequence[int | None]
) -> list[Layout]:
    """Without those that differ in nothing but which of two equal entries they keep."""
    seen: dict[object, Layout] = {}
    for one in found:
        sizes = tuple(block[at] if at is not None else None for at in one.block)
        taken = tuple(walked[at] if at is not None else _ZERO for at in one.results)
        seen.setdefault((sizes, taken), one)
    return list(seen.values())


def _sequence(texts: Sequence[str], closing: str) -> str:
    comma = "," if len(texts) == 1 and closing == "()" else ""
    return f"{closing[0]}{', '.join(texts)}{comma}{closing[1]}"
