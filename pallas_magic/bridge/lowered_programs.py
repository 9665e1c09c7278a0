"""The kernels in a lowered program: after ``lower()`` nothing else is left of them."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from typing import Any

from jaxlib.mlir import ir

from pallas_magic.bridge.compile_errors import first_place
from pallas_magic.bridge.frames import exception_frames
from pallas_magic.source.document import Place

_OF_PALLAS = re.compile(r"tpu_custom_call|mosaic_gpu|triton")
_WINDOW = re.compile(r"operator input (\d+)\..*?the full shape is \w+\[([\d,]*)\]")
_SHAPE = re.compile(r"tensor<((?:\d+x)*)")


@dataclasses.dataclass(frozen=True)
class LoweredKernel:
    """A kernel as a program calls it; ``operands`` are the shapes that it takes."""

    name: str
    place: Place | None
    operands: tuple[tuple[int, ...], ...]


def kernel_meant(error: BaseException, name: str, text: str) -> LoweredKernel | None:
    """The one kernel, of that name if there is a name, that a compiler's ``text`` can mean."""
    kernels = list(dict.fromkeys(_kernels(error)))
    named = [one for one in kernels if name in ("", one.name)]
    if len(named) > 1 and (window := _WINDOW.search(text)):
        number, shape = int(window[1]), _sizes(window[2].split(","))
        named = [one for one in named if one.operands[number : number + 1] == (shape,)]
    return named[0] if len(named) == 1 else None


def _kernels(error: BaseException) -> Iterator[LoweredKernel]:
    for frame in exception_frames(error):
        for value in list(frame.f_locals.values()):
            if isinstance(value, ir.Module):
                yield from _called_in(value.operation)


def _called_in(operation: Any) -> Iterator[LoweredKernel]:
    for region in operation.regions:
        for block in region.blocks:
            for one in block.operations:
                if one.operation.name == "stablehlo.custom_call":
                    yield from _kernel(one.operation)
                else:
                    yield from _called_in(one.operation)


def _kernel(operation: Any) -> Iterator[LoweredKernel]:
    if not _OF_PALLAS.search(str(operation.attributes["call_target_name"])):
        return
    named = "kernel_name" in operation.attributes
    name = str(operation.attributes["kernel_name"]).strip('"') if named else ""
    operands = tuple(_shape(str(operand.type)) for operand in operation.operands)
    yield LoweredKernel(name, first_place(str(operation.location)), operands)


def _shape(kind: str) -> tuple[int, ...]:
    found = _SHAPE.match(kind)
    return _sizes(found[1].split("x")) if found is not None else ()


def _sizes(numbers: list[str]) -> tuple[int, ...]:
    return tuple(int(number) for number in numbers if number)
