"""Failures of layouts, and the layouts that mend them."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import TextEdit
from pallas_magic.rules._gpu.calls import PALLAS_GPU, base_name
from pallas_magic.rules._memory.assignment import all_or_none
from pallas_magic.rules._memory.layout import lines_after
from pallas_magic.rules._operations.called import Called, axis_of, called
from pallas_magic.rules._operations.lines import assigned_name
from pallas_magic.rules._operations.sliced_refs import index_fixes, load_of
from pallas_magic.source.calls import keyword, remove_keyword
from pallas_magic.source.document import Library
from pallas_magic.source.names import spelled
from pallas_magic.source.resolve import Expression, resolve
from pallas_magic.source.syntax import identifier

THREADS = 128
_ROWS, _COLUMNS = 64, 8
_TEXTS = (
    "Failed to infer a possible set of layouts",
    "Failed to infer the output layout of the iota",
    "Layout inference failed",
    "No support for axes yet",
    "No compatible layout found for the broadcast result",
    "Multiple options for the layout of the broadcast result",
    "Incompatible FragmentedArray layouts",
    "Only arrays with tiled layouts can be sliced",
)
_MULTIPLE = "must have a number of elements that is a multiple of 128"
_REDUCTIONS = ("sum", "mean", "max", "min", "amax", "amin", "prod")


def is_layout_failure(failure: Failure) -> bool:
    """Whether a Mosaic GPU kernel failed for want of a layout."""
    of_gpu = failure.target.family == "gpu" and "triton" not in failure.raised_in
    return of_gpu and (failure.text.startswith(_TEXTS) or _MULTIPLE in failure.text)


def reduction_fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    """The reduced matrix loaded in the tensor cores' layout, and what comes of it broadcast."""
    one = called(failure, sources)
    if one is None or not isinstance(one.node, ast.Call) or one.name not in _REDUCTIONS:
        return
    loaded = _loaded_as_wgmma(one)
    if loaded is None:
        return
    edit, ref = loaded
    title = f"load `{ref}` in the layout of the tensor cores"
    kept = [node for node in _reductions(one) if _keeps(node)]
    if all(_is_put_beside(one, node) for node in kept):
        yield Candidate(title, (edit,), exact=False)
        return
    spread = [each for node in kept for each in _spread(one, node)]
    if edits := all_or_none((edit, *spread)):
        yield Candidate(f"{title}, and broadcast what is reduced", edits, exact=False)


def iota_fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    """The array given a layout where it is made."""
    one = called(failure, sources)
    cast = _gpu(one, "layout_cast") if one is not None else None
    layout = _gpu(one, "Layout") if one is not None else None
    outputs = failure.operation.outputs
    if one is None or cast is None or layout is None or not outputs:
        return
    shape = outputs[0].shape
    text = ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "")
    for kind in (f"WG_STRIDED(({text}), 2)", "WGMMA"):
        name = kind.partition("(")[0]
        if edit := _cast(one, f"{layout}.{kind}", cast):
            yield Candidate(f"give it the layout `{name}`", (edit,))


def _cast(one: Called, layout: str, cast: str) -> TextEdit | None:
    """The array cast in a line of its own behind the one that names it, else where it stands."""
    statement = one.syntax.statement(one.node)
    target = assigned_name(statement, one.node) if statement is not None else ""
    if target and statement is not None:
        return lines_after(one.syntax, statement, [f"{target} = {cast}({target}, {layout})"])
    return one.syntax.replace(one.node, f"{cast}({one.text(one.node)}, {layout})")


def aligned_fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    """One of two combined arrays loaded in the layout that the other was loaded in."""
    one = called(failure, sources)
    if one is None or not isinstance(one.node, ast.BinOp):
        return
    load = _gpu(one, "load")
    sides = [resolve(sources, Expression(one.syntax, s)) for s in (one.node.left, one.node.right)]
    given = [_layout_given(side.node) for side in sides]
    for mine, other in ((1, 0), (0, 1)):
        side, wanted = sides[mine], given[other]
        if side.syntax is not one.syntax or wanted is None or load is None:
            continue
        text, own = one.text(wanted), given[mine]
        edit: TextEdit | None = None
        if own is not None:
            edit = one.syntax.replace(own, text)
        elif isinstance(side.node, ast.Subscript) and _is_whole(side.node):
            edit = one.syntax.replace(side.node, f"{load}({base_name(side.node)}, layout={text})")
        if edit is not None:
            yield Candidate(f"load both in the layout `{text}`", (edit,))


