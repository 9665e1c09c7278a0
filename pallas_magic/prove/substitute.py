"""What a recorded call would have been made of, had the user's text been edited."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterable, Mapping
from types import CodeType
from typing import Any

import jax

from pallas_magic.bridge.capture import Call
from pallas_magic.bridge.objects import ObjectRecorder
from pallas_magic.bridge.retrace import NotRetraceable, Parts, parts_of
from pallas_magic.prove.alignment import Alignment, Pair, definition_parts, first_line, position
from pallas_magic.prove.functions import Substitution
from pallas_magic.prove.roots import Root, is_spec, roots_of
from pallas_magic.prove.specs import Rebuilder, changed_grid_spec, changed_keywords
from pallas_magic.prove.texts import EditedText
from pallas_magic.prove.unprovable import NotProvable
from pallas_magic.report import TextEdit
from pallas_magic.source.document import Library

Position = tuple[str, int, int]


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


def substitute(call: Call, objects: ObjectRecorder, texts: Mapping[str, EditedText]) -> Substituted:
    """The parts of ``call`` with the edits of ``texts``; raises :class:`NotProvable`."""
    try:
        parts = parts_of(call)
    except NotRetraceable as reason:
        raise NotProvable(str(reason)) from reason
    imported = _imported(texts.values())
    functions = Substitution(texts, imported)
    kernels = tuple(functions.exchange(kernel) for kernel in parts.kernels)
    parts = dataclasses.replace(parts, kernels=kernels)
    roots = roots_of(call, parts, objects)
    touched: dict[Root, tuple[EditedText, Pair]] = {}
    outside: set[Position] = set()
    for text in texts.values():
        own_roots = [root for root in roots if root.place.filename == text.filename]
        own_code = [code for code in functions.replaced if code.co_filename == text.filename]
        for path in text.alignment.differences:
            found = _explain(text.alignment, path, own_roots, own_code)
            if found is None:
                outside.add((text.filename, *position(path)))
            touched |= {root: (text, pair) for root, pair in (found or ())}
    return Substituted(_with_roots(parts, touched, imported), frozenset(outside))


def _explain(
    alignment: Alignment, path: tuple[Pair, ...], roots: list[Root], codes: list[CodeType]
) -> list[tuple[Root, Pair]] | None:
    """The innermost roots around a difference; none of them if it is in the kernel."""
    for old, new in reversed(path):
        if _is_kernel_code(alignment, (old, new), codes):
            return []
        if isinstance(old, ast.Call) and isinstance(new, ast.Call):
            hits = [root for root in roots if _covers(root, old)]
            if hits:
                return [(root, (old, new)) for root in hits]
    return None


def _is_kernel_code(alignment: Alignment, pair: Pair, codes: list[CodeType]) -> bool:
    old, new = pair
    definition = first_line(old)
    if not any((code.co_name, code.co_firstlineno) == definition for code in codes):
        return False
    before, after = definition_parts(old), definition_parts(new)
    same = len(before) == len(after)
    if not same or not all(map(alignment.same, before, after)):
        raise NotProvable("the edit changes how a function is defined")
    return True


def _covers(root: Root, node: ast.Call) -> bool:
    place = root.place
    start = (place.line, place.col) == (node.lineno, node.col_offset)
    return start and (place.end_line, place.end_col) == (node.end_lineno, node.end_col_offset)


def _with_roots(
    parts: Parts, touched: Mapping[Root, tuple[EditedText, Pair]], imported: Mapping[str, Any]
) -> Parts:
    exchanged: dict[int, Any] = {}
    for root, (text, (old, new)) in touched.items():
        assert isinstance(old, ast.Call)
        assert isinstance(new, ast.Call)
        rebuilder = Rebuilder(text.alignment, {**root.names, **imported}, text.filename)
        if root.kind == "spec":
            exchanged[id(root.value)] = rebuilder.spec(old, new, root.value)
            continue
        changes = changed_keywords(rebuilder, old, new, root)
        parts = _with_keywords(parts, root, changes)
    return _with_specs(parts, exchanged)


def _with_keywords(parts: Parts, root: Root, changes: dict[str, Any]) -> Parts:
    if root.kind == "call":
        own = {"out_type": "out_shape", "out_shape": "out_shape"}
        own |= {"scratch_types": "scratch", "scratch_shapes": "scratch"}
        own["compiler_params"] = "compiler_params"
        direct = {own[name]: changes.pop(name) for name in tuple(changes) if name in own}
        parts = dataclasses.replace(parts, **direct)
    if not changes:
        return parts
    grid_spec = changed_grid_spec(parts.grid_spec, changes)
    return dataclasses.replace(parts, grid_spec=grid_spec)


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


def _imported(texts: Iterable[EditedText]) -> dict[str, Any]:
    """What import statements of the edited texts bind; they may be JAX's own only."""
    names: dict[str, Any] = {}
    for text in texts:
        for node in text.alignment.imports:
            _only_jax(node)
            module = ast.Module([node], [])
            exec(compile(module, text.filename, "exec", dont_inherit=True), names)
    names.pop("__builtins__", None)
    return names


def _only_jax(node: ast.stmt) -> None:
    modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
    if isinstance(node, ast.ImportFrom):
        modules = [node.module or ""] if not node.level else [""]
    if any(name.partition(".")[0] != "jax" for name in modules):
        raise NotProvable("the fix imports a module that is not JAX's")
