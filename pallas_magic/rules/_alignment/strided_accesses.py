"""Loads and stores in steps, made of whole loads, or of rows one by one."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.rules._memory.assignment import all_or_none
from pallas_magic.rules._memory.layout import as_lines
from pallas_magic.rules._operations.called import Called, called
from pallas_magic.rules._operations.lines import (
    Edits,
    before,
    free_name,
    replaced,
    statement_of,
    step_of,
)
from pallas_magic.rules._operations.masked_updates import is_whole
from pallas_magic.source.document import Library

_WORDS = ("float32", "int32", "uint32")
_LANES = 128
_NOT_EVERYWHERE = "not every chip parts lanes by a reshape"
_MOST_ROWS, _MOST_LANES = 32, 64


@dataclasses.dataclass(frozen=True, eq=False)
class Strided:
    """``ref[:, pl.ds(start, count, stride=step)]``, whose other axes are taken in order.

    ``axis`` is one of the ref, ``along`` the same one of the value, and
    ``whole`` the value's shape where all of that axis is taken.
    """

    one: Called
    node: ast.Subscript
    parts: tuple[str, ...]
    axis: int
    along: int
    start: int
    count: int
    step: int
    whole: tuple[int, ...]

    @property
    def is_last(self) -> bool:
        return self.axis == len(self.parts) - 1

    @property
    def what(self) -> str:
        return "lanes" if self.is_last else "rows"

    @property
    def is_short(self) -> bool:
        return 1 < self.count <= (_MOST_LANES if self.is_last else _MOST_ROWS)

    def at(self, axis: int, index: str) -> str:
        """The ref with another index along one axis."""
        parts = [*self.parts]
        parts[axis] = index
        inside = "..." if all(part == ":" for part in parts) else ", ".join(parts)
        return f"{self.one.text(self.node.value)}[{inside}]"


def strided(failure: Failure, sources: Library) -> Strided | None:
    """The access as it is written, if it goes in steps along one axis from a known place."""
    one, access, ref = called(failure, sources), failure.access, failure.ref
    if one is None or access is None or ref is None or not isinstance(one.node, ast.Subscript):
        return None
    known = access.static_index
    stepped = [at for at, part in enumerate(known) if isinstance(part, tuple) and part[2] != 1]
    parts = _parts(one, one.node, len(ref.shape))
    if len(stepped) != 1 or len(known) != len(ref.shape) or parts is None:
        return None
    axis = stepped[0]
    entry = known[axis]
    along = sum(isinstance(part, tuple) for part in known[:axis])
    if not isinstance(entry, tuple) or entry[0] is None or along >= len(access.shape):
        return None
    whole = (*access.shape[:along], ref.shape[axis], *access.shape[along + 1 :])
    return Strided(one, one.node, parts, axis, along, entry[0], entry[1], entry[2], whole)


def _parts(one: Called, node: ast.Subscript, rank: int) -> tuple[str, ...] | None:
    """The index of each axis, ``None`` where it is not written so plainly."""
    index = node.slice
    written = list(index.elts) if isinstance(index, ast.Tuple) else [index]
    if any(isinstance(part, ast.Starred) or _is_constant(part, None) for part in written):
        return None
    dots = [at for at, part in enumerate(written) if _is_constant(part, Ellipsis)]
    texts = [":" if is_whole(part) else one.text(part) for part in written]
    at = dots[0] if dots else len(texts)
    missing = rank - len(texts) + len(dots)
    if missing < 0:
        return None
    return (*texts[:at], *[":"] * missing, *texts[at + 1 :])


def _is_constant(part: ast.expr, value: object) -> bool:
    return isinstance(part, ast.Constant) and part.value is value


def load_fixes(one: Strided, dtype: str) -> Iterator[Candidate]:
    """All of the axis loaded, and the steps taken of the value."""
    if isinstance(one.node.ctx, ast.Store):
        return
    load = one.at(one.axis, ":")
    can_gather = one.is_last and dtype in _WORDS and one.whole[-1] <= _LANES
    if can_gather and (edits := _gathered(one, load)):
        yield Candidate("load all lanes, and gather these to the front", edits)
    if not one.is_last:
        yield from _reshaped(one, load)
    concatenate = one.one.numpy("concatenate")
    if concatenate is not None and one.is_short and (edits := _joined(one, load, concatenate)):
        yield Candidate(f"put the {one.count} {one.what} together", edits)
    elif one.is_last:
        yield from _reshaped(one, load)


def _reshaped(one: Strided, load: str) -> Iterator[Candidate]:
    is_all = one.count * one.step == one.whole[one.along] and one.start < one.step
    # No compiler makes two axes of the only one.
    if not is_all or len(one.whole) == 1:
        return
    shape = [*one.whole[: one.along], one.count, one.step, *one.whole[one.along + 1 :]]
    index = ", ".join([":"] * (one.along + 1) + [str(one.start)])
    text = f"{load}.reshape({', '.join(map(str, shape))})[{index}]"
    if edits := replaced(one.one, text):
        why = _NOT_EVERYWHERE if one.is_last else ""
        title = "load all, and give the steps an axis of their own"
        yield Candidate(title, edits, "unsafe" if why else "safe", why=why)


def _gathered(one: Strided, load: str) -> Edits:
    statement, take = statement_of(one.one), one.one.numpy("take_along_axis")
    x, lanes = free_name(one.one, "x", "value"), free_name(one.one, "lanes", "places")
    counted = one.one.counted(f"{x}.shape", one.along)
    if statement is None or take is None or counted is None:
        return ()
    place = f"{counted} * {one.step}"
    place = f"({place} + {one.start})" if one.start else place
    index = ", ".join([*[":"] * one.along, f":{one.count}"])
    lines = [f"{x} = {load}", f"{lanes} = {place} % {one.whole[one.along]}"]
    text = f"{take}({x}, {lanes}, axis={one.along})[{index}]"
    return before(one.one, statement, lines, text)


def _joined(one: Strided, load: str, concatenate: str) -> Edits:
    statement = statement_of(one.one)
    if statement is None:
        return ()
    x, i = free_name(one.one, "x", "value"), free_name(one.one, "i", "j", "at")
    index = ", ".join([*[":"] * one.along, f"{i} : {i} + 1"])
    end = min(one.start + one.count * one.step, one.whole[one.along])
    pieces = f"[{x}[{index}] for {i} in range({one.start}, {end}, {one.step})]"
    text = f"{concatenate}({pieces}, axis={one.along})"
    return before(one.one, statement, [f"{x} = {load}"], text)


def lane_fixes(one: Strided, failure: Failure) -> Iterator[Candidate]:
    """Rows in steps loaded with all of their lanes, and some of those taken of the value."""
    known = failure.access.static_index[-1] if failure.access is not None else None
    if isinstance(one.node.ctx, ast.Store) or known is None or one.is_last:
        return
    lanes = str(known)
    if isinstance(known, tuple):
        if known[0] is None:
            return
        lanes = f"{known[0]}:{known[0] + known[1]}"
    text = f"{one.at(len(one.parts) - 1, ':')}[..., {lanes}]"
    if edits := replaced(one.one, text):
        yield Candidate("load all lanes of these rows, and take some of the value", edits)


def store_fixes(one: Strided) -> Iterator[Candidate]:
    """The rows of a value stored one by one."""
    statement = one.one.syntax.statement(one.node)
    if not isinstance(statement, ast.Assign) or statement.targets != [one.node]:
        return
    if not one.is_short or statement_of(one.one) is None:
        return
    value = statement.value
    lines = []
    name = value.id if isinstance(value, ast.Name) else free_name(one.one, one.what, "value")
    if not isinstance(value, ast.Name):
        lines = [f"{name} = {one.one.text(value)}"]
    i = free_name(one.one, "i", "j", "at")
    place = f"{one.step} * {i}" + (f" + {one.start}" if one.start else "")
    taken = i
    if one.is_last:
        taken = f"{i} : {i} + 1"
        place = f"{place} : {one.step} * {i} + {one.start + 1}"
    index = ", ".join([*[":"] * one.along, taken])
    lines += [
        f"for {i} in range({one.count}):",
        f"{step_of(one.one)}{one.at(one.axis, place)} = {name}[{index}]",
    ]
    if edits := all_or_none((as_lines(one.one.syntax, statement, lines),)):
        yield Candidate(f"store the {one.count} {one.what} one by one", edits)