def sliced_fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    """A part of a value taken of the ref that the value was loaded from."""
    one = called(failure, sources)
    if one is not None:
        yield from static_index_fixes(one)


def static_index_fixes(one: Called) -> Iterator[Candidate]:
    """`x[0:8]` with bounds that are written out, taken of the ref."""
    if not isinstance(one.node, ast.Subscript):
        return
    bounds = [node for node in ast.walk(one.node.slice) if not isinstance(node, ast.expr_context)]
    if all(isinstance(node, (ast.Tuple, ast.Slice, ast.Constant)) for node in bounds):
        # Such bounds say by themselves whether they are in range.
        for candidate in index_fixes(one):
            yield dataclasses.replace(candidate, applicability="safe", why="")


def _gpu(one: Called, name: str) -> str | None:
    return spelled(one.sources, one.syntax.document, PALLAS_GPU, name)


def _loaded_as_wgmma(one: Called) -> tuple[TextEdit, str] | None:
    """An edit of the load of what is reduced, and the name of its ref."""
    operand, load, layout = one.operand(), _gpu(one, "load"), _gpu(one, "Layout")
    found = load_of(one, operand)
    if found is None or load is None or layout is None or found.suffix or len(one.shape) != 2:
        return None
    if one.shape[0] % _ROWS or one.shape[1] % _COLUMNS:
        return None
    ref = f"{found.ref}.at[{', '.join(found.leading)}]" if found.leading else found.ref
    edit = one.syntax.replace(found.node, f"{load}({ref}, layout={layout}.WGMMA)")
    return (edit, found.ref) if edit is not None else None


def _reductions(one: Called) -> Iterator[ast.Call]:
    """The reductions in the function around the failing one."""
    function = one.syntax.function(one.node)
    for node in ast.walk(function) if function is not None else ():
        if isinstance(node, ast.Call) and identifier(node.func) in _REDUCTIONS:
            yield node


def _keeps(node: ast.Call) -> bool:
    given = keyword(node, "keepdims")
    is_true = given is not None and isinstance(given.value, ast.Constant) and given.value.value
    return bool(is_true) and len(node.args) == 1


def _is_put_beside(one: Called, node: ast.Call) -> bool:
    """Whether a kept axis is at once put beside a matrix, which then gives it a layout.

    A mean divides what was summed before that.
    """
    above = one.syntax.parent(node)
    if not isinstance(above, ast.BinOp) or identifier(node.func) == "mean":
        return False
    other = above.left if above.right is node else above.right
    return not isinstance(other, ast.Constant) and "Lane" not in one.failure.semantics


def _spread(one: Called, node: ast.Call) -> list[TextEdit | None]:
    """``jnp.sum(x, axis=1, keepdims=True)`` as ``broadcast_in_dim`` of the plain sum."""
    broadcast, given = one.lax("broadcast_in_dim"), keyword(node, "keepdims")
    axis = keyword(node, "axis")
    operand = node.args[0]
    number = axis_of(one, axis.value) if axis is not None else None
    if broadcast is None or given is None or number is None or not isinstance(operand, ast.Name):
        return [None]
    start = (node.lineno, node.col_offset)
    end = (node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)
    return [
        one.syntax.insert(start, f"{broadcast}("),
        remove_keyword(one.syntax, node, given),
        one.syntax.insert(end, f", {operand.id}.shape, ({1 - number},))"),
    ]


def _layout_given(node: ast.expr) -> ast.expr | None:
    """The layout that ``plgpu.load`` or ``plgpu.layout_cast`` is told."""
    if not isinstance(node, ast.Call):
        return None
    if identifier(node.func) == "layout_cast" and len(node.args) == 2:
        return node.args[1]
    given = keyword(node, "layout")
    return given.value if identifier(node.func) == "load" and given is not None else None


def _is_whole(node: ast.Subscript) -> bool:
    index = node.slice
    return isinstance(node.value, ast.Name) and isinstance(index, ast.Constant)
