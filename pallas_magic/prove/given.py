"""Whether the arguments of a call, as they are written, are those it was given."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator
from typing import Any

from pallas_magic.prove.alike import alike
from pallas_magic.prove.evaluate import evaluate, read_names
from pallas_magic.prove.roots import Root, is_spec
from pallas_magic.prove.specs import arguments_of
from pallas_magic.prove.unprovable import NotProvable
from pallas_magic.source.document import Library
from pallas_magic.source.names import namespace
from pallas_magic.source.resolve import Expression, local_names
from pallas_magic.source.scopes import assigned_value, last_binding, own_nodes
from pallas_magic.source.syntax import Function, Syntax, identifier

_PARTS = (
    "in_specs", "out_specs", "scratch_shapes", "scratch_types", "out_shape", "out_type", "grid",
)  # fmt: skip


def agreeing_arguments(root: Root, written: Expression, kernel: Any) -> frozenset[str] | None:
    """The names in arguments of ``written`` that still give what ``root`` knows.

    ``None`` where one of them gives something else. What would have to be called
    again says nothing; in a file, which may have changed since it was imported,
    that is not enough.
    """
    call = written.node
    if not isinstance(call, ast.Call):
        return None
    try:
        given = arguments_of(call, list(root.parameters))
    except NotProvable:
        return None
    if identifier(call.func) == "partial":  # a decorator, which is given the kernel later
        given.pop("kernel", None)
    settled: set[str] = set()
    for name, node in given.items():
        known = kernel if name in ("kernel", "body") else root.known.get(name, _UNKNOWN)
        if known is _UNKNOWN or known is None:
            continue
        try:
            value = evaluate(node, root.names, root.place.filename)
        except NotProvable:
            if written.syntax.document.source.kind == "file":
                return None
            continue
        if not alike(_as_kept(value), _as_kept(known)):
            return None
        settled |= read_names(node)
    return frozenset(settled)


_UNKNOWN = object()


def _as_kept(value: Any) -> Any:
    """JAX keeps a list as a tuple, and a grid of one number as a tuple of it."""
    if isinstance(value, list):
        return tuple(value)
    return (value,) if isinstance(value, int) else value


def parts_given(root: Root, syntax: Syntax, sources: Library) -> Iterator[Root]:
    """What the call or grid spec of ``root`` was given in variables, as roots of their own."""
    call = next(
        (
            node
            for node in ast.walk(syntax.module)
            if isinstance(node, ast.Call) and syntax.place(node).same_stretch(root.place)
        ),
        None,
    )
    for given in call.keywords if call is not None else ():
        if given.arg in _PARTS and given.arg in root.known and isinstance(given.value, ast.Name):
            written = _bound(syntax, given.value, sources)
            if written is not None:
                yield from _part(root, given.arg, given.value.id, written)


def _part(root: Root, slot: str, name: str, written: Expression) -> Iterator[Root]:
    known, filename = root.known[slot], written.syntax.document.filename
    if is_spec(known) or not _holds(root.names.get(name), known):
        return
    try:
        again = evaluate(written.node, root.names, filename)
    except NotProvable:
        return
    if alike(_as_kept(again), _as_kept(known)):
        place, settled = written.syntax.place(written.node), read_names(written.node)
        part = Root("part", place, known, root.names, slot=slot, owner=root.kind)
        yield dataclasses.replace(part, settled=settled)


def _holds(value: Any, known: Any) -> bool:
    """Whether a variable holds the very objects that the call was given."""
    value, known = _as_kept(value), _as_kept(known)
    if not isinstance(value, tuple) or not isinstance(known, tuple):
        return alike(value, known)
    same = len(value) == len(known)
    return same and all(
        one is other or (not is_spec(other) and alike(one, other))
        for one, other in zip(value, known, strict=True)
    )


def _bound(syntax: Syntax, name: ast.Name, sources: Library) -> Expression | None:
    """What a variable was assigned, if that is one plain assignment of its scope."""
    for function in syntax.functions(name):
        if name.id in local_names(function):
            return _local(syntax, name.id, function)
    bound = last_binding(namespace(sources, syntax.document), name.id)
    value = assigned_value(*bound) if bound is not None else None
    return Expression(bound[0], value) if bound is not None and value is not None else None


def _local(syntax: Syntax, name: str, function: Function) -> Expression | None:
    stored = [
        node
        for node in own_nodes(function)
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
    ]
    value = assigned_value(syntax, stored[0]) if len(stored) == 1 else None
    return Expression(syntax, value) if value is not None else None
