"""A product of matrices on the tensor cores of Hopper, which take it from shared memory."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Ref
from pallas_magic.rules._gpu.calls import PALLAS_GPU, base_name
from pallas_magic.rules._memory.assignment import all_or_none
from pallas_magic.rules._memory.layout import as_lines
from pallas_magic.rules._operations.called import Called
from pallas_magic.rules._operations.lines import free_name, statement_of, step_of
from pallas_magic.source.names import spelled

_FUNCTIONS = ("dot", "matmul")
_SHORT = ("float16", "bfloat16")
# A copy of the TMA unit, the tiles of the tensor cores, and a block's shared memory.
_LONGEST = 256
_ROWS, _COLUMNS, _DEPTH = 64, 8, 16
_MOST_BYTES = 220 * 1024
_NAMES = (
    "copy_gmem_to_smem",
    "barrier_wait",
    "wgmma",
    "commit_smem",
    "copy_smem_to_gmem",
    "wait_smem_to_gmem",
    "SMEM",
    "Barrier",
    "ACC",
)


def product_fixes(one: Called) -> Iterator[Candidate]:
    """`jnp.dot(a[...], b[...])` of refs in global memory, on a chip that has `wgmma`."""
    if one.failure.target.name != "gpu:h100" or "triton" in one.failure.raised_in:
        return
    statement = statement_of(one)
    if not isinstance(statement, ast.Assign) or statement.value is not one.node:
        return
    places = [*_operands(one), *statement.targets]
    refs = [ref for place in places if (ref := _whole_ref(one, place)) is not None]
    names = {name: spelled(one.sources, one.syntax.document, PALLAS_GPU, name) for name in _NAMES}
    names["run_scoped"] = one.pallas("run_scoped")
    if len(refs) != 3 or len(places) != 3 or None in names.values():
        return
    lines = _lines(one, refs[0], refs[1], refs[2], names)
    if lines and (edits := all_or_none((as_lines(one.syntax, statement, lines),))):
        title = "multiply on the tensor cores with `wgmma`; adds in float32 and in another order"
        yield Candidate(title, edits, exact=False)


def _operands(one: Called) -> list[ast.expr]:
    node = one.node
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return [node.left, node.right]
    if isinstance(node, ast.Call) and one.name in _FUNCTIONS and not node.keywords:
        return list(node.args)
    return []


def _whole_ref(one: Called, node: ast.expr) -> Ref | None:
    """The ref in global memory that ``node`` loads all of."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name):
        return None
    index = node.slice
    if not isinstance(index, ast.Constant) or index.value is not ...:
        return None
    found = [ref for ref in one.failure.refs if ref.name == base_name(node)]
    return found[0] if len(found) == 1 and found[0].memory_space == "gmem" else None


def _lines(
    one: Called, left: Ref, right: Ref, target: Ref, names: dict[str, str | None]
) -> list[str] | None:
    """The function that multiplies, and the call that runs it."""
    outputs = one.operation.outputs
    if left.dtype != right.dtype or left.dtype not in _SHORT or len(outputs) != 1:
        return None
    if len(left.shape) != 2 or len(right.shape) != 2 or left.shape[1] != right.shape[0]:
        return None
    (rows, depth), columns = left.shape, right.shape[1]
    size = 2 * (math.prod(left.shape) + math.prod(right.shape) + rows * columns)
    uneven = rows % _ROWS or columns % _COLUMNS or depth % _DEPTH
    if uneven or max(rows, columns, depth) > _LONGEST or size > _MOST_BYTES:
        return None
    dtype, wide = one.numpy(left.dtype), one.numpy("float32")
    result = one.numpy(outputs[0].dtype)
    if dtype is None or wide is None or result is None:
        return None
    product = free_name(one, "product", "multiplied")
    a, b = free_name(one, "a_smem", "left_smem"), free_name(one, "b_smem", "right_smem")
    barrier, acc = free_name(one, "barrier", "copied"), free_name(one, "acc", "total")
    out = free_name(one, "out_smem", "result_smem")
    step, copy = step_of(one), names["copy_gmem_to_smem"]
    add, scoped = free_name(one, "accumulated", "added"), names["run_scoped"]
    body = [
        f"def {product}({a}, {b}, {out}, {barrier}):",
        f"{step}{copy}({left.name}, {a}, {barrier})",
        f"{step}{copy}({right.name}, {b}, {barrier})",
        f"{step}{names['barrier_wait']}({barrier})",
        f"{step}def {add}({acc}):",
        f"{step}{step}{names['wgmma']}({acc}, {a}, {b})",
        f"{step}{step}return {acc}[...]",
        f"{step}{acc} = {scoped}({add}, {names['ACC']}(({rows}, {columns}), {wide}))",
        f"{step}{out}[...] = {acc}.astype({result})",
        f"{step}{names['commit_smem']}()",
        f"{step}{names['copy_smem_to_gmem']}({out}, {target.name})",
        f"{step}{names['wait_smem_to_gmem']}(0)",
    ]
    smem = [f"{names['SMEM']}(({r}, {c}), {dtype})" for r, c in (left.shape, right.shape)]
    given = [
        product,
        *smem,
        f"{names['SMEM']}(({rows}, {columns}), {result})",
        f"{names['Barrier']}(num_arrivals=2)",
    ]
    return [*body, f"{scoped}(", *(f"{step}{each}," for each in given), ")"]
