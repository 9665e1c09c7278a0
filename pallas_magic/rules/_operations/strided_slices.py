"""Every second row of a value, `x[::2]`: a ref is read in steps, and rows can be put together."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pallas_magic.failure import Candidate
from pallas_magic.rules._operations.called import Called
from pallas_magic.rules._operations.lines import named, replaced
from pallas_magic.rules._operations.sliced_refs import load_of

_MOST_ROWS = 32
_WORDS = ("float32", "int32", "uint32")


def strided_fixes(one: Called) -> Iterator[Candidate]:
    """For steps along one axis other than the last, of a value of two axes."""
    node = one.node
    axis, bounds = _stepped(one)
    if not isinstance(node, ast.Subscript) or bounds is None or len(one.shape) != 2 or axis != 0:
        return
    if not _takes_all_else(node.slice):
        return
    start, size, step = bounds
    load, ds = load_of(one, node.value), one.pallas("ds")
    dtypes = [ref.dtype for ref in one.failure.refs if load is not None and ref.name == load.ref]
    if load is not None and ds is not None and all(dtype in _WORDS for dtype in dtypes):
        index = f"{ds}({start}, {size}, stride={step}), :"
        if edits := replaced(one, load.at(index)):
            yield Candidate(f"read `{load.ref}` in steps of {step}", edits)
    concatenate = one.numpy("concatenate")
    if concatenate is None or not 1 < size <= _MOST_ROWS:
        return
    rows = f"[i : i + 1] for i in range({start}, {start + (size - 1) * step + 1}, {step})"
    if edits := named(one, node.value, lambda x: f"{concatenate}([{x}{rows}])", "x", "value"):
        yield Candidate(f"put the {size} rows together", edits)


def _stepped(one: Called) -> tuple[int, tuple[int, int, int] | None]:
    """The axis that is stepped through, with its start, number of elements and step."""
    starts, steps = one.operation.parameter("start_indices"), one.operation.parameter("strides")
    if not isinstance(starts, tuple) or not isinstance(steps, tuple):
        return 0, None
    stepped = [axis for axis, step in enumerate(steps) if step != 1]
    if len(stepped) != 1 or not one.operation.outputs:
        return 0, None
    axis = stepped[0]
    return axis, (starts[axis], one.operation.outputs[0].shape[axis], steps[axis])


def _takes_all_else(index: ast.expr) -> bool:
    """Whether only the first axis is cut, as a slice."""
    first, *rest = index.elts if isinstance(index, ast.Tuple) else [index]
    return isinstance(first, ast.Slice) and all(
        isinstance(part, ast.Slice) and not (part.lower or part.upper or part.step) for part in rest
    )
