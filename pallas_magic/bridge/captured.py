"""A captured array that ended the tracing of a kernel or of a warp-level region.

JAX refuses it when the function has been traced, and names the function. What
is at fault is where the function uses the array: its jaxpr is still in the
frames that the error passed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any

from jax._src.state.types import AbstractRef

from pallas_magic.bridge.dataflow import flows
from pallas_magic.bridge.frames import exception_steps, is_user_frame, place_of
from pallas_magic.bridge.kernels import equation_places, make_ref, read_kernel
from pallas_magic.bridge.warps import captured_region, is_vector
from pallas_magic.failure import Access, Ref, WarpRegion
from pallas_magic.source.document import Place

# The function that raises, with how many frames further out it has its jaxpr.
_RAISED_IN = {"_error_if_non_ref_consts": 1, "_trace_kernel_to_jaxpr": 0}


@dataclasses.dataclass(frozen=True, eq=False)
class CapturedUse:
    """Where a captured array is used first, and the ref that it is stored to there, if any."""

    place: Place
    stack: tuple[Place, ...]
    primitive: str
    ref: Ref | None = None
    access: Access | None = None
    accesses: tuple[Access, ...] = ()
    warp: WarpRegion | None = None


def trace_failure_place(error: BaseException) -> CapturedUse | None:
    """The use of an array that a kernel may not close over, ``None`` for any other error."""
    steps = list(exception_steps(error))
    outwards = _RAISED_IN.get(steps[-1].tb_frame.f_code.co_name) if steps else None
    if outwards is None or len(steps) <= outwards:
        return None
    names = steps[-1 - outwards].tb_frame.f_locals
    jaxpr, constants = names.get("jaxpr"), names.get("consts")
    if jaxpr is None or "captures" not in str(error):
        return None
    if constants is None:
        constants = jaxpr.consts
    user = [step for step in steps if is_user_frame(step.tb_frame)]
    known = list(_refs(jaxpr, constants, [step.tb_frame for step in user]))
    region = place_of(user[-1].tb_frame.f_code, user[-1].tb_lasti) if user else None
    is_warp = type(names.get("mesh")).__name__ == "WarpMesh"
    return _first_use(jaxpr, known, region, is_warp)


def _first_use(
    jaxpr: Any, known: list[tuple[Any, Ref]], region: Place | None, is_warp: bool
) -> CapturedUse | None:
    arrays = tuple(variable for variable in jaxpr.constvars if is_vector(variable))
    refs = tuple(ref for _, ref in known)
    kernel = read_kernel(jaxpr, refs, [variable for variable, _ in known])
    used = flows(jaxpr, (), arrays, is_vector)
    paths = [path for identity, path in kernel.path_of.items() if identity in used]
    stores = [path for path in paths if id(path[-1]) in kernel.access_of]
    chosen = next(iter(stores if is_warp and stores else paths), None)
    places = equation_places(chosen) if chosen is not None else ()
    if chosen is None or not places:
        return None
    ref = kernel.ref_of.get(id(chosen[-1]))
    return CapturedUse(
        places[-1],
        places[:-1],
        chosen[-1].primitive.name,
        ref,
        kernel.access_of.get(id(chosen[-1])),
        kernel.accesses_of(ref) if ref is not None else (),
        captured_region(region, jaxpr, arrays, kernel) if is_warp else None,
    )


def _refs(
    jaxpr: Any, constants: Sequence[Any], frames: list[FrameType]
) -> Iterator[tuple[Any, Ref]]:
    """The refs that ``jaxpr`` closes over or takes, by the names the user's frames have."""
    names = jaxpr.debug_info.arg_names or ()
    for variable, constant in zip(jaxpr.constvars, constants, strict=False):
        if isinstance(variable.aval, AbstractRef):
            yield variable, make_ref(_name(constant, frames), -1, "local", 0, variable.aval)
    for position, variable in enumerate(jaxpr.invars):
        name = names[position] if position < len(names) else ""
        yield variable, make_ref(name or "", position, "local", position, variable.aval)


def _name(value: Any, frames: list[FrameType]) -> str:
    """What the innermost frame that has ``value`` calls it."""
    for frame in reversed(frames):
        for name, held in frame.f_locals.items():
            if held is value:
                return name
    return ""
