"""On-chip memory: what a compiler says of it, and what the specs ask for."""

from __future__ import annotations

import dataclasses
import math
import re
from typing import Any

import numpy as np

from pallas_magic.bridge.capture import Call
from pallas_magic.bridge.gpu_configs import block_memory
from pallas_magic.bridge.kernels import Kernel
from pallas_magic.failure import Buffer, MemoryUse, Ref
from pallas_magic.targets import Target

_ALLOCATION = re.compile(
    r"Allocation \(size=(?P<size>\d+)\) would exceed memory \(size=(?P<limit>\d+)\)"
    r".*?shape = '(?P<shape>[^']*)'.*?space=(?P<space>\w+).*?tag = '(?P<tag>[^']*)'",
    re.DOTALL,
)
_TOTAL = re.compile(
    r"Ran out of memory in memory space (?P<space>\w+)\. "
    r"Used (?P<used>[\d.]+\w?) of (?P<limit>[\d.]+\w?) "
)
_SCOPED = re.compile(
    r"Ran out of memory in memory space (?P<space>\w+) .*?"
    r"Scoped allocation with size (?P<used>[\d.]+\w?) and limit (?P<limit>[\d.]+\w?) exceeded",
    re.DOTALL,
)
_SHARED = re.compile(r"smem_bytes=(?P<used>\d+) > max_smem_bytes=(?P<limit>\d+)")
_REQUESTED = re.compile(
    r"(?P<space>Shared|Tensor) memory size limit exceeded: "
    r"requested (?P<used>\d+), available: (?P<limit>\d+)"
)
_ENTRY = re.compile(
    r"^ +\d+\. Size: (?P<size>[\d.]+\w?)\n(?P<rest>.*?)={5,}", re.MULTILINE | re.DOTALL
)
_OPERAND = re.compile(
    r"(?P<what>operator input|operator output|prefetched SMEM operand) (?P<number>\d+)"
)
_LEVELS = re.compile(r"has (\d+) buffering levels")
_SHAPE = re.compile(r"[a-z]+\d*\w*\[([\d,]*)\]")
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}


def memory_use(text: str, call: Call, kernel: Kernel, target: Target) -> MemoryUse | None:
    """The memory that ran out, where ``text`` says that one did."""
    memory = _memory_use(text, call, kernel)
    if memory is None or memory.unit != "bytes":
        return memory
    chip = memory_limit(target, memory.space)
    return dataclasses.replace(memory, chip=chip if chip > memory.limit else 0)


def _memory_use(text: str, call: Call, kernel: Kernel) -> MemoryUse | None:
    if found := _ALLOCATION.search(text):
        buffer = _buffer(found["tag"], found["shape"], int(found["size"]), kernel)
        return MemoryUse(found["space"], int(found["limit"]), 0, (buffer,))
    if found := _TOTAL.search(text):
        buffers = tuple(
            _buffer(_line(rest, "Tag"), _line(rest, "Shape"), _bytes(entry["size"]), kernel)
            for entry in _ENTRY.finditer(text)
            for rest in [entry["rest"]]
        )
        return MemoryUse(found["space"], _bytes(found["limit"]), _bytes(found["used"]), buffers)
    if found := _SCOPED.search(text):
        buffers = tuple(spec_buffers(call, kernel.refs, found["space"]))
        return MemoryUse(found["space"], _bytes(found["limit"]), _bytes(found["used"]), buffers)
    return _gpu_memory_use(text, call, kernel)


def _gpu_memory_use(text: str, call: Call, kernel: Kernel) -> MemoryUse | None:
    """Shared memory is counted for a kernel as a whole, tensor memory in columns."""
    if found := _SHARED.search(text):
        buffers = tuple(spec_buffers(call, kernel.refs, "smem"))
        return MemoryUse("smem", int(found["limit"]), int(found["used"]), buffers)
    if found := _REQUESTED.search(text):
        used, limit = int(found["used"]), int(found["limit"])
        if found["space"] == "Tensor":
            return MemoryUse("tmem", limit, used, unit="columns")
        return MemoryUse("smem", limit, used)
    return None


def memory_limit(target: Target, space: str) -> int:
    """The bytes of ``space`` that one core or block of ``target`` has, 0 if not known."""
    if target.family == "gpu":
        return block_memory(target) if space == "smem" else 0
    from jax._src.pallas.mosaic import tpu_info

    version = tpu_info.chip_version_from_device_kind(target.device_kind)
    if version is None:
        return 0
    chip = tpu_info.get_tpu_info_for_chip(version, target.num_cores)
    return int(getattr(chip, f"{space}_capacity_bytes", 0))


