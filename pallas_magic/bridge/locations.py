"""The equation behind an error that was raised after all rules had run.

Layout inference, dialect lowering and the verifiers work on MLIR operations:
an operation's location has the file, line and column of its equation.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any

from pallas_magic.bridge.frames import exception_steps, traceback_places
from pallas_magic.bridge.kernels import Kernel, equation_places

_FILE_LOCATION = re.compile(r'"((?:[^"\\]|\\.)*)":(\d+):(\d+)')
_ESCAPE = re.compile(rb"\\([0-9A-F]{2}|\\)")
_OPERATION_NAMES = ("op", "culprit_op")
# What walks a kernel's own equations and holds the one it is at as `eqn`.
_WALKERS = ("_estimate_resources", "lower_jaxpr_to_triton_ir")


@dataclasses.dataclass(frozen=True)
class Location:
    """Where an operation comes from; ``col`` is ``None``, ``filename`` empty if not known."""

    filename: str
    line: int
    col: int | None
    primitive: str = ""


def failing_path(error: BaseException, kernel: Kernel) -> tuple[Any, ...]:
    """The equations down to the one whose operation made ``error``, empty if it has none."""
    for step in reversed(list(exception_steps(error))):
        if step.tb_frame.f_code.co_name in _WALKERS:
            return kernel.path_of.get(id(step.tb_frame.f_locals.get("eqn")), ())
    return path_at(error_locations(error), kernel)


def path_at(locations: Iterable[Location], kernel: Kernel) -> tuple[Any, ...]:
    """The equations down to the one that is at the first of ``locations``, exact ones before."""
    return next(iter(paths_at(locations, kernel)), ())


def paths_at(locations: Iterable[Location], kernel: Kernel) -> list[tuple[Any, ...]]:
    """The paths to all equations at the first of ``locations`` that has one."""
    for location in sorted(locations, key=lambda location: location.col is None):
        if not location.filename:
            return _unplaced(location.primitive, kernel)
        if found := [path for path in kernel.path_of.values() if _is_at(path, location)]:
            return found
    return []


def _unplaced(primitive: str, kernel: Kernel) -> list[tuple[Any, ...]]:
    """The one equation of that name without a place of its own, none where there are several."""
    found = [
        path
        for path in kernel.path_of.values()
        if path[-1].primitive.name == primitive
        and not traceback_places(path[-1].source_info.traceback)
    ]
    return found if len(found) == 1 else []


def error_locations(error: BaseException) -> Iterator[Location]:
    """The places of the operations that ``error`` was raised about, innermost first."""
    yield from _verifier_locations(error)
    for step in reversed(list(exception_steps(error))):
        frame = step.tb_frame
        if "__name__" not in frame.f_globals:
            yield _made_up(step)
        for name in _OPERATION_NAMES:
            location = getattr(frame.f_locals.get(name), "location", None)
            if location is not None:
                yield from _operation_location(str(location))


def _verifier_locations(error: BaseException) -> Iterator[Location]:
    """Where MLIR's verifier says it met the operation; JAX keeps that in the cause only."""
    cause: BaseException | None = error
    while cause is not None:
        for diagnostic in getattr(cause, "error_diagnostics", ()):
            yield from _operation_location(str(diagnostic.location))
        cause = cause.__cause__


def _made_up(step: TracebackType) -> Location:
    """The place in a frame that JAX made up from a location; no code ever ran in it."""
    code = step.tb_frame.f_code
    return Location(code.co_filename, step.tb_lineno, None, code.co_name)


def _operation_location(text: str) -> Iterator[Location]:
    found = _FILE_LOCATION.search(text)
    name = re.match(r'loc\("([^":]*)', text)
    if found is None:
        if name is not None:
            yield Location("", 0, None, name[1])
        return
    filename = _ESCAPE.sub(_unescaped, found[1].encode()).decode(errors="replace")
    primitive = name[1] if name is not None else ""
    yield Location(filename, int(found[2]), int(found[3]), primitive)


def _unescaped(found: re.Match[bytes]) -> bytes:
    return b"\\" if found[1] == b"\\" else bytes.fromhex(found[1].decode())


def _is_at(path: tuple[Any, ...], location: Location) -> bool:
    places = equation_places(path)
    if not places:
        return False
    place = places[-1]
    return (
        place.filename == location.filename
        and place.line == location.line
        and location.col in (None, place.col)
        and location.primitive in ("", path[-1].primitive.name)
    )
