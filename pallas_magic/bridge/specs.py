"""The specs and operands of a call as its inner frame holds them."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import jax
from jax._src.pallas import core as pallas_core

from pallas_magic.failure import Role, Window

Given = Literal["nothing", "shape", "function", "number", "other"]


@dataclasses.dataclass(frozen=True, eq=False)
class Operand:
    """One flat parameter of a kernel; ``number`` counts within its role."""

    role: Role
    number: int
    origin: str
    aval: Any


def specs_of(names: Mapping[str, Any]) -> dict[tuple[Role, int], Any]:
    """The spec objects in the inner frame of a call, by role and number."""
    found: dict[tuple[Role, int], Any] = {}
    grid_spec = names.get("grid_spec")
    if grid_spec is not None:
        found |= flat_specs("input", getattr(grid_spec, "in_specs", ()))
        found |= flat_specs("output", getattr(grid_spec, "out_specs", ()))
        found |= flat_specs("scratch", getattr(grid_spec, "scratch_shapes", ()))
    for name in ("flat_scratch_types", "scratch_types"):
        if name in names:
            found |= flat_specs("scratch", names[name])
            break
    return found


def flat_specs(role: Role, tree: Any) -> dict[tuple[Role, int], Any]:
    """The spec objects of a pytree in JAX's order; what has no spec is left out."""
    leaves = jax.tree_util.tree_leaves(tree, is_leaf=_is_spec)
    return {
        (role, number): leaf
        for number, leaf in enumerate(leaves)
        if leaf is not None and not isinstance(leaf, pallas_core.NoBlockSpec)
    }


def operands_of(names: Mapping[str, Any]) -> Iterator[Operand]:
    """What the kernel was to take, in order, as far as the inner frame got."""
    grid_spec = names.get("grid_spec")
    inputs = names.get("flat_in_avals", names.get("flat_avals", ()))
    origins = names.get("in_origins", ("",) * len(inputs))
    prefetched = _prefetched(names, getattr(grid_spec, "num_scalar_prefetch", 0))
    for number, (aval, origin) in enumerate(zip(inputs, origins, strict=True)):
        if number < prefetched:
            yield Operand("prefetch", number, str(origin), aval)
        else:
            yield Operand("input", number - prefetched, str(origin), aval)
    outputs = names.get("flat_out_avals", ())
    origins = names.get("out_origins", ("",) * len(outputs))
    for number, (aval, origin) in enumerate(zip(outputs, origins, strict=True)):
        yield Operand("output", number, str(origin), aval)
    for number, scratch in enumerate(_scratch(names, grid_spec)):
        yield Operand("scratch", number, "", scratch)


def window(spec: Any, array: Any) -> Window:
    """What ``spec``, which may be ``None``, says of an operand of type ``array``."""
    block = getattr(spec, "block_shape", None)
    sizes = _sizes(block)
    index_map = getattr(spec, "index_map", None)
    return Window(
        array=static_shape(array),
        block=sizes,
        given="shape" if sizes is not None else _mistaken(block),
        parameters=positional_names(getattr(index_map, "index_map", index_map))
        if index_map is not None
        else None,
        has_index_map=index_map is not None,
    )


def static_shape(array: Any) -> tuple[int, ...]:
    """The shape of ``array``, -1 for a size that is not known."""
    return tuple(int(size) if isinstance(size, int) else -1 for size in array.shape)


def static_grid(grid: Sequence[Any]) -> tuple[int | None, ...]:
    """The sizes of a grid, ``None`` for one that is not known before the kernel runs."""
    return tuple(size if isinstance(size, int) else None for size in grid)


def positional_names(function: Any) -> tuple[str, ...] | None:
    """The parameters that a call fills by position, ``None`` where it takes any number."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(one.kind is one.VAR_POSITIONAL for one in parameters):
        return None
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return tuple(one.name for one in parameters if one.kind in by_position)


def _is_spec(node: Any) -> bool:
    return isinstance(node, (pallas_core.BlockSpec, pallas_core.MemoryRef)) or node is None


def _prefetched(names: Mapping[str, Any], count: int) -> int:
    """How many flat operands the first ``count`` arguments are."""
    if not count or "in_tree" not in names:
        return 0
    arguments = jax.tree_util.tree_unflatten(names["in_tree"], names["flat_in_avals"])
    return len(jax.tree_util.tree_leaves(arguments[:count]))


def _scratch(names: Mapping[str, Any], grid_spec: Any) -> list[Any]:
    trees = (names.get("scratch_types"), getattr(grid_spec, "scratch_shapes", None))
    tree = next((tree for tree in trees if tree is not None), ())
    shapes = [_as_type(shape) for shape in jax.tree_util.tree_leaves(tree)]
    return [shape for shape in shapes if hasattr(shape, "shape") and hasattr(shape, "dtype")]


def _as_type(scratch: Any) -> Any:
    """What stands for a scratch: a single semaphore, ``SemaphoreType.DMA``, has no shape itself."""
    if hasattr(scratch, "shape") or not hasattr(scratch, "get_ref_aval"):
        return scratch
    return scratch.get_ref_aval()


def _sizes(block: Any) -> tuple[int | None, ...] | None:
    if not isinstance(block, Sequence) or isinstance(block, str):
        return None
    sizes = [_size(one) for one in block]
    return tuple(sizes) if -1 not in sizes else None


def _size(one: Any) -> int | None:
    """The size of an axis of a block, -1 for the kinds that are no plain blocks."""
    if one is None or isinstance(one, pallas_core.Squeezed):
        return None
    if isinstance(one, pallas_core.Blocked):
        one = one.block_size
    return one if isinstance(one, int) and not isinstance(one, bool) else -1


def _mistaken(block: Any) -> Given:
    if block is None:
        return "nothing"
    if callable(block):
        return "function"
    return "number" if isinstance(block, int) else "other"
