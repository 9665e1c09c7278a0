"""What a failing equation has to do with the warp-level region around it."""

from __future__ import annotations

import dataclasses
from typing import Any

from pallas_magic.bridge.dataflow import flows
from pallas_magic.bridge.kernels import (
    Kernel,
    equation_places,
    in_warp_region,
    inner_jaxprs,
    is_variable,
    operand_pairs,
)
from pallas_magic.failure import Access, VectorAccess, WarpRegion


def warp_region(path: tuple[Any, ...], kernel: Kernel) -> WarpRegion | None:
    """The warp-level region on ``path``, with the vector accesses that its end belongs to."""
    depth = next((i for i, equation in enumerate(path) if in_warp_region(equation)), None)
    if depth is None:
        return None
    places = equation_places(path[: depth + 1])
    region, failing = path[depth], path[-1]
    vectors = _vectors(region, kernel)
    connected: set[int] = set()
    for inner in inner_jaxprs(region):
        connected |= _connected(region, inner, failing, vectors)
    accesses = {
        identity: VectorAccess(kernel.ref_of[identity], vector.access)
        for identity, vector in vectors.items()
    }
    mine = [access for identity, access in accesses.items() if identity in connected]
    return WarpRegion(
        places[-1] if places else None,
        loads=tuple(one for one in mine if one.access.kind == "load"),
        stores=tuple(one for one in mine if one.access.kind == "store"),
        vectors=tuple(accesses.values()),
    )


def is_vector(variable: Any) -> bool:
    """Whether a variable holds an array with at least one axis."""
    return not hasattr(variable.aval, "inner_aval") and bool(getattr(variable.aval, "shape", ()))


@dataclasses.dataclass(frozen=True, eq=False)
class _Vector:
    """An equation of a region that loads or stores a vector."""

    equation: Any
    access: Access


def _vectors(region: Any, kernel: Kernel) -> dict[int, _Vector]:
    """The vector accesses of a region by the identity of their equation."""
    found = {}
    for path in kernel.path_of.values():
        access = kernel.access_of.get(id(path[-1]))
        inside = any(equation is region for equation in path[:-1])
        if inside and access is not None and access.shape:
            found[id(path[-1])] = _Vector(path[-1], access)
    return found


def _connected(region: Any, inner: Any, failing: Any, vectors: dict[int, _Vector]) -> set[int]:
    """The accesses that ``failing`` belongs to: what flows into it, and what it flows into."""
    loads = [one.equation for one in vectors.values() if one.access.kind == "load"]
    captured = _captured(region, inner) if failing is region else ()
    taken = flows(inner, (*loads, failing), captured, is_vector)
    wanted = {id(variable) for variable in captured} | {id(failing)}
    found = {id(failing), *taken.get(id(failing), ())}
    for identity, vector in vectors.items():
        flowing = taken.get(identity, frozenset())
        if vector.access.kind == "store" and (identity in wanted or flowing & wanted):
            found |= {identity, *flowing}
    return found & vectors.keys()


def _captured(region: Any, inner: Any) -> tuple[Any, ...]:
    """The variables in a region of the arrays it closes over."""
    pairs = operand_pairs(region, inner)
    return tuple(variable for atom, variable in pairs if is_variable(atom) and is_vector(variable))
