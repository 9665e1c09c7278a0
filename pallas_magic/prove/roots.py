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

Kind = Literal["spec", "grid spec", "call"]


@dataclasses.dataclass(frozen=True, eq=False)
class Root:
    """One recorded object, the expression that built it and the names it saw.

    ``known`` are the values of a call's or grid spec's keywords by name,
    ``defaults`` those it has where they are not given, ``parameters`` the names
    of its positional arguments, ``grid_parameters`` those of a grid spec given
    to the call.
    """

    kind: Kind
    place: Place
    value: Any
    names: Mapping[str, Any]
    parameters: tuple[str, ...] = ()
    grid_parameters: tuple[str, ...] = ()
    known: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    defaults: Mapping[str, Any] = dataclasses.field(default_factory=dict)


def roots_of(call: Call, parts: Parts, objects: ObjectRecorder) -> tuple[Root, ...]:
    """Everything of ``call`` that an edit outside the kernel can change."""
    found = [_spec_root(value, objects) for value in spec_values(parts)]
    found.append(_grid_root(call, parts, objects))
    found.append(_gpu_root(call, parts, objects))
    return tuple(root for root in found if root is not None)


def is_spec(value: Any) -> bool:
    """Whether ``value`` is a BlockSpec or a scratch shape, as far as its fields tell."""
    return hasattr(value, "memory_space") and dataclasses.is_dataclass(value)


def spec_values(parts: Parts) -> Iterator[Any]:
    """The specs and scratch shapes of a call, each once."""
    trees = [parts.scratch]
    if parts.grid_spec is not None:
        trees += [parts.grid_spec.in_specs, parts.grid_spec.out_specs]
        trees.append(parts.grid_spec.scratch_shapes)
    leaves = jax.tree_util.tree_leaves(trees, is_leaf=is_spec)
    yield from {id(leaf): leaf for leaf in leaves if is_spec(leaf)}.values()


def _spec_root(value: Any, objects: ObjectRecorder) -> Root | None:
    token = objects.token(value)
    return _root("spec", objects.built[token]) if token >= 0 else None


def _root(kind: Kind, built: BuiltObject, **more: Any) -> Root | None:
    place = place_of(built.code, built.last_instruction)
    if place is None:
        return None
    return Root(kind, place, built.value, {**built.global_names, **built.names}, **more)


def _grid_root(call: Call, parts: Parts, objects: ObjectRecorder) -> Root | None:
    if parts.grid_spec is None:
        return None
    made = [built for built in objects.built if _same_grid_spec(built.value, parts.grid_spec)]
    recorded = call.recorded().built
    site = recorded.site if recorded is not None else None
    direct = [b for b in made if site and place_of(b.code, b.last_instruction) == site.place]
    signature = inspect.signature(type(parts.grid_spec)).parameters
    names = ("grid", "in_specs", "out_specs", "scratch_shapes")
    known = {name: getattr(parts.grid_spec, name) for name in names}
    defaults = {name: signature[name].default for name in names}
    if direct:
        known |= {"scratch_shapes": parts.scratch, "out_shape": parts.out_shape}
        known["compiler_params"] = parts.compiler_params
        return _root(
            "call",
            direct[-1],
            parameters=("kernel", "out_shape"),
            grid_parameters=tuple(signature),
            known=known,
            defaults=defaults,
        )
    if not made:
        return None
    parameters = tuple(signature)
    return _root("grid spec", made[-1], parameters=parameters, known=known, defaults=defaults)


def _same_grid_spec(value: Any, grid_spec: Any) -> bool:
    """Whether JAX's working copy ``grid_spec`` was made of ``value``."""
    return (
        type(value) is type(grid_spec)
        and value.in_specs is grid_spec.in_specs
        and value.out_specs is grid_spec.out_specs
        and value.scratch_shapes == grid_spec.scratch_shapes
    )


def _gpu_root(call: Call, parts: Parts, objects: ObjectRecorder) -> Root | None:
    built = call.recorded().built
    if built is None or built.gpu is None:
        return None
    token = objects.token(built.gpu["mesh"])
    if token < 0:
        return None
    known = {"compiler_params": parts.compiler_params}
    known |= dict.fromkeys(("out_type", "out_shape"), parts.out_shape)
    known |= dict.fromkeys(("scratch_types", "scratch_shapes"), parts.scratch)
    return _root("call", objects.built[token], parameters=("body", "out_shape"), known=known)
