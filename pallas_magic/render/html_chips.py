"""The chip matrix as an HTML table, its cells linked to the diagnostics below it."""

from __future__ import annotations

from collections.abc import Iterator

from pallas_magic.render.html_words import PLAIN_COLOURS, escape, inline_html
from pallas_magic.render.model import Card, ChipCell, ChipMatrix, KernelRows

SIGNS = {"ok": "✓", "failed": "✗", "skipped": "–", "waiting": "…"}  # noqa: RUF001 (a dash as wide as a sign)
_COLOURS = {"ok": PLAIN_COLOURS["ok"], "failed": PLAIN_COLOURS["error"]}


def anchor(root: str, index: int) -> str:
    """The id of a diagnostic in the card whose ids begin with ``root``, "" for no root."""
    return f"{root}-{index + 1}" if root else ""


def chips_html(card: Card, root: str) -> Iterator[str]:
    """The matrix of ``card`` with what it says of empty cells, nothing where there is none."""
    matrix = card.chips
    if matrix is None:
        return
    yield '<div class="matrix" tabindex="0"><table>'
    yield f"<caption>{escape(matrix.caption)}</caption>"
    yield from _header(matrix)
    for kernel in matrix.kernels:
        yield "<tbody>"
        yield from _rows(kernel, card, root)
        yield "</tbody>"
    yield "</table></div>"
    if matrix.reasons:
        items = "".join(f"<li>{inline_html(reason)}</li>" for reason in matrix.reasons)
        yield f'<ul class="reasons">{items}</ul>'


def _header(matrix: ChipMatrix) -> Iterator[str]:
    chips = "".join(f'<th scope="col">{escape(chip)}</th>' for chip in matrix.chips)
    yield f'<thead><tr><th scope="col">kernel</th><th scope="col">stage</th>{chips}</tr></thead>'


def _rows(kernel: KernelRows, card: Card, root: str) -> Iterator[str]:
    calls = f' <span class="dim">{escape(kernel.calls)}</span>' if kernel.calls else ""
    span = f' rowspan="{len(kernel.rows)}"' if len(kernel.rows) > 1 else ""
    name = f'<th scope="rowgroup"{span}><code>{escape(kernel.name)}</code>{calls}</th>'
    for row in kernel.rows:
        cells = "".join(_cell(cell, card, root) for cell in row.cells)
        yield f'<tr>{name}<th scope="row" class="dim">{escape(row.stage)}</th>{cells}</tr>'
        name = ""


def _cell(cell: ChipCell, card: Card, root: str) -> str:
    if cell.status == "none":
        return "<td></td>"
    links = [_link(index, card, root) for index in cell.found]
    colour = f' style="color: {_COLOURS[cell.status]}"' if cell.status in _COLOURS else ""
    sign = (
        f'<span class="{cell.status}"{colour} role="img" aria-label="{cell.status}">'
        f"{SIGNS[cell.status]}</span>"
    )
    # The sign stays with the first of the links, wherever a narrow cell wraps.
    first = f'<span class="first">{" ".join([sign, *links[:1]])}</span>'
    return f'<td title="{escape(cell.about)}">{" ".join([first, *links[1:]])}</td>'


def _link(index: int, card: Card, root: str) -> str:
    shown = card.diagnostics[index]
    severity = escape(shown.severity)
    return f'<a class="{severity}" href="#{anchor(root, index)}">{escape(shown.reference)}</a>'
