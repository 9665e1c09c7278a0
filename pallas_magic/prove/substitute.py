"""The parts of a recorded call with a fix's edits put into them."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from types import CodeType
from typing import Any

import jax

from pallas_magic.bridge.capture import Call
from pallas_magic.bridge.objects import ObjectRecorder
from pallas_magic.bridge.retrace import NotRetraceable, Parts, parts_of
from pallas_magic.prove.alignment import Alignment, Pair, definition_parts, position
from pallas_magic.prove.earlier import EarlierTexts
from pallas_magic.prove.functions import Substitution
from pallas_magic.prove.imported import imported_names
from pallas_magic.prove.operands import more_operands
from pallas_magic.prove.roots import Root, is_spec, roots_of, spec_values
from pallas_magic.prove.specs import Rebuilder, changed_grid_spec, changed_keywords
from pallas_magic.prove.texts import EditedText
from pallas_magic.prove.unprovable import NotProvable
from pallas_magic.report import TextEdit
from pallas_magic.source.document import Library

Position = tuple[str, int, int]
_Path = tuple[Pair, ...]
_Touched = dict[Root, tuple[EditedText, Pair]]


@dataclasses.dataclass(frozen=True, eq=False)
class Substituted:
    """``parts`` after the edit; ``outside`` are changes that have no part in this call."""

    parts: Parts
    outside: frozenset[Position] = frozenset()


def edited_texts(edits: Iterable[TextEdit], library: Library) -> dict[str, EditedText]:
    """The edited documents by the file name they were compiled under."""
    by_key: dict[str, list[TextEdit]] = {}
    for edit in edits:
        by_key.setdefault(edit.span.source, []).append(edit)
    texts = (EditedText(library[key], own) for key, own in by_key.items())
    return {text.filename: text for text in texts}


def substitute(
    call: Call, objects: ObjectRecorder, texts: Mapping[str, EditedText], earlier: EarlierTexts
) -> Substituted:
    """The parts of ``call`` with the edits of ``texts``; raises :class:`NotProvable`."""
    try:
        original = parts_of(call)
    except NotRetraceable as reason:
        raise NotProvable(str(reason)) from reason
    imported = imported_names(texts.values())
    functions = Substitution(texts, imported)
    kernels = tuple(functions.exchange(kernel) for kernel in original.kernels)
    parts = dataclasses.replace(original, kernels=kernels)
    changes = [(text, path) for text in texts.values() for path in text.alignment.differences]
    roots = roots_of(call, parts, objects)
    touched, left = _explained(changes, roots, functions.replaced)
    if left:
        more, left = _explained(left, earlier.roots(call, roots), [])
        touched |= more
    parts = _with_roots(parts, touched, imported, original)
    parts, map_codes = _with_index_maps(parts, texts, imported)
    _, left = _explained(left, (), map_codes)
    _none_redefines(left, [*functions.replaced, *map_codes])
    outside = frozenset((text.filename, *position(path)) for text, path in left)
    return Substituted(parts, outside)


def _explained(
    changes: Iterable[tuple[EditedText, _Path]], roots: Sequence[Root], codes: Sequence[CodeType]
) -> tuple[_Touched, list[tuple[EditedText, _Path]]]:
    """The roots that changes are in, and the changes that are neither there nor in a function."""
    touched: _Touched = {}
    left = []
    for text, path in changes:
        own_roots = [root for root in roots if root.place.filename == text.filename]
        own_codes = [code for code in codes if code.co_filename == text.filename]
        found = _explain(text.alignment, path, own_roots, own_codes)
        if found is None:
            left.append((text, path))
        touched |= {root: (text, pair) for root, pair in (found or ())}
    return touched, left


def _explain(
    alignment: Alignment, path: _Path, roots: list[Root], codes: list[CodeType]
) -> list[tuple[Root, Pair]] | None:
    """The innermost roots around a difference; none of them if it is in a function's code."""
    for old, new in reversed(path):
        if any(_compiled_from(code, old) for code in codes):
            return [] if _is_defined_alike(alignment, old, new) else None
        if isinstance(old, ast.expr) and isinstance(new, ast.expr):
            hits = [root for root in roots if _covers(root, old) and _is_its_kind(root, old, new)]
            if hits:
                return [(root, (old, new)) for root in hits]
    return None


def _is_defined_alike(alignment: Alignment, old: ast.AST, new: ast.AST) -> bool:
    before, after = definition_parts(old), definition_parts(new)
    return len(before) == len(after) and all(map(alignment.same, before, after))