def certain_shortage(call: Call, kernel: Kernel, target: Target) -> MemoryUse | None:
    """That one copy of each block and scratch buffer is more than a TPU core's VMEM.

    A compiler can take minutes to say so. Blocks that the kernel never touches
    are left out, as compilers leave them out; padding and second copies are too.
    """
    if target.family != "tpu" or not call.is_pallas_call:
        return None
    limit = memory_limit(target, "vmem")
    touched = {id(ref) for ref in kernel.ref_of.values()}
    buffers = tuple(
        dataclasses.replace(buffer, size=buffer.size // buffer.copies, copies=1)
        for buffer in spec_buffers(call, kernel.refs, "vmem")
        if id(buffer.ref) in touched
    )
    used = sum(buffer.size for buffer in buffers if buffer.what != "local")
    return MemoryUse("vmem", limit, used, buffers) if limit and used > limit else None


def spec_buffers(call: Call, refs: tuple[Ref, ...], space: str) -> list[Buffer]:
    """What the specs of ``call`` ask for in ``space``, without a compiler's padding."""
    found = []
    for ref in refs:
        own = ref.memory_space or ("vmem" if ref.role in ("input", "output") else "")
        if own != space or min(ref.shape, default=0) < 0 or not _itemsize(ref.dtype):
            continue
        copies = _copies(call, ref) if ref.role in ("input", "output") else 1
        size = math.prod(ref.shape) * _itemsize(ref.dtype) * copies
        found.append(Buffer(ref.role, size, copies, ref.shape, ref.dtype, ref))
    return found


def _copies(call: Call, ref: Ref) -> int:
    """How many blocks of an operand lie in memory at once, as TPU compilers pipeline them."""
    mapping = call.params.get("grid_mapping")
    if mapping is None or ref.memory_space not in ("", "vmem", "smem"):
        return 1
    block = mapping.block_mappings[ref.position - mapping.num_index_operands]
    asked = getattr(block.pipeline_mode, "buffer_count", None)
    if asked is not None:
        return int(asked)
    steps = [size for size in mapping.grid if isinstance(size, int)]
    moves = len(steps) < len(mapping.grid) or math.prod(steps) > 1
    return 2 if moves and not _is_constant(block.index_map_jaxpr.jaxpr) else 1


def _is_constant(index_map: Any) -> bool:
    return not index_map.eqns and not set(map(id, index_map.outvars)) & set(
        map(id, index_map.invars)
    )


def _itemsize(dtype: str) -> int:
    try:
        return int(np.dtype(dtype).itemsize)
    except TypeError:
        return {"bfloat16": 2}.get(dtype, 0)


def _buffer(tag: str, shape: str, size: int, kernel: Kernel) -> Buffer:
    levels = _LEVELS.search(tag)
    copies = int(levels[1]) if levels is not None else 1
    ref = _ref(tag, shape, kernel)
    what = tag.split(". ")[0].strip() or "allocation"
    if ref is None:
        return Buffer(what, size, copies)
    return Buffer(what, size, copies, ref.shape, ref.dtype, ref)


def _ref(tag: str, shape: str, kernel: Kernel) -> Ref | None:
    """The ref that the compiler's words for a buffer mean."""
    found = _OPERAND.search(tag)
    if found is not None:
        return _operand(found["what"], int(found["number"]), kernel)
    if tag.startswith("scratch operand"):
        return _only([ref for ref in kernel.refs if ref.role == "scratch"], shape)
    if tag.startswith("scoped memory"):
        local = [ref for ref in kernel.refs if ref.role == "local"]
        return max(local, key=lambda ref: math.prod(ref.shape) * _itemsize(ref.dtype), default=None)
    return None


def _operand(what: str, number: int, kernel: Kernel) -> Ref | None:
    """Inputs are counted with the scalar-prefetch operands before them."""
    if what == "operator output":
        refs = [ref for ref in kernel.refs if ref.role == "output"]
    else:
        refs = [ref for ref in kernel.refs if ref.role in ("prefetch", "input")]
    return refs[number] if number < len(refs) else None


def _only(refs: list[Ref], shape: str) -> Ref | None:
    """The one of ``refs`` with the compiler's shape; the largest where several have it."""
    found = _SHAPE.match(shape)
    sizes = tuple(int(size) for size in found[1].split(",") if size) if found is not None else ()
    alike = [ref for ref in refs if ref.shape == sizes]
    return max(alike, key=lambda ref: _itemsize(ref.dtype), default=None)


def _line(entry: str, word: str) -> str:
    """What one entry of the compiler's list says under ``word``."""
    words = (word, "XLA label") if word == "Tag" else (word,)
    for one in words:
        for line in entry.split("\n"):
            if line.strip().startswith(f"{one}: "):
                return line.partition(": ")[2].strip()
    return ""


def _bytes(size: str) -> int:
    number, unit = (size[:-1], size[-1]) if size[-1].isalpha() else (size, "")
    return round(float(number) * _UNITS[unit])
