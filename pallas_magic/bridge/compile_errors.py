"""From what a compiler said to failures with places.

Compilers tell where in text only: ``loc("name:"("path"(callsite("function"("file":L:C
to :C) at ...))))`` for one operation, or the operand whose buffer does not fit.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from typing import Any

from pallas_magic.bridge.capture import Call
from pallas_magic.bridge.failures import make_failure
from pallas_magic.bridge.kernels import Kernel, read_kernel
from pallas_magic.bridge.locations import Location, path_at
from pallas_magic.bridge.memory import certain_shortage, memory_use
from pallas_magic.bridge.objects import ObjectRecorder
from pallas_magic.bridge.operands import kernel_refs
from pallas_magic.bridge.recovery import Raised
from pallas_magic.failure import Buffer, Failure, MemoryUse, Ref
from pallas_magic.source.document import Place
from pallas_magic.targets import Target

_NAME = re.compile(r'loc\("((?:[^"\\]|\\.)*)"')
_FRAME = re.compile(
    r'"(?P<function>[^"]*)"\("(?P<file>(?:[^"\\]|\\.)*)":(?P<line>\d+):(?P<col>\d+)'
    r"(?: to (?P<end_line>\d*):(?P<end_col>\d+))?\)"
)
_FILE = re.compile(
    r'loc\((?P<function>)"(?P<file>(?:[^"\\]|\\.)*)":(?P<line>\d+):(?P<col>\d+)'
    r"(?: to (?P<end_line>\d*):(?P<end_col>\d+))?\)"
)
_WRAPPING = re.compile(
    r"^(?:[A-Z_]+: )?(?:Mosaic failed to compile TPU kernel"
    r"(?: with MLIR module name `[^`]*`)?(?: HLO name `[^`]*`)?: )?"
)
_LEFT_OUT = ("at location: loc(", "Please report a bug at:", "... additional diagnostics")
_PAYLOAD = re.compile(r"\s*\[type\.googleapis\.com/.*", re.DOTALL)


class CompilerError(Exception):
    """Stands for what a compiler raised in another process."""


def compile_failure(
    call: Call, text: str, target: Target, objects: ObjectRecorder, error_type: str
) -> Failure:
    """The failure that a compiler told in ``text``, at the user's expression."""
    kernel = read_kernel(call.jaxprs[0], kernel_refs(call, objects))
    memory = memory_use(text, call, kernel, target)
    ref = _largest(memory.buffers) if memory is not None else None
    locations = list(_locations(text))
    path = path_at((location for location, _ in locations), kernel)
    raised = Raised(CompilerError(plain_text(text)), path, ref=ref)
    failure = make_failure(raised, raised.error, call, kernel, target, objects, "compile")
    if failure.place is None and locations:
        failure = dataclasses.replace(failure, place=locations[0][1])
    if failure.place is None:
        failure = _with_suspect(failure, text, call, kernel)
    return dataclasses.replace(failure, error_type=error_type, memory=memory, raised_in="")


def shortage(call: Call, target: Target, objects: ObjectRecorder) -> MemoryUse | None:
    """Memory that ``call`` lacks on ``target`` for certain, told without a compiler."""
    kernel = read_kernel(call.jaxprs[0], kernel_refs(call, objects))
    return certain_shortage(call, kernel, target)


def shortage_failure(
    call: Call, memory: MemoryUse, target: Target, objects: ObjectRecorder
) -> Failure:
    """The failure that :func:`shortage` found, at the spec of the largest buffer."""
    kernel = read_kernel(call.jaxprs[0], kernel_refs(call, objects))
    text = f"one copy of each block takes {memory.used} of {memory.limit} bytes of VMEM"
    raised = Raised(CompilerError(text), (), ref=_largest(memory.buffers))
    failure = make_failure(raised, raised.error, call, kernel, target, objects, "compile")
    return dataclasses.replace(failure, error_type="OutOfMemory", memory=memory, raised_in="")


def plain_text(text: str) -> str:
    """The compiler's message without its wrapping, its locations and its repetitions."""
    text = _PAYLOAD.sub("", _WRAPPING.sub("", text.strip()))
    kept: list[str] = []
    seen: set[str] = set()
    for part in text.split("\n\n"):
        if kept and part.startswith("failed to legalize operation"):
            continue  # the failure that came before, once more
        lines = [line for line in part.split("\n") if not line.startswith(_LEFT_OUT)]
        told = "\n".join(lines).strip()
        if told and told not in seen:
            seen.add(told)
            kept.append(told)
    return "\n\n".join(kept)


def first_place(text: str) -> Place | None:
    """The innermost place of the first location in ``text``."""
    return next((place for _, place in _locations(text)), None)


def _locations(text: str) -> Iterator[tuple[Location, Place]]:
    """The places in the first location of ``text``, innermost first."""
    start = text.find("loc(")
    if start < 0:
        return
    line = text[start:].split("\n")[0]
    if found := _FILE.match(line):
        place = _place(found)
        yield Location(place.filename, place.line, None), place
        return
    name = _NAME.match(line)
    primitive = name[1].split(":")[0].rsplit("/", maxsplit=1)[-1] if name is not None else ""
    for found in _FRAME.finditer(line):
        place = _place(found)
        yield Location(place.filename, place.line, place.col, primitive), place


def _place(found: re.Match[str]) -> Place:
    line, col = int(found["line"]), int(found["col"])
    end_line = int(found["end_line"] or line)
    end_col = int(found["end_col"] or col)
    return Place(found["file"], line, col, end_line, end_col, found["function"])


def _largest(buffers: tuple[Buffer, ...]) -> Ref | None:
    by_size = sorted(buffers, key=lambda buffer: buffer.size, reverse=True)
    return next((buffer.ref for buffer in by_size if buffer.ref is not None), None)


def _with_suspect(failure: Failure, text: str, call: Call, kernel: Kernel) -> Failure:
    """A failure without a location whose text fits one thing only."""
    if "func.return" not in text or "i64" not in text:
        return failure
    ref = _ref_of_wide_index_map(call, kernel)
    if ref is None or ref.spec is None:
        return failure
    return dataclasses.replace(failure, ref=ref, place=ref.spec.place)


def _ref_of_wide_index_map(call: Call, kernel: Kernel) -> Ref | None:
    """The first operand whose index map returns 64-bit integers, which no TPU takes."""
    mapping = call.params.get("grid_mapping")
    if mapping is None:
        return None
    before = int(mapping.num_index_operands)
    for number, block in enumerate(mapping.block_mappings):
        results = block.index_map_jaxpr.jaxpr.outvars
        position = number + before
        if position < len(kernel.refs) and any(_is_wide(result) for result in results):
            return kernel.refs[position]
    return None


def _is_wide(atom: Any) -> bool:
    return str(getattr(atom.aval, "dtype", "")) in ("int64", "uint64")
