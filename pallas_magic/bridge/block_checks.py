"""Blocks that a back end refuses before it lowers the kernel that uses them.

JAX checks the blocks one after the other and stops at the first it refuses. Its
own check is asked about each of them, and then left out, so that what is wrong
in the kernel is found as well.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from pallas_magic.bridge.devices import chip_queries_answered, target_mesh
from pallas_magic.bridge.frames import exception_frames
from pallas_magic.bridge.kernels import Kernel
from pallas_magic.bridge.patches import replaced_attribute
from pallas_magic.bridge.recovery import Raised
from pallas_magic.failure import Ref
from pallas_magic.targets import Target

_CHECK = "_check_block_mappings"


def refused_blocks(error: BaseException, target: Target, kernel: Kernel) -> tuple[Raised, ...]:
    """What JAX says of each block it refuses, none if ``error`` is not about blocks."""
    frame = _checking_frame(error)
    if frame is None:
        return ()
    names = frame.f_locals
    check = frame.f_globals[_CHECK]
    found = []
    for mapping in names.get("block_mappings", ()):
        refusal = _refusal(check, mapping, names, target)
        if refusal is not None:
            found.append(Raised(refusal, ref=_ref(kernel, mapping)))
    return tuple(found)


@contextmanager
def blocks_unchecked(error: BaseException) -> Iterator[None]:
    """Leave out the check that raised ``error`` while the context is open."""
    frame = _checking_frame(error)
    module = sys.modules.get(frame.f_globals["__name__"]) if frame is not None else None
    if module is None:
        yield
        return
    with replaced_attribute(module, _CHECK, lambda *_, **__: None):
        yield


def _checking_frame(error: BaseException) -> FrameType | None:
    frames = [frame for frame in exception_frames(error) if frame.f_code.co_name == _CHECK]
    return frames[-1] if frames else None


def _refusal(check: Any, mapping: Any, names: dict[str, Any], target: Target) -> Exception | None:
    arguments = {"debug_info": names["debug_info"]}
    if "kernel_type" in names:  # Mosaic TPU
        arguments |= {"kernel_type": names["kernel_type"], "lowering_context": None}
    try:
        with target_mesh(target), chip_queries_answered(target):
            check((mapping,), **arguments)
    except Exception as refused:
        return refused
    return None


def _ref(kernel: Kernel, mapping: Any) -> Ref | None:
    origin = str(mapping.origin)
    return next((ref for ref in kernel.refs if ref.origin == origin), None)
