"""Loads and stores at a place of run time, made by reading the whole ref under a mask."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator

from pallas_magic.failure import Failure
from pallas_magic.report import TextEdit
from pallas_magic.rules._operations.called import Called, called, integer
from pallas_magic.rules._operations.lines import before, free_name, parenthesised, statement_of
from pallas_magic.rules._operations.masked_updates import is_whole
from pallas_magic.source.document import Library

Edits = tuple[TextEdit, ...]
_SUMMED = ("float32", "bfloat16", "int32")
_NAMES = {True: ("lane", "lanes", "column_of"), False: ("row", "rows", "row_of")}


@dataclasses.dataclass(frozen=True, eq=False)
class Access:
    """``ref[:, i]`` or ``ref[:, pl.ds(i, size)]``: one axis is indexed, the others are whole.

    ``size`` is ``None`` for an index that takes its axis away.
    """

    one: Called
    node: ast.Subscript
    axis: int
    rank: int
    start: ast.expr
    size: int | None

    @property
    def ref(self) -> str:
        return self.one.text(self.node.value)

    @property
    def is_last(self) -> bool:
        return self.axis == self.rank - 1

    def place(self) -> str:
        """The counter of the axis under its name, compared with where the index points."""
        return f"{self.name()} == {parenthesised(self.one, self.start)}"

    def name(self) -> str:
        return free_name(self.one, *_NAMES[self.is_last])

    def lines(self) -> list[str]:
        counted = self.one.counted(f"{self.ref}.shape", self.axis)
        return [f"{self.name()} = {counted}"] if counted is not None else []


def accesses(failure: Failure, sources: Library, axis: int) -> Iterator[Access | None]:
    """The refused loads and stores of a ref as they are written; ``None`` for what is not plain."""
    places = set()
    for refused in (failure, *failure.also):
        if refused.place not in places:
            places.add(refused.place)
            yield _access(refused, sources, axis)


def _access(failure: Failure, sources: Library, axis: int) -> Access | None:
    one = called(failure, sources)
    rank = len(failure.ref.shape) if failure.ref is not None else 0
    if one is None or not isinstance(one.node, ast.Subscript) or not rank:
        return None
    index = one.node.slice
    parts = list(index.elts) if isinstance(index, ast.Tuple) else [index]
    if len(parts) != rank and not (len(parts) == axis + 1 and not _has_ellipsis(parts)):
        return None
    if _has_ellipsis(parts) or not all(is_whole(p) for at, p in enumerate(parts) if at != axis):
        return None
    part = parts[axis]
    if isinstance(part, ast.Call):
        return _slice(one, one.node, axis, rank, part)
    if isinstance(part, (ast.Slice, ast.Starred)):
        return None
    return Access(one, one.node, axis, rank, part, None)


def _slice(one: Called, node: ast.Subscript, axis: int, rank: int, call: ast.Call) -> Access | None:
    name = one.text(call.func).rpartition(".")[2]
    if name not in ("ds", "dslice") or len(call.args) != 2 or call.keywords:
        return None
    size = integer(call.args[1])
    return Access(one, node, axis, rank, call.args[0], size) if size is not None else None


def _has_ellipsis(parts: list[ast.expr]) -> bool:
    return any(isinstance(p, ast.Constant) and p.value in (None, Ellipsis) for p in parts)


def masked(access: Access, dtype: str) -> Edits:
    """One element along the axis, read or written under a mask."""
    if access.size not in (None, 1) or not access.lines():
        return ()
    return _stored(access) if _is_target(access) else _loaded(access, dtype)


def _is_target(access: Access) -> bool:
    return isinstance(access.node.ctx, ast.Store)


def _stored(access: Access) -> Edits:
    one = access.one
    statement, where = one.syntax.statement(access.node), one.numpy("where")
    if where is None or not isinstance(statement, (ast.Assign, ast.AugAssign)):
        return ()
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    if targets != [access.node]:
        return ()
    value = _spread(access, statement.value)
    if isinstance(statement, ast.AugAssign):
        if not isinstance(statement.op, (ast.Add, ast.Sub, ast.Mult)):
            return ()
        sign = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}[type(statement.op)]
        value = f"{access.ref}[...] {sign} {_tight(value, access, statement.value)}"
    new = f"{access.ref}[...] = {where}({access.place()}, {value}, {access.ref}[...])"
    edit = one.syntax.replace_between(
        (statement.lineno, statement.col_offset),
        (statement.end_lineno or statement.lineno, statement.end_col_offset or 0),
        _block(access, statement, new),
    )
    return (edit,) if edit is not None else ()


def _block(access: Access, statement: ast.stmt, text: str) -> str:
    indentation = "\n" + access.one.syntax.indentation(statement.lineno)
    return indentation.join([*access.lines(), text])


def _spread(access: Access, value: ast.expr) -> str:
    """The stored value with the axis that the index took away."""
    if access.size is not None or access.rank == 1 or isinstance(value, ast.Constant):
        return access.one.text(value)
    index = ", ".join("None" if at == access.axis else ":" for at in range(access.rank))
    index = index.replace(", :", "") if access.axis == 0 else index
    return f"{_parenthesised(access, value)}[{index}]"


def _parenthesised(access: Access, value: ast.expr) -> str:
    return parenthesised(access.one, value)


def _tight(text: str, access: Access, value: ast.expr) -> str:
    plain = isinstance(value, (ast.BinOp, ast.Compare, ast.IfExp, ast.BoolOp))
    is_whole_value = text == access.one.text(value)
    return f"({text})" if plain and is_whole_value else text


def _loaded(access: Access, dtype: str) -> Edits:
    """The sum of what is there and of zeros everywhere else."""
    one = access.one
    statement, where, total = statement_of(one), one.numpy("where"), one.numpy("sum")
    if statement is None or where is None or total is None or dtype not in _SUMMED:
        return ()
    kept = ", keepdims=True" if access.size is not None else ""
    value = f"{where}({access.place()}, {access.ref}[...], 0)"
    return before(one, statement, access.lines(), f"{total}({value}, axis={access.axis}{kept})")


def rolled(access: Access, extent: int, pltpu: str | None) -> Edits:
    """A load of several elements along the axis, rolled to the front of the ref's value."""
    if access.size in (None, 1) or _is_target(access) or pltpu is None or access.rank < 2:
        return ()
    front = ", ".join(
        f":{access.size}" if at == access.axis else ":" for at in range(access.axis + 1)
    )
    start = parenthesised(access.one, access.start)
    text = f"{pltpu}({access.ref}[...], {extent} - {start}, {access.axis})[{front}]"
    edit = access.one.syntax.replace(access.node, text)
    return (edit,) if edit is not None else ()


def promised(access: Access, multiple: int) -> Edits:
    """The start declared to be a multiple of what the compiler asks for."""
    function = access.one.pallas("multiple_of")
    if access.size is None or access.size % multiple or function is None:
        return ()
    text = f"{function}({access.one.text(access.start)}, {multiple})"
    edit = access.one.syntax.replace(access.start, text)
    return (edit,) if edit is not None else ()
