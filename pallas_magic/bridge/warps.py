"""What a failing equation has to do with the warp-level region around it."""

from __future__ import annotations

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
from pallas_magic.failure import VectorAccess, WarpRegion


def warp_region(path: tuple[Any, ...], kernel: Kernel) -> WarpRegion | None:
    """The warp-level region on ``path``, with the vector accesses that its end belongs to."""
    depth = next((i for i, equation in enumerate(path) if in_warp_region(equation)), None)
    if depth is None:
        return None
    places = equation_places(path[: depth + 1])
    region, failing = path[depth], path[-1]
    accesses = [
        access
        for inner in inner_jaxprs(region)
        for access in _connected(region, inner, failing, kernel)
    ]
    return WarpRegion(
        places[-1] if places else None,
        loads=tuple(one for one in accesses if one.access.kind == "load"),
        stores=tuple(one for one in accesses if one.access.kind == "store"),
    )


def is_vector(variable: Any) -> bool:
    """Whether a variable holds an array with at least one axis."""
    return not hasattr(variable.aval, "inner_aval") and bool(getattr(variable.aval, "shape", ()))


def _connected(region: Any, inner: Any, failing: Any, kernel: Kernel) -> list[VectorAccess]:
    """The vector stores that ``failing`` is or flows into, and the loads that flow into those.

    Where it flows into none, the load that it is.
    """
    inside = [
        path[-1]
        for path in kernel.path_of.values()
        if any(equation is region for equation in path[:-1])
    ]
    vectors = {
        id(equation): access
        for equation in inside
        if (access := kernel.access_of.get(id(equation))) is not None and access.shape
    }
    loads = [e for e in inside if id(e) in vectors and vectors[id(e)].kind == "load"]
    captured = _captured(region, inner) if failing is region else ()
    taken = flows(inner, (*loads, failing), captured, is_vector)
    wanted = {id(variable) for variable in captured} | {id(failing)}
    found = {id(failing)} & vectors.keys()
    for identity, access in vectors.items():
        flowing = taken.get(identity, frozenset())
        if access.kind == "store" and (identity in wanted or flowing & wanted):
            found |= {identity, *flowing} & vectors.keys()
    return [VectorAccess(kernel.ref_of[one], vectors[one]) for one in vectors if one in found]


def _captured(region: Any, inner: Any) -> tuple[Any, ...]:
    """The variables in a region of the arrays it closes over."""
    pairs = operand_pairs(region, inner)
    return tuple(variable for atom, variable in pairs if is_variable(atom) and is_vector(variable))
