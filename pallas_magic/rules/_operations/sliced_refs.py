"""A value that is indexed at run time: the ref that it was loaded from takes such an index."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator

from pallas_magic.failure import Candidate
from pallas_magic.report import TextEdit
from pallas_magic.rules._memory.assignment import all_or_none
from pallas_magic.rules._operations.called import Called, axis_of, expression_of, is_ref_name
from pallas_magic.rules._operations.index_ranges import doubt_of_ref_index
from pallas_magic.rules._operations.lines import without_statement
from pallas_magic.source.bindings import means_the_same
from pallas_magic.source.resolve import resolve
from pallas_magic.source.syntax import Syntax, identifier

_STORING = ("store", "swap", "sync_copy", "make_async_copy", "async_copy")


@dataclasses.dataclass(frozen=True, eq=False)
class Load:
    """A value that is all of a ref, or of some rows of it, as the text loads it.

    ``leading`` are the indices of the axes that are gone, ``suffix`` is what
    changes only the type of the value, ``node`` is the whole of it.
    """

    syntax: Syntax
    ref: str
    leading: tuple[str, ...]
    suffix: str
    node: ast.expr

    def at(self, index: str) -> str:
        """The load of a part."""
        return f"{self.ref}[{', '.join([*self.leading, index])}]{self.suffix}"


def load_of(one: Called, operand: ast.expr | None) -> Load | None:
    """Where ``operand`` was loaded, if nothing can have changed the ref since then."""
    if operand is None:
        return None
    here = expression_of(one, operand)
    found = resolve(one.sources, here)
    if found.syntax is not one.syntax or not means_the_same(one.sources, found, here):
        return None
    node, suffix = found.node, ""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr != "astype":
            return None
        suffix = one.syntax.text(node)[len(one.syntax.text(node.func.value)) :] + suffix
        node = node.func.value
    if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name):
        return None
    leading = _leading(one, node.slice)
    ref = node.value.id
    if leading is None or not is_ref_name(one, ref) or _is_stored(one, ref):
        return None
    return Load(one.syntax, ref, leading, suffix, found.node)


def index_fixes(one: Called) -> Iterator[Candidate]:
    """The slice taken of the ref instead of the value."""
    operand = _operand(one)
    load, index = load_of(one, operand), _index(one)
    if load is None or index is None or operand is None:
        return
    edits = all_or_none((one.syntax.replace(one.node, load.at(index)), *_unused(one, operand)))
    if edits:
        title = f"index `{load.ref}` instead of the value loaded from it"
        why = _doubt(one, load)
        yield Candidate(title, edits, applicability="unsafe" if why else "safe", why=why)


def _doubt(one: Called, load: Load) -> str:
    """What is not known: the range of the index, and what only the compiler can tell.

    The compiler packs several rows of a short type into one.
    """
    found = [ref.dtype for ref in one.failure.refs if ref.name == load.ref]
    if one.failure.target.family != "tpu" or found == ["float32"] or found == ["int32"]:
        return doubt_of_ref_index(one.failure)
    return f"rows of {found[0]} are packed; at an index of run time they may not compile"


def _operand(one: Called) -> ast.expr | None:
    return one.node.value if isinstance(one.node, ast.Subscript) else one.operand()


def _index(one: Called) -> str | None:
    """What is taken of the operand, as an index of a ref."""
    if isinstance(one.node, ast.Subscript):
        parts = one.node.slice.elts if isinstance(one.node.slice, ast.Tuple) else [one.node.slice]
        plain = not any(_is_no_index(part) for part in parts)
        return ", ".join(map(one.text, parts)) if plain else None
    ds = one.pallas("ds")
    match one.name:
        case "dynamic_slice_in_dim" if ds and one.has_only(4, "axis", "start_index", "slice_size"):
            start, size = one.argument("start_index", 1), one.argument("slice_size", 2)
            if start is None or size is None:
                return None
            return _at_axis(
                one, one.argument("axis", 3), f"{ds}({one.text(start)}, {one.text(size)})"
            )
        case "dynamic_index_in_dim" if ds and one.has_only(4, "axis", "index", "keepdims"):
            index, keep = one.argument("index", 1), one.argument("keepdims", 3)
            if index is None or (keep is not None and not isinstance(keep, ast.Constant)):
                return None
            kept = keep is None or bool(getattr(keep, "value", True))
            text = f"{ds}({one.text(index)}, 1)" if kept else one.text(index)
            return _at_axis(one, one.argument("axis", 2), text)
        case "dynamic_slice" if ds and one.has_only(3, "start_indices", "slice_sizes"):
            return _of_all_axes(one, ds)
        case "take" if one.has_only(3, "indices", "axis"):
            index, axis = one.argument("indices", 1), one.argument("axis", 2)
            return (
                _at_axis(one, axis, one.text(index))
                if index is not None and axis is not None
                else None
            )
    return None


def _at_axis(one: Called, node: ast.expr | None, text: str) -> str | None:
    axis = axis_of(one, node, 0)
    if axis is None:
        return None
    parts = [":"] * len(one.shape)
    parts[axis] = text
    return ", ".join(parts)


def _of_all_axes(one: Called, ds: str) -> str | None:
    starts, sizes = one.argument("start_indices", 1), one.argument("slice_sizes", 2)
    both = (ast.Tuple, ast.List)
    if not isinstance(starts, both) or not isinstance(sizes, both):
        return None
    taken = one.operation.parameter("slice_sizes")
    if len(starts.elts) != len(sizes.elts) or len(starts.elts) != len(one.shape):
        return None
    if not isinstance(taken, tuple) or len(taken) != len(one.shape):
        return None
    parts = [
        ":" if whole == size else f"{ds}({one.text(start)}, {one.text(written)})"
        for start, written, size, whole in zip(
            starts.elts, sizes.elts, taken, one.shape, strict=True
        )
    ]
    return ", ".join(parts)


def _leading(one: Called, index: ast.expr) -> tuple[str, ...] | None:
    """The constant indices before axes that are loaded whole."""
    parts = list(index.elts) if isinstance(index, ast.Tuple) else [index]
    leading: list[str] = []
    while parts and isinstance(parts[0], ast.Constant) and type(parts[0].value) is int:
        leading.append(one.text(parts.pop(0)))
    return tuple(leading) if all(map(_is_whole, parts)) else None


def _is_whole(part: ast.expr) -> bool:
    if isinstance(part, ast.Slice):
        return part.lower is None and part.upper is None and part.step is None
    return isinstance(part, ast.Constant) and part.value is Ellipsis


def _is_no_index(part: ast.expr) -> bool:
    no_ref_takes = isinstance(part, ast.Starred) or (
        isinstance(part, ast.Constant) and part.value is None
    )
    return no_ref_takes or (isinstance(part, ast.Slice) and part.step is not None)


def _is_stored(one: Called, ref: str) -> bool:
    """Whether the text stores to ``ref``, or hands it on to what may."""
    return any(
        _stores_by_index(node, ref) or _is_given_to_store(node, ref)
        for node in ast.walk(one.syntax.module)
        if _same_function(one, node)
    )


def _stores_by_index(node: ast.AST, ref: str) -> bool:
    if not isinstance(node, ast.Subscript) or isinstance(node.ctx, ast.Load):
        return False
    return isinstance(node.value, ast.Name) and node.value.id == ref


def _is_given_to_store(node: ast.AST, ref: str) -> bool:
    if not isinstance(node, ast.Call) or identifier(node.func) not in _STORING:
        return False
    return any(isinstance(given, ast.Name) and given.id == ref for given in node.args)


def _same_function(one: Called, node: ast.AST) -> bool:
    """Whether ``node`` is in the outermost function that the expression is in."""
    outer = list(one.syntax.functions(one.node))
    return bool(outer) and outer[-1] in list(one.syntax.functions(node))


def _unused(one: Called, operand: ast.expr) -> Iterator[TextEdit]:
    """An edit that takes away the load of the whole value where nothing else uses it."""
    if not isinstance(operand, ast.Name):
        return
    outer = list(one.syntax.functions(one.node))
    if not outer:
        return
    names = [n for n in ast.walk(outer[-1]) if isinstance(n, ast.Name) and n.id == operand.id]
    stores = [node for node in names if isinstance(node.ctx, ast.Store)]
    if len(stores) != 1 or len(names) != 2:
        return
    statement = one.syntax.statement(stores[0])
    edit = without_statement(one.syntax, statement) if statement is not None else None
    if edit is not None:
        yield edit