def _none_redefines(changes: Iterable[tuple[EditedText, _Path]], codes: list[CodeType]) -> None:
    """Raise :class:`NotProvable` where a change is in what a function of ``codes`` is made with."""
    for text, path in changes:
        own = [code for code in codes if code.co_filename == text.filename]
        for old, new in path:
            if any(_compiled_from(code, old) for code in own) and not _is_defined_alike(
                text.alignment, old, new
            ):
                raise NotProvable("the edit changes how a function is defined")


def _compiled_from(code: CodeType, node: ast.AST) -> bool:
    """Whether ``node`` is the definition that ``code`` is the body of."""
    if isinstance(node, ast.Lambda):
        start, end = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
        assert end[0] is not None
        assert end[1] is not None
        places = [
            (line, column)
            for line, _, column, end_column in code.co_positions()
            # Where a function begins has no column of its own.
            if line is not None and column is not None and (column, end_column) != (0, 0)
        ]
        inside = all(start <= place < (end[0], end[1]) for place in places)
        return code.co_name == "<lambda>" and bool(places) and inside
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
        return (code.co_name, code.co_firstlineno) == (node.name, first)
    return False


def _covers(root: Root, node: ast.expr) -> bool:
    place = root.place
    start = (place.line, place.col) == (node.lineno, node.col_offset)
    return start and (place.end_line, place.end_col) == (node.end_lineno, node.end_col_offset)


def _is_its_kind(root: Root, old: ast.expr, new: ast.expr) -> bool:
    return root.kind == "part" or (isinstance(old, ast.Call) and isinstance(new, ast.Call))


def _with_roots(
    parts: Parts, touched: _Touched, imported: Mapping[str, Any], original: Parts
) -> Parts:
    exchanged: dict[int, Any] = {}
    for root, (text, (old, new)) in touched.items():
        assert isinstance(old, ast.expr)
        assert isinstance(new, ast.expr)
        names = {**root.names, **imported}
        rebuilder = Rebuilder(text.alignment, names, text.filename, root.settled)
        if root.kind == "part":
            changes = {root.slot: rebuilder.value(old, new, root.value)}
            parts = _with_keywords(parts, root.owner, changes)
            continue
        assert isinstance(old, ast.Call)
        assert isinstance(new, ast.Call)
        if root.kind == "spec":
            exchanged[id(root.value)] = rebuilder.spec(old, new, root.value)
        elif root.kind == "operands":
            more = more_operands(rebuilder, old, new, original.kernels)
            parts = dataclasses.replace(parts, more_operands=more)
        else:
            changes = changed_keywords(rebuilder, old, new, root)
            parts = _with_keywords(parts, root.kind, changes)
    return _with_specs(parts, exchanged)


def _with_keywords(parts: Parts, kind: str, changes: dict[str, Any]) -> Parts:
    if kind == "call":
        own = {"out_type": "out_shape", "out_shape": "out_shape"}
        own |= {"scratch_types": "scratch", "scratch_shapes": "scratch"}
        own["compiler_params"] = "compiler_params"
        direct = {own[name]: changes.pop(name) for name in tuple(changes) if name in own}
        parts = dataclasses.replace(parts, **direct)
    if not changes:
        return parts
    grid_spec = changed_grid_spec(parts.grid_spec, changes)
    return dataclasses.replace(parts, grid_spec=grid_spec)


def _with_index_maps(
    parts: Parts, texts: Mapping[str, EditedText], imported: Mapping[str, Any]
) -> tuple[Parts, list[CodeType]]:
    """The specs with their index maps exchanged for those of the edited texts, and which were.

    One that cannot be told apart in the edited text stays: an edit of it is outside.
    """
    exchanged: dict[int, Any] = {}
    replaced: list[CodeType] = []
    for spec in spec_values(parts):
        held = getattr(spec, "index_map", None)
        index_map = getattr(held, "index_map", held)
        functions = Substitution(texts, imported)
        try:
            new = functions.exchange(index_map)
        except NotProvable:
            continue
        if functions.replaced:
            exchanged[id(spec)] = dataclasses.replace(spec, index_map=new)
            replaced += functions.replaced
    return _with_specs(parts, exchanged), replaced


def _with_specs(parts: Parts, exchanged: Mapping[int, Any]) -> Parts:
    if not exchanged:
        return parts

    def exchange(tree: Any) -> Any:
        leaves, structure = jax.tree_util.tree_flatten(tree, is_leaf=is_spec)
        changed = [exchanged.get(id(leaf), leaf) for leaf in leaves]
        return jax.tree_util.tree_unflatten(structure, changed)

    grid_spec = parts.grid_spec
    if grid_spec is not None:
        names = ("in_specs", "out_specs", "scratch_shapes")
        changes = {name: exchange(getattr(grid_spec, name)) for name in names}
        grid_spec = changed_grid_spec(grid_spec, changes)
    return dataclasses.replace(parts, scratch=exchange(parts.scratch), grid_spec=grid_spec)
