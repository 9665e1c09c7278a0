"""The expressions of the user's code that built what a call is made of."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import jax

from pallas_magic.bridge.capture import Call
from pallas_magic.bridge.frames import place_of
from pallas_magic.bridge.objects import BuiltObject, ObjectRecorder
from pallas_magic.bridge.retrace import Parts
from pallas_magic.source.document import Place

Kind = Literal["spec", "grid spec", "call", "part", "operands"]
_GRID_KEYWORDS = ("grid", "in_specs", "out_specs", "scratch_shapes")


@dataclasses.dataclass(frozen=True, eq=False)
class Root:
    """One recorded object, the expression that built it and the names it saw.

    ``known`` are the values of a call's or grid spec's keywords by name,
    ``defaults`` those it has where they are not given, ``parameters`` the names
    of its positional arguments, ``grid_parameters`` those of a grid spec given
    to the call. A ``part`` is what the keyword ``slot`` of its ``owner`` was given
    in a variable; ``operands`` stands for the call with its operands.

    ``settled`` are the names that are known to mean what they meant when the
    expression ran; ``None`` where all of them do.
    """

    kind: Kind
    place: Place
    value: Any
    names: Mapping[str, Any]
    parameters: tuple[str, ...] = ()
    grid_parameters: tuple[str, ...] = ()
    known: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    defaults: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    slot: str = ""
    owner: Kind = "call"
    settled: frozenset[str] | None = None


def roots_of(call: Call, parts: Parts, objects: ObjectRecorder) -> tuple[Root, ...]:
    """Everything of ``call`` that an edit outside the kernel can change."""
    found = [_spec_root(value, objects) for value in spec_values(parts)]
    found.append(_grid_root(call, parts, objects))
    found.append(_gpu_root(call, parts, objects))
    caller = call.recorded().caller
    found.append(_root("operands", caller) if caller is not None else None)
    return tuple(root for root in found if root is not None)


def is_spec(value: Any) -> bool:
    """Whether ``value`` is a BlockSpec or a scratch shape, as far as its fields tell."""
    return dataclasses.is_dataclass(value) and hasattr(value, "memory_space")


def spec_values(parts: Parts) -> Iterator[Any]:
    """The specs and scratch shapes of a call, each once."""
    trees = [parts.scratch]
    if parts.grid_spec is not None:
        trees += [parts.grid_spec.in_specs, parts.grid_spec.out_specs]
        trees.append(parts.grid_spec.scratch_shapes)
    leaves = jax.tree_util.tree_leaves(trees, is_leaf=is_spec)
    yield from {id(leaf): leaf for leaf in leaves if is_spec(leaf)}.values()


def call_root(parts: Parts, place: Place, names: Mapping[str, Any], is_gpu: bool) -> Root:
    """The root of a call that was put together at ``place``."""
    if is_gpu:
        known = {"compiler_params": parts.compiler_params}
        known |= dict.fromkeys(("out_type", "out_shape"), parts.out_shape)
        known |= dict.fromkeys(("scratch_types", "scratch_shapes"), parts.scratch)
        return Root("call", place, None, names, ("body", "out_shape"), known=known)
    known, defaults, signature = _grid_keywords(parts.grid_spec)
    known |= {"scratch_shapes": parts.scratch, "out_shape": parts.out_shape}
    known["compiler_params"] = parts.compiler_params
    return Root("call", place, None, names, ("kernel", "out_shape"), signature, known, defaults)


def grid_spec_root(parts: Parts, place: Place, names: Mapping[str, Any]) -> Root:
    """The root of a grid spec that was built at ``place``."""
    known, defaults, signature = _grid_keywords(parts.grid_spec)
    return Root("grid spec", place, None, names, signature, known=known, defaults=defaults)


def same_grid_spec(value: Any, grid_spec: Any) -> bool:
    """Whether JAX's working copy ``grid_spec`` was made of ``value``."""
    return (
        type(value) is type(grid_spec)
        and value.in_specs is grid_spec.in_specs
        and value.out_specs is grid_spec.out_specs
        and value.scratch_shapes == grid_spec.scratch_shapes
    )


def _grid_keywords(grid_spec: Any) -> tuple[dict[str, Any], dict[str, Any], tuple[str, ...]]:
    signature = inspect.signature(type(grid_spec)).parameters
    known = {name: getattr(grid_spec, name) for name in _GRID_KEYWORDS}
    defaults = {name: signature[name].default for name in _GRID_KEYWORDS}
    return known, defaults, tuple(signature)


def _spec_root(value: Any, objects: ObjectRecorder) -> Root | None:
    token = objects.token(value)
    return _root("spec", objects.built[token]) if token >= 0 else None


def _root(kind: Kind, built: BuiltObject) -> Root | None:
    place = place_of(built.code, built.last_instruction)
    return Root(kind, place, built.value, _names(built)) if place is not None else None


def _names(built: BuiltObject) -> Mapping[str, Any]:
    return {**built.global_names, **built.names}


def _grid_root(call: Call, parts: Parts, objects: ObjectRecorder) -> Root | None:
    if parts.grid_spec is None:
        return None
    made = [built for built in objects.built if same_grid_spec(built.value, parts.grid_spec)]
    placed = [(place_of(one.code, one.last_instruction), one) for one in made]
    recorded = call.recorded().built
    site = recorded.site if recorded is not None else None
    for place, built in reversed(placed):
        if site is not None and place is not None and place == site.place:
            return call_root(parts, place, _names(built), is_gpu=False)
    for place, built in placed[-1:]:
        if place is not None:
            return grid_spec_root(parts, place, _names(built))
    return None


def _gpu_root(call: Call, parts: Parts, objects: ObjectRecorder) -> Root | None:
    built = call.recorded().built
    if built is None or built.gpu is None:
        return None
    token = objects.token(built.gpu["mesh"])
    if token < 0:
        return None
    mesh = objects.built[token]
    place = place_of(mesh.code, mesh.last_instruction)
    return call_root(parts, place, _names(mesh), is_gpu=True) if place is not None else None
