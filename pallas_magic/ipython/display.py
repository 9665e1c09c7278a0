"""Reports shown in the cell that is running: a card in a notebook, text in a terminal."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING, Any

from pallas_magic.ipython.card_pages import CardPages
from pallas_magic.ipython.fault import Faults
from pallas_magic.ipython.fix_bars import FixBars
from pallas_magic.ipython.waiting import WaitingLine

if TYPE_CHECKING:
    from pallas_magic.report import Report

_WIDEST = 100


class Display:
    """Shows reports in one shell."""

    def __init__(self, shell: Any, faults: Faults, pages: CardPages) -> None:
        self._shell = shell
        self._faults = faults
        self._bars = FixBars(shell, pages)

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
        if self.in_terminal:
            return TerminalCard(here)
        return NotebookCard(here, self._faults, self._bars)


class Card:
    """One card under one cell. ``show`` may be called again with a later report."""

    def __init__(self, here: str | None) -> None:
        self.here = here

    def show(self, report: Report, progress: str = "") -> None:
        """Show ``report`` in place of what was shown before; ``progress`` is what is going on."""
        raise NotImplementedError


class TerminalCard(Card):
    """Text, printed once nothing is left to do; what is going on stands in its place till then."""

    def __init__(self, here: str | None) -> None:
        super().__init__(here)
        self._waiting = WaitingLine()

    def show(self, report: Report, progress: str = "") -> None:
        from pallas_magic.render.text import render_text

        if report.proving:
            self._waiting.say(progress or "proving")
            return
        self._waiting.end()
        encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
        shown = render_text(report, _width(), _takes_color(), self.here, True, encoding)
        print(shown)


class NotebookCard(Card):
    """A display that is updated, and the ipywidgets bar with it where there are fixes."""

    def __init__(self, here: str | None, faults: Faults, bars: FixBars) -> None:
        super().__init__(here)
        self._faults = faults
        self._bars = bars
        self._display_id = os.urandom(16).hex()
        self._shown = False

    def show(self, report: Report, progress: str = "") -> None:
        from IPython.display import display, update_display

        bundle = self._bundle(report, progress)
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
                self._bars.show(report, self.here)

    def _bundle(self, report: Report, progress: str) -> dict[str, Any]:
        from pallas_magic.render.text import render_text

        bundle: dict[str, Any] = {"text/plain": render_text(report, here=self.here)}
        with self._faults.kept("drawing the card"):
            from pallas_magic.render.html import render_html

            bundle["text/html"] = render_html(report, here=self.here, progress=progress)
        with self._faults.kept("drawing the card"):
            from pallas_magic.render import MIME_TYPE, payload

            bundle[MIME_TYPE] = payload(report, here=self.here, progress=progress)
        return bundle


def _width() -> int:
    return min(shutil.get_terminal_size().columns, _WIDEST)


def _takes_color() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ
