"""The chip matrix as text: a line for each kernel and outcome, not a column for each chip."""

from __future__ import annotations

from collections.abc import Iterator

from pallas_magic.render.inline import plain, ticked
from pallas_magic.render.matrix import SKIPPED
from pallas_magic.render.model import ChipMatrix, Inline


def chip_lines(matrix: ChipMatrix | None) -> Iterator[tuple[str, str]]:
    """The lines of ``matrix``, each with its kernel's name, which only the first of them tells.

    What is said of every kernel, which chips are skipped and why, is said once.
    """
    if matrix is None:
        return
    common = _common(matrix)
    for kernel in matrix.kernels:
        name = f"{kernel.name}, {kernel.calls}" if kernel.calls else kernel.name
        for line in kernel.lines:
            if line in common:
                continue
            yield name, ticked(line)
            name = ""
    for line in common:
        yield f"all {len(matrix.kernels)}", ticked(line)


def _common(matrix: ChipMatrix) -> tuple[Inline, ...]:
    first, *others = matrix.kernels
    # A kernel with nothing else to say keeps its line.
    if not others or any(len(kernel.lines) == 1 for kernel in matrix.kernels):
        return ()
    return tuple(
        line
        for line in first.lines
        if plain(line).startswith(SKIPPED) and all(line in kernel.lines for kernel in others)
    )
