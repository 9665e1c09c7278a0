"""From what a compiler said to failures with places.

Compilers tell where in text only: ``loc("name:"("path"(callsite("function"("file":L:C
to :C) at ...))))`` for one operation, ``file:L:C: error:`` where Triton reads its module,
or the operand whose buffer does not fit.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator

from pallas_magic.bridge.capture import Call
from pallas_magic.bridge.failures import make_failure
from pallas_magic.bridge.kernels import Kernel
from pallas_magic.bridge.locations import Location, path_at
from pallas_magic.bridge.memory import memory_use
from pallas_magic.bridge.objects import ObjectRecorder
from pallas_magic.bridge.operands import kernel_of
from pallas_magic.bridge.recovery import Raised
from pallas_magic.bridge.refusals import wide_index_map
from pallas_magic.bridge.shortage import largest_ref
from pallas_magic.bridge.suspects import suspect
from pallas_magic.failure import Failure
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
_PAYLOAD = re.compile(
    r"\s*\[type\.googleapis\.com/.*"
    r"|\n[^\n]*: note: in bytecode version .*"
    r"|\s*\binput ir: .*",
    re.DOTALL,
)
_PARSED = re.compile(
    r"(?:[A-Z_]+: )?Failed to parse Triton module: (?P<function>)"
    r"(?P<file>[^\n]+?):(?P<line>\d+):(?P<col>\d+)(?P<end_line>)(?P<end_col>): error: "
)


class CompilerError(Exception):
    """Stands for what a compiler raised in another process."""


def compile_failure(
    call: Call, text: str, target: Target, objects: ObjectRecorder, error_type: str
) -> Failure:
    """The failure that a compiler told in ``text``, at the user's expression."""
    kernel = kernel_of(call, objects)
    memory = memory_use(text, call, kernel, target)
    ref = largest_ref(memory.buffers) if memory is not None else None
    locations = list(_locations(text))
    path = path_at((location for location, _ in locations), kernel) or suspect(text, kernel)
    raised = Raised(CompilerError(plain_text(text)), path, ref=ref)
    failure = make_failure(raised, raised.error, call, kernel, target, objects, "compile")
    if failure.place is None and locations:
        failure = dataclasses.replace(failure, place=locations[0][1])
    if failure.place is None:
        failure = _with_suspect(failure, text, call, kernel)
    return dataclasses.replace(failure, error_type=error_type, memory=memory, raised_in="")


def plain_text(text: str) -> str:
    """The compiler's message without its wrapping, its locations and its repetitions."""
    text = _PAYLOAD.sub("", _WRAPPING.sub("", _PARSED.sub("", text.strip(), count=1)))
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
    if found := _PARSED.match(text):
        place = _place(found)
        yield Location(place.filename, place.line, place.col), place
        return
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


def _with_suspect(failure: Failure, text: str, call: Call, kernel: Kernel) -> Failure:
    """A failure without a location whose text fits one thing only."""
    if "func.return" not in text or "i64" not in text:
        return failure
    ref = wide_index_map(call, kernel)
    if ref is None or ref.spec is None:
        return failure
    return dataclasses.replace(failure, ref=ref, place=ref.spec.place)
