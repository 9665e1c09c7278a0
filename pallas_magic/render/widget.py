"""The card and its fixes as ipywidgets, where the notebook extension is missing.

A button here can only show: nothing on a page may change the cell outside an
execution, as the change would land in whichever cell runs next.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ipywidgets

from pallas_magic.render.card import build_card, executed_cell
from pallas_magic.render.diff import fixed_texts
from pallas_magic.render.html import diff_html, proof_html, render_html
from pallas_magic.render.html_words import inline_html
from pallas_magic.render.model import Card, CardFix
from pallas_magic.render.style import ROOT, style_sheet
from pallas_magic.report import Fix, Report

_ROWS = 24
# Not every host gives a text area the font of code.
_AREA = "pallas-magic-cell"
_CODE_AREA = f".{_AREA} textarea {{ font-family: ui-monospace, Menlo, Consolas, monospace; }}"


def widget(report: Report, here: str | None = None, progress: str = "") -> Any:
    """The whole card as one ``VBox``: its HTML, then the bar of its fixes.

    ``here`` and ``progress`` are those of :func:`pallas_magic.render.card.build_card`.
    """
    card = ipywidgets.HTML(render_html(report, here=here, progress=progress))
    return ipywidgets.VBox([card, fix_bar(report, here)])


def fix_bar(report: Report, here: str | None = None) -> Any:
    """A ``VBox`` with the diff of each fix, and a button that shows the fixed cell to copy."""
    bar = ipywidgets.VBox([])
    update_fix_bar(bar, report, here)
    return bar


def update_fix_bar(bar: Any, report: Report, here: str | None = None) -> None:
    """Make ``bar``, already displayed, that of ``report``, as when its fixes were proved."""
    here = executed_cell(report.sources) if here is None else here
    card = build_card(report, {}, here)
    shown = {fix.id: fix for diagnostic in card.diagnostics for fix in diagnostic.fixes}
    rows = [_row(shown[fix.id], fix, report, here) for fix in report.fixes() if shown[fix.id].diff]
    if combined := _combined(card, report, here):
        rows.append(combined)
    sheet = [ipywidgets.HTML(f"<style>{style_sheet()}{_CODE_AREA}</style>")] if rows else []
    bar.children = (*sheet, *rows)


def _row(shown: CardFix, fix: Fix, report: Report, here: str | None) -> Any:
    title = f"<b>Fix {fix.id}: {inline_html(shown.title)}</b>"
    about = f'<div class="fix">{title} <span>{proof_html(shown.proof)}</span></div>'
    drawn = ipywidgets.HTML(f'<div class="{ROOT} bar">{about}{diff_html(shown)}</div>')
    if here is None or not shown.insertable:
        return ipywidgets.VBox([drawn])
    text = fixed_texts(fix.edits, report.sources)[here]
    return ipywidgets.VBox([drawn, *_reveal(f"fix {fix.id}", shown.name, f" {fix.id}", text)])


def _combined(card: Card, report: Report, here: str | None) -> Any:
    together, shown = report.combined, card.combined
    if together is None or shown is None or not shown.insertable or here is None:
        return None
    texts = fixed_texts(together.edits, report.sources)
    if not texts:
        return None
    names = f"all {len(together.ids)} fixes"
    title = f"<b>All {len(together.ids)} fixes</b> <span>{proof_html(shown.proof)}</span>"
    drawn = ipywidgets.HTML(f'<div class="{ROOT} bar"><div class="fix">{title}</div></div>')
    return ipywidgets.VBox([drawn, *_reveal(names, names, "", texts[here])])


def _reveal(what: str, name: str, argument: str, text: str) -> tuple[Any, ...]:
    """A button, and the fixed cell that it shows and hides."""
    area = ipywidgets.Textarea(
        value=text,
        rows=min(_ROWS, text.count("\n") + 2),
        layout=ipywidgets.Layout(width="100%", height="auto"),
    )
    area.add_class(_AREA)
    command = ipywidgets.HTML(
        f'<div class="{ROOT} bar"><span class="dim">Copy this over the cell, or put '
        f"<code>%%pallas_check --fix{argument}</code> on top of it and run it.</span></div>"
    )
    box = ipywidgets.VBox([command, area], layout=ipywidgets.Layout(display="none"))
    button = ipywidgets.Button(
        description=f"Show the cell with {what}",
        tooltip=f"Show the cell to copy with {what}: {name}",
        layout=ipywidgets.Layout(width="auto"),
    )
    button.on_click(_toggle(box, what))
    return button, box


def _toggle(box: Any, what: str) -> Callable[[Any], None]:
    def toggle(button: Any) -> None:
        hidden = box.layout.display == "none"
        box.layout.display = "" if hidden else "none"
        button.description = f"{'Hide' if hidden else 'Show'} the cell with {what}"

    return toggle
