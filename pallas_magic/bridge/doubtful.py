"""What lowers and is a mistake all the same: outputs never written, index maps in elements.

Only what is certain from the traced call is told, and nothing is executed.
"""

from __future__ import annotations

import dataclasses
import dis
import math
from collections.abc import Iterator, Sequence
from typing import Any

from pallas_magic.bridge.capture import Call
from pallas_magic.bridge.failures import kernel_function, make_failure
from pallas_magic.bridge.index_values import block_index
from pallas_magic.bridge.kernels import Kernel, inner_jaxprs, operand_pairs
from pallas_magic.bridge.objects import ObjectRecorder
from pallas_magic.bridge.operands import kernel_of
from pallas_magic.bridge.recovery import Raised
from pallas_magic.failure import Failure, Ref
from pallas_magic.targets import Target

UNWRITTEN = "UnwrittenOutput"
ELEMENTS = "ElementOffsets"
_LOADS = ("get", "masked_load", "load")


class Doubt(Exception):
    """Stands for what no compiler says: ``kind`` is one of the names above."""

    def __init__(self, kind: str, text: str = "") -> None:
        super().__init__(text)
        self.kind = kind


def doubtful(call: Call, target: Target, objects: ObjectRecorder) -> tuple[Failure, ...]:
    """The certain mistakes of a call that lowers."""
    if not call.is_pallas_call or "grid_mapping" not in call.params:
        return ()
    kernel = kernel_of(call, objects)
    found = [*_unwritten(call, kernel), *_in_elements(call, kernel)]
    return tuple(_failure(one, call, kernel, target, objects) for one in found)


def _failure(
    raised: Raised, call: Call, kernel: Kernel, target: Target, objects: ObjectRecorder
) -> Failure:
    error = raised.error
    assert isinstance(error, Doubt)
    failure = make_failure(raised, error, call, kernel, target, objects)
    return dataclasses.replace(failure, raised_in="", error_type=error.kind, place=None)


def _unwritten(call: Call, kernel: Kernel) -> Iterator[Raised]:
    """Outputs that no equation of the kernel can write to.

    A kernel that does nothing, or only prints, is how memory is had without
    values, or how something is looked at; but where it assigns to the name of
    the ref, a store was meant.
    """
    jaxpr = call.jaxprs[0]
    names = [equation.primitive.name for equation in _all_equations(jaxpr)]
    if any(name.startswith("debug") for name in names):
        return
    aliased = _aliased_outputs(call)
    rebound = set() if names else _rebound(call)
    for position, ref in enumerate(kernel.refs[: len(jaxpr.invars)]):
        if ref.role != "output" or ref.operand in aliased:
            continue
        if not names and ref.name not in rebound:
            continue
        if not _may_be_written(jaxpr.invars[position], jaxpr):
            yield Raised(Doubt(UNWRITTEN), ref=ref)


def _all_equations(jaxpr: Any) -> Iterator[Any]:
    for equation in jaxpr.eqns:
        yield equation
        for inner in inner_jaxprs(equation):
            yield from _all_equations(inner)


def _aliased_outputs(call: Call) -> set[int]:
    aliases = call.params.get("input_output_aliases") or ()
    pairs = aliases.items() if hasattr(aliases, "items") else aliases
    return {int(output) for _, output in pairs}


def _rebound(call: Call) -> set[str]:
    """The names that the kernel's function assigns to."""
    code = getattr(kernel_function(call), "__code__", None)
    if code is None:
        return set()
    stores = [one.argval for one in dis.get_instructions(code) if "STORE_FAST" in one.opname]
    return {name for one in stores for name in (one if isinstance(one, tuple) else (one,))}


def _may_be_written(variable: Any, jaxpr: Any) -> bool:
    """Whether some equation does anything with a ref but load from it."""
    for equation in jaxpr.eqns:
        at = [number for number, atom in enumerate(equation.invars) if atom is variable]
        if not at or (equation.primitive.name in _LOADS and at == [0]):
            continue
        inner = list(inner_jaxprs(equation))
        pairs = [operand_pairs(equation, one) for one in inner]
        if not inner or not all(pairs):
            return True
        for one, known in zip(inner, pairs, strict=True):
            within = [var for atom, var in known if atom is variable]
            if any(_may_be_written(var, one) for var in within):
                return True
    return any(atom is variable for atom in jaxpr.outvars)


def _in_elements(call: Call, kernel: Kernel) -> Iterator[Raised]:
    mapping = call.params["grid_mapping"]
    before = int(mapping.num_index_operands)
    grid = tuple(mapping.grid)
    if not all(isinstance(size, int) for size in grid):
        return
    for number, block in enumerate(mapping.block_mappings):
        if number + before >= len(kernel.refs):
            return
        ref = kernel.refs[number + before]
        for axis in _axes_in_elements(block, grid, ref):
            yield Raised(Doubt(ELEMENTS, str(axis)), ref=ref)
            break


def _axes_in_elements(block: Any, grid: Sequence[int], ref: Ref) -> Iterator[int]:
    """The axes of an operand along which its index map counts elements.

    At step ``i`` of one axis of the grid it returns ``i`` times the size of the
    block, so that the second step is past the end of the array; and as blocks
    its steps would cut the array exactly.
    """
    cut = ref.window
    if cut is None or cut.given != "shape" or cut.block is None:
        return
    # Evaluating the index map is what takes time.
    suspects = [_suspects(cut.array, cut.block, size) for size in grid]
    jaxpr = block.index_map_jaxpr
    first = block_index(jaxpr, (0,) * len(grid)) if any(suspects) else None
    if first is None or any(first):
        return
    for step, size in enumerate(grid):
        if not suspects[step]:
            continue
        found = block_index(jaxpr, _at(step, 1, len(grid)))
        last = block_index(jaxpr, _at(step, size - 1, len(grid)))
        if found is None or last is None or len(found) != len(cut.block):
            continue
        for axis, part in suspects[step]:
            if found[axis] == part and last[axis] == (size - 1) * part:
                yield axis


def _suspects(
    array: Sequence[int], block: Sequence[int | None], size: int
) -> list[tuple[int, int]]:
    """The axes that as many steps as ``size`` cut exactly, each with its part."""
    if size < 2:
        return []
    return [
        (axis, part)
        for axis, (length, part) in enumerate(zip(array, block, strict=True))
        if part is not None
        and part >= 2
        and math.ceil(length / part) == size
        and part * part >= length
    ]


def _at(axis: int, step: int, count: int) -> tuple[int, ...]:
    return tuple(step if number == axis else 0 for number in range(count))
