"""On-chip memory that a TPU kernel lacks for certain, told without a compiler."""

from __future__ import annotations

import dataclasses

from pallas_magic.bridge.capture import Call
from pallas_magic.bridge.kernels import Kernel
from pallas_magic.bridge.recovery import Raised
from pallas_magic.bridge.spec_memory import memory_limit, pipelined_block, spec_buffers
from pallas_magic.failure import Buffer, MemoryUse, Ref
from pallas_magic.targets import Target

_CORES = 2


class Shortage(Exception):
    """Stands for what a compiler that was not asked would say of ``memory``."""

    def __init__(self, memory: MemoryUse) -> None:
        self.memory = memory
        used = memory.used or max(buffer.size for buffer in memory.buffers)
        what = "the blocks take" if memory.used else "a scratch buffer takes"
        super().__init__(f"{what} {used} of {memory.limit} bytes of VMEM")


def shortages(call: Call, kernel: Kernel, target: Target) -> tuple[Raised, ...]:
    """The memory that is lacking for certain, at the spec of the largest buffer."""
    memory = certain_shortage(call, kernel, target)
    return (Raised(Shortage(memory), ref=largest_ref(memory.buffers)),) if memory else ()


def largest_ref(buffers: tuple[Buffer, ...]) -> Ref | None:
    """The ref that the largest of ``buffers`` serves, of those that serve one."""
    by_size = sorted(buffers, key=lambda buffer: buffer.size, reverse=True)
    return next((buffer.ref for buffer in by_size if buffer.ref is not None), None)


def certain_shortage(call: Call, kernel: Kernel, target: Target) -> MemoryUse | None:
    """That blocks, or one scratch buffer, are more than a TPU core's VMEM.

    A compiler can take minutes to say so. What it may do without is left out:
    padding, blocks that the kernel never touches, second copies but where a
    block moves at each step, and several scratch buffers at once, which it lays
    over each other and over blocks where it can. Compiled at both sides of the
    limit for every TPU.
    """
    if target.family != "tpu" or not call.is_pallas_call:
        return None
    chip = memory_limit(target, "vmem")
    limit = min(_asked_limit(call) or chip, chip)
    touched = {id(ref) for ref in kernel.ref_of.values()}
    buffers = [
        dataclasses.replace(buffer, size=buffer.size // buffer.copies * copies, copies=copies)
        for buffer in spec_buffers(call, kernel.refs, "vmem")
        if id(buffer.ref) in touched and buffer.ref is not None
        for copies in [_certain_copies(call, buffer.ref)]
    ]
    blocks = tuple(one for one in buffers if one.what in ("input", "output"))
    used = sum(buffer.size for buffer in blocks)
    if chip and used > limit:
        return MemoryUse("vmem", limit, used, blocks, chip=chip if chip > limit else 0)
    scratch = [one for one in buffers if one.what == "scratch" and one.size > chip]
    if not chip or not scratch:
        return None
    largest = max(scratch, key=lambda buffer: buffer.size)
    return MemoryUse("vmem", chip, 0, (largest,))


def _asked_limit(call: Call) -> int:
    """What the call lets its kernel take of VMEM, 0 where it does not say."""
    asked = getattr(call.params.get("compiler_params"), "vmem_limit_bytes", None)
    return asked if isinstance(asked, int) else 0


def _certain_copies(call: Call, ref: Ref) -> int:
    """The least that the copies can be: an axis of two may be split between two cores."""
    block = pipelined_block(call, ref) if ref.role in ("input", "output") else None
    if block is None or getattr(block.pipeline_mode, "buffer_count", None) == 1:
        return 1
    jaxpr = block.index_map_jaxpr.jaxpr
    long = {
        id(variable)
        for variable, size in zip(jaxpr.invars, call.params["grid_mapping"].grid, strict=False)
        if isinstance(size, int) and size > _CORES
    }
    return 2 if any(id(result) in long for result in jaxpr.outvars) else 1
