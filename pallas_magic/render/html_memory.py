"""On-chip memory as HTML: a bar for each chip, and the buffers that it is made of."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

from pallas_magic.render.html_words import escape
from pallas_magic.render.model import BufferTable, CardMemory, KernelMemory, MemoryBar

WIDTH, HEIGHT = 200, 12
TIGHT = 0.9
# An image knows nothing of the page's theme; these read on white and near-black alike.
_FREE = "#80868e"
_BUFFERS = ("#2f7fd8", "#5b9be3")
_REST = "#8f7bd0"
_TIGHT = "#c77d0a"


def memory_html(memory: CardMemory | None) -> Iterator[str]:
    """``memory``, folded under its gist."""
    if memory is None:
        return
    gist = f' <span class="dim">· {escape(memory.gist)}</span>' if memory.gist else ""
    yield f'<details class="more memory"><summary>On-chip memory{gist}</summary>'
    for kernel in memory.kernels:
        yield from _kernel(kernel)
    yield "</details>"


def _kernel(kernel: KernelMemory) -> Iterator[str]:
    calls = f" {escape(kernel.calls)}" if kernel.calls else ""
    name = f"<code>{escape(kernel.kernel)}</code>{calls}"
    yield '<div class="scrolled" tabindex="0"><table class="bars">'
    yield f"<caption>{name} · {escape(kernel.space)}</caption>"
    for bar in kernel.bars:
        yield f'<tr><th scope="row">{escape(bar.chips)}</th>{_cells(bar, kernel)}</tr>'
    yield "</table></div>"
    for table in kernel.tables:
        yield from _table(table)


def _cells(bar: MemoryBar, kernel: KernelMemory) -> str:
    rest = ""
    if bar.rest_words:
        rest = f'<td class="dim">{escape(bar.rest_words)} of it is the compiler\'s own</td>'
    image = _image(bar, kernel) if bar.limit else ""
    return f"<td>{escape(bar.words)}</td><td>{image}</td>{rest}"


def _image(bar: MemoryBar, kernel: KernelMemory) -> str:
    said = f"{kernel.space} on {bar.chips}: {bar.words}"
    source = "data:image/svg+xml," + quote(bar_svg(bar))
    return f'<img src="{source}" alt="{escape(said)}" width="{WIDTH}" height="{HEIGHT}">'


def bar_svg(bar: MemoryBar) -> str:
    """``bar`` drawn to scale; no text of the user's goes into it."""
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    shapes = [_rectangle(0, WIDTH, _FREE, ' fill-opacity="0.28"')]
    start = 0
    for index, part in enumerate((*bar.parts, bar.rest)):
        own = index == len(bar.parts) and bar.parts
        colour = _REST if own else _BUFFERS[index % len(_BUFFERS)]
        if bar.used > TIGHT * bar.limit and not own:
            colour = _TIGHT
        shapes.append(_rectangle(_at(start, bar), _at(start + part, bar), colour))
        start += part
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{"".join(shapes)}</svg>'


def _at(amount: int, bar: MemoryBar) -> float:
    # What is used is seen, however little of a large memory it is.
    scale = max(bar.used, bar.limit)
    return round(max(amount / scale, 0.01 * amount / max(bar.used, 1)) * WIDTH, 2)


def _rectangle(start: float, end: float, colour: str, more: str = "") -> str:
    width = round(end - start, 2)
    if width <= 0:
        return ""
    return f'<rect x="{start:g}" width="{width:g}" height="{HEIGHT}" fill="{colour}"{more}/>'


def _table(table: BufferTable) -> Iterator[str]:
    caption = f"buffers on {table.chips}" if table.chips else "buffers"
    yield '<div class="scrolled" tabindex="0"><table class="buffers">'
    yield f"<caption>{escape(caption)}</caption>"
    heads = "".join(f'<th scope="col">{name}</th>' for name in ("buffer", "type", "size", "in all"))
    yield f"<thead><tr>{heads}</tr></thead><tbody>"
    for buffer in table.buffers:
        cells = "".join(f"<td>{escape(text)}</td>" for text in (buffer.copies, buffer.total))
        kind = f"<td><code>{escape(buffer.type)}</code></td>"
        yield f'<tr><th scope="row"><code>{escape(buffer.name)}</code></th>{kind}{cells}</tr>'
    yield "</tbody></table></div>"
