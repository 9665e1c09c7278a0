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
from pallas_magic.failure import VectorAccess, WarpRegion
from pallas_magic.source.document import Place


def warp_region(path: tuple[Any, ...], kernel: Kernel) -> WarpRegion | None:
    """The warp-level region on ``path``, with the vector accesses that its end belongs to."""
    depth = next((i for i, equation in enumerate(path) if in_warp_region(equation)), None)
    if depth is None:
        return None
    places = equation_places(path[: depth + 1])
    region, failing = path[depth], path[-1]
    vectors = _vectors(kernel, region)
    mine: set[int] = set()
    for inner in inner_jaxprs(region):
        captured = _captured(region, inner) if failing is region else ()
        mine |= _connected(inner, (failing,), captured, vectors)
    return _region(places[-1] if places else None, vectors, mine)


def captured_region(
    place: Place | None, jaxpr: Any, captured: tuple[Any, ...], kernel: Kernel
) -> WarpRegion:
    """The region that ``jaxpr`` is all of, with the accesses that ``captured`` flows into."""
    vectors = _vectors(kernel, None)
    return _region(place, vectors, _connected(jaxpr, (), captured, vectors))


def is_vector(variable: Any) -> bool:
    """Whether a variable holds an array with at least one axis."""
    return not hasattr(variable.aval, "inner_aval") and bool(getattr(variable.aval, "shape", ()))


@dataclasses.dataclass(frozen=True, eq=False)
class _Vector:
    """An equation that loads or stores a vector."""

    equation: Any
    told: VectorAccess


def _vectors(kernel: Kernel, region: Any) -> dict[int, _Vector]:
    """The vector accesses by the identity of their equation, all or those of a region."""
    found = {}
    for path in kernel.path_of.values():
        access = kernel.access_of.get(id(path[-1]))
        inside = region is None or any(equation is region for equation in path[:-1])
        if inside and access is not None and access.shape:
            told = VectorAccess(kernel.ref_of[id(path[-1])], access)
            found[id(path[-1])] = _Vector(path[-1], told)
    return found


def _region(place: Place | None, vectors: dict[int, _Vector], mine: set[int]) -> WarpRegion:
    told = [vector.told for identity, vector in vectors.items() if identity in mine]
    return WarpRegion(
        place,
        loads=tuple(one for one in told if one.access.kind == "load"),
        stores=tuple(one for one in told if one.access.kind == "store"),
        vectors=tuple(vector.told for vector in vectors.values()),
    )


def _connected(
    jaxpr: Any, failing: tuple[Any, ...], captured: tuple[Any, ...], vectors: dict[int, _Vector]
) -> set[int]:
    """The accesses that a failure belongs to: what flows into it, and what it flows into."""
    loads = [one.equation for one in vectors.values() if one.told.access.kind == "load"]
    taken = flows(jaxpr, (*loads, *failing), captured, is_vector)
    wanted = {id(one) for one in (*failing, *captured)}
    found = {*wanted, *(source for one in failing for source in taken.get(id(one), ()))}
    for identity, vector in vectors.items():
        flowing = taken.get(identity, frozenset())
        if vector.told.access.kind == "store" and (identity in wanted or flowing & wanted):
            found |= {identity, *flowing}
    return found & vectors.keys()


def _captured(region: Any, inner: Any) -> tuple[Any, ...]:
    """The variables in a region of the arrays it closes over."""
    pairs = operand_pairs(region, inner)
    return tuple(variable for atom, variable in pairs if is_variable(atom) and is_vector(variable))
