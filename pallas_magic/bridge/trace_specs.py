"""The refs of a kernel that could not be traced, from what JAX held when it failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Any

from pallas_magic.bridge.kernels import memory_space_word
from pallas_magic.bridge.objects import ObjectRecorder
from pallas_magic.bridge.specs import (
    Operand,
    operands_of,
    positional_names,
    specs_of,
    static_shape,
    window,
)
from pallas_magic.failure import Ref, Role

_MAPPING = ("jax._src.pallas.core", "to_block_mapping")


def traced_refs(names: Mapping[str, Any], kernel: Any, objects: ObjectRecorder) -> tuple[Ref, ...]:
    """The refs that ``kernel`` was to take; ``names`` are those of its call's inner frame."""
    parameters = positional_names(kernel) or ()
    specs = specs_of(names)
    return tuple(
        _ref(one, position, parameters, specs, objects)
        for position, one in enumerate(operands_of(names))
    )


def failing_ref(frames: Sequence[FrameType], refs: Sequence[Ref]) -> Ref | None:
    """The operand whose spec JAX was reading."""
    for frame in reversed(frames):
        if (frame.f_globals.get("__name__", ""), frame.f_code.co_name) == _MAPPING:
            origin = str(frame.f_locals.get("origin", ""))
            return next((ref for ref in refs if ref.origin == origin), None)
    return None


def _ref(
    one: Operand,
    position: int,
    parameters: tuple[str, ...],
    specs: Mapping[tuple[Role, int], Any],
    objects: ObjectRecorder,
) -> Ref:
    spec = specs.get((one.role, one.number))
    cut = window(spec, one.aval) if one.role in ("input", "output") else None
    shape = static_shape(one.aval)
    if cut is not None and cut.block is not None and len(cut.block) == len(shape):
        shape = tuple(size for size in cut.block if size is not None)
    return Ref(
        name=parameters[position] if position < len(parameters) else "",
        position=position,
        role=one.role,
        operand=one.number,
        memory_space=memory_space_word(spec) if spec is not None else "",
        shape=shape,
        dtype=str(one.aval.dtype),
        origin=one.origin,
        has_spec=spec is not None,
        spec=objects.site(spec) if spec is not None else None,
        shared_spec=sum(other is spec for other in specs.values()) > 1,
        window=cut,
    )
