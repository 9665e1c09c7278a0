"""On-chip memory that ran out, as a compiler tells it."""

from __future__ import annotations

import dataclasses
import math
import re

from pallas_magic.bridge.capture import Call
from pallas_magic.bridge.kernels import Kernel
from pallas_magic.bridge.spec_memory import element_bits, memory_limit, spec_buffers
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
_WINDOW = re.compile(r"window shape is (?P<dtype>\w+)\[(?P<sizes>[\d,]*)\]")
_OF_WINDOW = re.compile(r"^(?:in|out)put window allocation for ")
_DTYPES = {
    "f32": "float32", "bf16": "bfloat16", "f16": "float16", "s32": "int32", "u32": "uint32",
    "s16": "int16", "u16": "uint16", "s8": "int8", "u8": "uint8",
}  # fmt: skip
_LEVELS = re.compile(r"has (\d+) buffering levels")
_SHAPE = re.compile(r"[a-z]+\d*\w*\[([\d,]*)\]")
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}


def memory_use(text: str, call: Call, kernel: Kernel, target: Target) -> MemoryUse | None:
    """The memory that ran out, where ``text`` says that one did."""
    return _beside_chip(_memory_use(text, call, kernel), target)


def memory_told(text: str, target: Target) -> MemoryUse | None:
    """The memory that ran out as ``text`` alone tells it, the kernel not being known."""
    return _beside_chip(_memory_use(text, None, Kernel((), {}, {}, {}, {}, {})), target)


def _beside_chip(memory: MemoryUse | None, target: Target) -> MemoryUse | None:
    if memory is None or memory.unit != "bytes":
        return memory
    chip = memory_limit(target, memory.space)
    return dataclasses.replace(memory, chip=chip if chip > memory.limit else 0)


def _memory_use(text: str, call: Call | None, kernel: Kernel) -> MemoryUse | None:
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
        buffers = tuple(spec_buffers(call, kernel.refs, found["space"])) if call else ()
        return MemoryUse(found["space"], _bytes(found["limit"]), _bytes(found["used"]), buffers)
    return _gpu_memory_use(text, call, kernel)


def _gpu_memory_use(text: str, call: Call | None, kernel: Kernel) -> MemoryUse | None:
    """Shared memory is counted for a kernel as a whole, tensor memory in columns."""
    if found := _SHARED.search(text):
        buffers = tuple(spec_buffers(call, kernel.refs, "smem")) if call else ()
        return MemoryUse("smem", int(found["limit"]), int(found["used"]), buffers)
    if found := _REQUESTED.search(text):
        used, limit = int(found["used"]), int(found["limit"])
        if found["space"] == "Tensor":
            return MemoryUse("tmem", limit, used, unit="columns")
        return MemoryUse("smem", limit, used)
    return None


def _buffer(tag: str, shape: str, size: int, kernel: Kernel) -> Buffer:
    levels = _LEVELS.search(tag)
    copies = int(levels[1]) if levels is not None else 1
    ref = _ref(tag, shape, kernel)
    what = tag.split(". ")[0].strip() or "allocation"
    if ref is None:
        window = _WINDOW.search(tag)
        kind = _DTYPES.get(window["dtype"], "") if window is not None else ""
        sizes = _sizes(window["sizes"]) if window is not None and kind else ()
        return Buffer(_OF_WINDOW.sub("", what), size, copies, sizes, kind)
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
        return max(
            local, key=lambda ref: math.prod(ref.shape) * element_bits(ref.dtype), default=None
        )
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
    sizes = _sizes(found[1]) if found is not None else ()
    alike = [ref for ref in refs if ref.shape == sizes]
    return max(alike, key=lambda ref: element_bits(ref.dtype), default=None)


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(int(size) for size in text.split(",") if size)


def _size(ref: Ref) -> int:
    return math.prod(ref.shape) * element_bits(ref.dtype)


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
