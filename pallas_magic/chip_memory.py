"""What a kernel takes of a chip's memories, as a report tells it.

Each entry is ``{"space", "limit", "used", "unit", "buffers"}``: ``used`` is the
compiler's own number, ``buffers`` (``{"name", "type", "bytes", "copies"}``) are
those that the specs ask for, and are told only where they add up to no more
than ``used``. What is left of it is the compiler's: padding, spills, scratch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pallas_magic.targets import Target

if TYPE_CHECKING:
    from pallas_magic.bridge.capture import Call
    from pallas_magic.bridge.objects import ObjectRecorder
    from pallas_magic.failure import Buffer

# XLA's number of the space.
_VMEM = "1"
_REGISTERS_OF_A_THREAD = 255


def resources(
    call: Call, target: Target, objects: ObjectRecorder, details: Mapping[str, Any]
) -> tuple[Mapping[str, Any], ...]:
    """The memories that a compiler gave numbers for."""
    found: list[Mapping[str, Any]] = []
    used = details.get("scoped_memory", {}).get(_VMEM)
    if used:
        found.append(_vmem(call, target, objects, int(used)))
    if registers := details.get("registers"):
        found.append(_entry("registers", _REGISTERS_OF_A_THREAD, int(registers), "a thread"))
    return tuple(found)


def _vmem(call: Call, target: Target, objects: ObjectRecorder, used: int) -> Mapping[str, Any]:
    from pallas_magic.bridge.operands import kernel_of
    from pallas_magic.bridge.spec_memory import memory_limit, spec_buffers

    kernel = kernel_of(call, objects)
    touched = {id(ref) for ref in kernel.ref_of.values()}
    buffers = [
        buffer
        for buffer in spec_buffers(call, kernel.refs, "vmem")
        if buffer.what != "local" and id(buffer.ref) in touched
    ]
    told = buffers if sum(buffer.size for buffer in buffers) <= used else []
    entry = _entry("vmem", memory_limit(target, "vmem"), used, "bytes")
    return {**entry, "buffers": [_buffer(buffer) for buffer in told]}


def _entry(space: str, limit: int, used: int, unit: str) -> Mapping[str, Any]:
    return {"space": space, "limit": limit, "used": used, "unit": unit, "buffers": []}


def _buffer(buffer: Buffer) -> Mapping[str, Any]:
    name = buffer.ref.name if buffer.ref is not None else ""
    shape = ", ".join(map(str, buffer.shape))
    return {
        "name": name,
        "type": f"{buffer.dtype}[{shape}]",
        "bytes": buffer.size,
        "copies": buffer.copies,
    }
