"""Reports shown in the cell that is running: a card in a notebook, text in a terminal."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING, Any

from pallas_magic.ipython.fault import Faults

if TYPE_CHECKING:
    from pallas_magic.report import Report

_WIDEST = 100


class Display:
    """Shows reports in one shell."""

    def __init__(self, shell: Any, faults: Faults) -> None:
        self._shell = shell
        self._faults = faults

    @property
    def in_terminal(self) -> bool:
        """Whether what is printed stays as it is: no front end updates an output."""
        return getattr(self._shell, "kernel", None) is None

    def page(self, markdown: str) -> None:
        """Show a page: drawn in a notebook, wrapped text in a terminal."""
        from pallas_magic.render.page_text import page_text

        if self.in_terminal:
            print(page_text(markdown, width=_width(), color=_takes_color()))
            return
        from IPython.display import display

        bundle = {"text/markdown": markdown, "text/plain": page_text(markdown)}
        display(bundle, raw=True)  # type: ignore[no-untyped-call]

    def card(self, here: str | None) -> Card:
        """A card of the cell ``here``, not yet shown."""
        return TerminalCard(here) if self.in_terminal else NotebookCard(here, self._faults)


class Card:
    """One card under one cell. ``show`` may be called again with a later report."""

    def __init__(self, here: str | None) -> None:
        self.here = here

    def show(self, report: Report) -> None:
        """Show ``report`` in place of what was shown before."""
        raise NotImplementedError


class TerminalCard(Card):
    """Text, printed once: when nothing is left to prove."""

    def show(self, report: Report) -> None:
        if report.proving:
            return
        from pallas_magic.render.text import render_text

        shown = render_text(report, _width(), _takes_color(), self.here, at_prompt=True)
        print(shown)


class NotebookCard(Card):
    """A display that is updated, and the ipywidgets bar with it where there are fixes."""

    def __init__(self, here: str | None, faults: Faults) -> None:
        super().__init__(here)
        self._faults = faults
        self._display_id = os.urandom(16).hex()
        self._shown = False

    def show(self, report: Report) -> None:
        from IPython.display import display, update_display

        bundle = self._bundle(report)
        if self._shown:
            update_display(  # type: ignore[no-untyped-call]
                bundle, raw=True, display_id=self._display_id
            )
        else:
            display(  # type: ignore[no-untyped-call]
                bundle, raw=True, display_id=self._display_id
            )
        self._shown = True
        if not report.proving:
            with self._faults.kept("building the fix bar"):
                _show_fix_bar(report, self.here)

    def _bundle(self, report: Report) -> dict[str, Any]:
        from pallas_magic.render.text import render_text

        bundle: dict[str, Any] = {"text/plain": render_text(report, here=self.here)}
        with self._faults.kept("drawing the card"):
            from pallas_magic.render.html import render_html

            bundle["text/html"] = render_html(report, here=self.here)
        with self._faults.kept("drawing the card"):
            from pallas_magic.render import MIME_TYPE, payload

            bundle[MIME_TYPE] = payload(report, here=self.here)
        return bundle


def _show_fix_bar(report: Report, here: str | None) -> None:
    if not report.fixes():
        return
    try:
        import ipywidgets  # noqa: F401
    except ImportError:
        return
    from IPython.display import display

    from pallas_magic.render import MIME_TYPE
    from pallas_magic.render.widget import fix_bar

    # The empty bundle lets the notebook extension, which has buttons of its own, draw nothing.
    bar = fix_bar(report, here)
    view = {"model_id": bar.model_id, "version_major": 2, "version_minor": 0}
    display(  # type: ignore[no-untyped-call]
        {MIME_TYPE: {}, "application/vnd.jupyter.widget-view+json": view, "text/plain": ""},
        raw=True,
    )


def _width() -> int:
    return min(shutil.get_terminal_size().columns, _WIDEST)


def _takes_color() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ
