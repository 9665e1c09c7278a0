"""A copy of a part of a tile, written as one of the whole tile and a slice of the buffer."""

from __future__ import annotations

import ast
import dataclasses

from pallas_magic.failure import Candidate, Failure, Ref
from pallas_magic.report import TextEdit
from pallas_magic.rules._dma.calls import RefCall, copy_call, ref_type
from pallas_magic.rules._refs.expressions import complete
from pallas_magic.rules._specs.kernels import kernel_text
from pallas_magic.source.calls import argument
from pallas_magic.source.document import Library
from pallas_magic.source.resolve import Expression
from pallas_magic.source.syntax import identifier


@dataclasses.dataclass(frozen=True)
class _Part:
    """What is copied along an axis: ``size`` elements from ``start`` on."""

    start: int
    size: int

    def widened(self, tile: int, length: int) -> _Part:
        """The whole tiles that it lies in, as far as the array goes."""
        start = self.start // tile * tile
        end = min(-(-(self.start + self.size) // tile) * tile, length)
        return _Part(start, end - start)

    def within(self, outer: _Part) -> str:
        """Its index in what was copied."""
        start = self.start - outer.start
        return f"{start or ''}:{start + self.size}"


def copy_whole_tiles(
    failure: Failure, sources: Library, axis: int, tile: int
) -> tuple[Candidate, ...]:
    """The copy of all tiles along ``axis`` that it takes a part of, where that is known."""
    call = copy_call(failure, sources)
    of, to = call.ends if call is not None else (None, None)
    if call is None or not isinstance(of, ast.Subscript) or not isinstance(to, ast.Name):
        return ()
    source, buffer = call.ref(of), call.ref(to)
    memory = ref_type(failure, sources, buffer)
    if source is None or buffer is None or memory is None:
        return ()
    parts = _parts(of, source)
    if parts is None or tuple(part.size for part in parts) != buffer.shape or axis >= len(parts):
        return ()
    outer = parts[axis].widened(tile, source.shape[axis])
    index = _index([*parts[:axis], outer, *parts[axis + 1 :]], source, call.pallas("ds"))
    inner = ", ".join([":"] * axis + [parts[axis].within(outer)])
    edits = complete(
        [
            call.syntax.replace(of.slice, index) if index else None,
            _resized(memory, axis, outer.size),
            *_reads(failure, sources, call, to, inner),
        ]
    )
    if outer == parts[axis] or not edits:
        return ()
    title = f"copy whole tiles into `{buffer.name}`, and read `{buffer.name}[{inner}]`"
    return (Candidate(title, edits),)


def _parts(of: ast.Subscript, source: Ref) -> list[_Part] | None:
    """What the index takes of each axis, where it is written in numbers."""
    if not isinstance(of.value, ast.Attribute) or of.value.attr != "at":
        return None
    written = list(of.slice.elts) if isinstance(of.slice, ast.Tuple) else [of.slice]
    if len(written) > len(source.shape):
        return None
    found = [_part(one, length) for one, length in zip(written, source.shape, strict=False)]
    rest = [_Part(0, length) for length in source.shape[len(written) :]]
    known = [one for one in (*found, *rest) if one is not None]
    return known if len(known) == len(source.shape) else None


def _part(written: ast.expr, length: int) -> _Part | None:
    if isinstance(written, ast.Call) and identifier(written.func) in ("ds", "dslice"):
        start, size = (_number(argument(written, "", at)) for at in range(2))
        plain = len(written.args) == 2 and not written.keywords
        return _Part(start, size) if plain and start is not None and size is not None else None
    if not isinstance(written, ast.Slice) or written.step is not None:
        return None
    start = _number(written.lower) if written.lower is not None else 0
    end = _number(written.upper) if written.upper is not None else length
    if start is None or end is None or not start < end <= length:
        return None
    return _Part(start, end - start)


def _number(node: ast.expr | None) -> int | None:
    value = node.value if isinstance(node, ast.Constant) else None
    return value if type(value) is int and value >= 0 else None


def _index(parts: list[_Part], source: Ref, ds: str | None) -> str:
    if ds is None:
        return ""
    texts = [
        ":" if part == _Part(0, length) else f"{ds}({part.start}, {part.size})"
        for part, length in zip(parts, source.shape, strict=True)
    ]
    while len(texts) > 1 and texts[-1] == ":":
        texts.pop()
    return ", ".join(texts)


def _resized(memory: Expression, axis: int, size: int) -> TextEdit | None:
    """An edit that gives the buffer ``size`` elements along ``axis``."""
    shape = argument(memory.node, "shape", 0) if isinstance(memory.node, ast.Call) else None
    if not isinstance(shape, ast.Tuple) or axis >= len(shape.elts):
        return None
    return memory.syntax.replace(shape.elts[axis], str(size))


def _reads(
    failure: Failure, sources: Library, call: RefCall, to: ast.Name, inner: str
) -> list[TextEdit | None]:
    """Edits that read the part, where all that is done with the buffer is to read it whole."""
    kernel = kernel_text(failure, sources)
    if kernel is None:
        return [None]
    edits: list[TextEdit | None] = []
    for node in kernel.reads(to.id):
        above = kernel.syntax.parent(node)
        if (node.lineno, node.col_offset) == (to.lineno, to.col_offset):
            continue
        is_whole = (
            isinstance(above, ast.Subscript)
            and isinstance(above.ctx, ast.Load)
            and isinstance(above.slice, ast.Constant)
            and above.slice.value is Ellipsis
        )
        edits.append(
            call.syntax.replace(above.slice, inner)
            if is_whole and isinstance(above, ast.Subscript)
            else None
        )
    return edits
