"""The fix that takes vector code out of a warp-level region, to where a warpgroup runs it."""

from __future__ import annotations

import ast

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import TextEdit
from pallas_magic.rules._warp.lines import (
    can_be_moved,
    first_line,
    has_long_strings,
    last_line,
    line_end,
    moved_lines,
    stands_alone,
    with_comments,
    without,
)
from pallas_magic.rules._warp.moving import Move, move_out
from pallas_magic.rules._warp.regions import Region, Unit, copies_from, find_region, is_shared_store
from pallas_magic.rules._warp.statements import head
from pallas_magic.rules._warp.wording import ref_name
from pallas_magic.source.document import Library
from pallas_magic.source.names import spelled

PALLAS_GPU = "jax.experimental.pallas.mosaic_gpu"


def hoisted(failure: Failure, sources: Library) -> Candidate | None:
    """All vector code of the region moved to warpgroup level; ``None`` if it cannot be."""
    region = find_region(failure, sources)
    first = head(failure)
    if region is None or first is None or failure.warp is None:
        return None
    move = move_out(region, failure.warp.vectors, sources)
    if move is None or not _movable(region, move):
        return None
    lines = [line for unit in move.moved for line in moved_lines(region, unit)]
    stored = {one.ref.name for one in failure.warp.vectors if is_shared_store(one)}
    kept = [unit.statement for unit in move.kept]
    if move.side == "before" and copies_from(kept, stored):
        commit = spelled(sources, region.syntax.document, PALLAS_GPU, "commit_smem")
        if commit is None:
            return None
        lines.append(f"{region.syntax.indentation(first_line(region.opening))}{commit}()")
    edits = _edits(region, move, lines)
    if not edits:
        return None
    what = f"the {first.access.kind} of `{ref_name(first, sources)}`"
    if len(move.moved) > 1:
        what = "the vector code"
    return Candidate(f"move {what} out of the warp-level region", edits, mechanical=True)


def _movable(region: Region, move: Move) -> bool:
    """Whether whole lines can be moved, and indented anew, without changing what they say."""
    syntax = region.syntax
    moved = [unit.statement for unit in move.moved]
    alone = all(stands_alone(syntax, one) for one in (region.function, region.opening))
    movable = all(can_be_moved(syntax, statement) for statement in moved)
    return alone and movable and not any(has_long_strings(statement) for statement in moved)


def _edits(region: Region, move: Move, lines: list[str]) -> tuple[TextEdit, ...]:
    found = _dissolved(region, lines) if not move.kept else _thinned(region, move, lines)
    edits = [edit for edit in found if edit is not None]
    return tuple(edits) if len(edits) == len(found) else ()


def _dissolved(region: Region, lines: list[str]) -> list[TextEdit | None]:
    """The region replaced by what it held."""
    syntax, opening = region.syntax, region.opening
    start = (first_line(opening), opening.col_offset)
    end = line_end(syntax, last_line(opening))
    text = "\n".join(lines).lstrip()
    found = [syntax.replace_between(start, end, text)]
    if opening is not region.function:
        first = with_comments(syntax, region.function, 0)
        found.append(without(syntax, region.function, region.around, first))
    return found


def _thinned(region: Region, move: Move, lines: list[str]) -> list[TextEdit | None]:
    """The moved lines beside the region, and the region without them."""
    syntax, opening = region.syntax, region.opening
    text = "\n".join(lines)
    if move.side == "before":
        margin = syntax.indentation(first_line(opening))
        start = (first_line(opening), opening.col_offset)
        found = [syntax.insert(start, f"{text.removeprefix(margin)}\n{margin}")]
    else:
        end = line_end(syntax, last_line(opening))
        found = [syntax.insert(end, f"\n{text}")]
    moved = {id(unit.statement) for unit in move.moved}
    done: set[int] = set()
    for unit in move.moved:
        statement = _emptied(unit, moved)
        if id(statement) not in done:
            done.add(id(statement))
            holder = _holder(region, unit, statement)
            first = with_comments(syntax, statement, holder.lineno)
            found.append(without(syntax, statement, holder.body, first))
    return found


def _emptied(unit: Unit, moved: set[int]) -> ast.stmt:
    """The outermost guard that is left with nothing, else the statement itself."""
    for guard in unit.guards:
        if all(id(statement) in moved for statement in guard.body):
            return guard
    return unit.statement


def _holder(region: Region, unit: Unit, statement: ast.stmt) -> ast.FunctionDef:
    guards = [region.function, *unit.guards]
    return next(guard for guard in reversed(guards) if statement in guard.body)
