"""On-chip memory as text: a bar of blocks for each kernel, and a line for each buffer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pallas_magic.render.characters import width as text_width
from pallas_magic.render.model import BufferTable, CardMemory, KernelMemory, MemoryBar
from pallas_magic.render.text_lines import named_lines, wrapped

BLOCKS = 20
MOST_LINES = 16
FULL, FREE = "█", "░"
Row = tuple[str, ...]


def memory_lines(memory: CardMemory | None, columns: int) -> Iterator[str]:
    """``memory`` in lines of ``columns``: of several chips the one with least to spare.

    The buffers of many kernels would bury what else a report says; those of a
    few are told.
    """
    if memory is None:
        return
    buffers = sum(len(_table(kernel).buffers) for kernel in memory.kernels)
    told = len(memory.kernels) + buffers <= MOST_LINES
    if not told:
        yield from named_lines([(_name(one), _bar_line(one)) for one in memory.kernels], columns)
        return
    for kernel in memory.kernels:
        yield from wrapped(f"{_name(kernel)}  {_bar_line(kernel)}", columns, "", "  ")
        yield from _buffer_lines(kernel, columns)


def _name(kernel: KernelMemory) -> str:
    return f"{kernel.kernel}, {kernel.calls}" if kernel.calls else kernel.kernel


def _bar_line(kernel: KernelMemory) -> str:
    bar = _tightest(kernel.bars)
    blocks = f"{_blocks(bar)} " if bar.limit else ""
    chips = f" on {bar.chips}, the fullest" if len(kernel.bars) > 1 else ""
    return f"{kernel.space} {blocks}{bar.words}{chips}"


def _tightest(bars: Sequence[MemoryBar]) -> MemoryBar:
    return max(bars, key=lambda bar: bar.used / bar.limit if bar.limit else 0.0)


def _blocks(bar: MemoryBar) -> str:
    # What is used is seen, and so is what is left.
    full = round(BLOCKS * bar.used / bar.limit)
    full = min(max(full, bar.used > 0), BLOCKS - (bar.used < bar.limit))
    return FULL * full + FREE * (BLOCKS - full)


def _table(kernel: KernelMemory) -> BufferTable:
    """The buffers on the chip of the bar that is shown."""
    bar = _tightest(kernel.bars)
    if not bar.parts:
        return BufferTable("", ())
    fitting = [one for one in kernel.tables if len(one.buffers) == len(bar.parts)]
    return (fitting or list(kernel.tables))[0]


def _buffer_lines(kernel: KernelMemory, columns: int) -> Iterator[str]:
    rows: list[Row] = []
    for buffer in _table(kernel).buffers:
        whole = "" if buffer.copies == buffer.total else f" = {buffer.total}"
        rows.append((buffer.name, buffer.type, buffer.copies + whole))
    bar = _tightest(kernel.bars)
    if rows and bar.rest_words:
        rows.append(("the compiler's own", "", bar.rest_words))
    widths = [max((text_width(row[at]) for row in rows), default=0) for at in range(2)]
    for row in rows:
        column = [text + " " * (widths[at] - text_width(text)) for at, text in enumerate(row[:2])]
        line = f"  {column[0]}  {column[1]}  {row[2]}"
        fits = text_width(line) <= columns
        yield from [line] if fits else wrapped(" ".join(row), columns, "  ", "    ")
