"""The transforms that a buffer in shared memory is asked for with, as they are written."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Sequence

from pallas_magic.failure import Failure, Ref
from pallas_magic.rules._gpu.kernels import scratch_type
from pallas_magic.source.calls import argument, keyword
from pallas_magic.source.document import Library
from pallas_magic.source.resolve import Expression, resolve
from pallas_magic.source.syntax import identifier

_BITS = {"float16": 16, "bfloat16": 16, "float32": 32, "int32": 32, "uint32": 32, "int8": 8}
_BITS |= {"uint8": 8, "float8_e4m3fn": 8, "float8_e5m2": 8, "int16": 16, "uint16": 16}
SWIZZLES = (128, 64, 32)


@dataclasses.dataclass(frozen=True, eq=False)
class Transform:
    """One of them: ``plgpu.TilingTransform((8, 64))`` with what it is given."""

    written: Expression
    given: Expression
    tiling: tuple[int, ...] = ()
    swizzle: int = 0

    def with_value(self, value: str) -> str:
        """The same transform given ``value``."""
        assert isinstance(self.written.node, ast.Call)
        return f"{self.written.syntax.text(self.written.node.func)}({value})"


@dataclasses.dataclass(frozen=True, eq=False)
class Transformed:
    """A scratch buffer, what asks for it, and its transforms in their order."""

    ref: Ref
    asked: Expression
    keyword: ast.keyword
    transforms: tuple[Transform, ...]

    @property
    def tiling(self) -> Transform | None:
        return next((one for one in self.transforms if one.tiling), None)

    @property
    def swizzle(self) -> Transform | None:
        return next((one for one in self.transforms if one.swizzle), None)

    @property
    def swizzles_first(self) -> bool:
        """Whether rows are swizzled before there are tiles."""
        tiling, swizzle = self.tiling, self.swizzle
        if tiling is None or swizzle is None:
            return False
        return self.transforms.index(swizzle) < self.transforms.index(tiling)

    @property
    def last(self) -> int:
        """The length of the rows that are swizzled."""
        tiling = self.tiling
        is_tiled = tiling is not None and not self.swizzles_first
        return tiling.tiling[-1] if tiling is not None and is_tiled else self.ref.shape[-1]

    @property
    def is_divided(self) -> bool:
        """Whether whole tiles fill the buffer."""
        tiles = self.tiling.tiling if self.tiling is not None else ()
        ends = self.ref.shape[len(self.ref.shape) - len(tiles) :]
        return all(size % tile == 0 for size, tile in zip(ends, tiles, strict=False))

    @property
    def fits(self) -> bool:
        return self.is_divided and not self.swizzles_first and self.row() in (0, self.last)

    def shares(self, other: Transformed) -> bool:
        """Whether the same text says the transforms of both."""
        mine = {id(one.written.node) for one in self.transforms}
        return any(id(one.written.node) in mine for one in other.transforms)

    def swizzled(self, swizzle: int) -> int:
        """How many elements ``swizzle`` bytes are, 0 where that is not known."""
        bits = _BITS.get(self.ref.dtype, 0)
        return swizzle * 8 // bits if bits else 0

    def row(self) -> int:
        """How many elements the swizzle takes, 0 where there is none."""
        return self.swizzled(self.swizzle.swizzle) if self.swizzle is not None else 0


def transformed(failure: Failure, sources: Library) -> list[Transformed]:
    """The kernel's buffers whose transforms the text alone tells, in the kernel's order."""
    found = [_transformed(failure, sources, ref) for ref in failure.refs if ref.shape]
    return [one for one in found if one is not None]


def _transformed(failure: Failure, sources: Library, ref: Ref) -> Transformed | None:
    asked = scratch_type(failure, sources, ref)
    if asked is None or not isinstance(asked.node, ast.Call):
        return None
    given = keyword(asked.node, "transforms")
    if given is None:
        return None
    several = resolve(sources, Expression(asked.syntax, given.value))
    if not isinstance(several.node, (ast.Tuple, ast.List)):
        return None
    read = [_transform(sources, several, node) for node in several.node.elts]
    known = tuple(one for one in read if one is not None)
    return Transformed(ref, asked, given, known) if len(known) == len(read) else None


def _transform(sources: Library, several: Expression, node: ast.expr) -> Transform | None:
    written = resolve(sources, Expression(several.syntax, node))
    if not isinstance(written.node, ast.Call):
        return None
    match identifier(written.node.func):
        case "TilingTransform":
            given = argument(written.node, "tiling", 0)
        case "SwizzleTransform":
            given = argument(written.node, "swizzle", 0)
        case _:
            return None
    if given is None:
        return None
    value = resolve(sources, Expression(written.syntax, given))
    match value.node:
        case ast.Tuple(elts=elements) if (sizes := _sizes(elements)) is not None:
            return Transform(written, value, tiling=sizes)
        case ast.Constant(value=int(swizzle)):
            return Transform(written, value, swizzle=swizzle)
    return None


def _sizes(nodes: Sequence[ast.expr]) -> tuple[int, ...] | None:
    values = [node.value for node in nodes if isinstance(node, ast.Constant)]
    sizes = tuple(value for value in values if isinstance(value, int) and value > 0)
    return sizes if sizes and len(sizes) == len(nodes) else None
