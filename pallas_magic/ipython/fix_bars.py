"""The ipywidgets bars under cards: those of a cell end when the cell runs again.

Widgets live on in the kernel and in the page until they are closed, also when
the output that they stood in is long gone. A page that draws cards itself gets none,
and a run that nobody watches: saved or exported, its buttons would be dead.
"""

from __future__ import annotations

from typing import Any

from pallas_magic.ipython.card_pages import CardPages
from pallas_magic.report import Report


class FixBars:
    """The bars that are shown in one shell."""

    def __init__(self, shell: Any, pages: CardPages) -> None:
        self._shell = shell
        self._pages = pages
        self._open: dict[str, tuple[str, list[Any]]] = {}

    def show(self, report: Report, here: str | None) -> None:
        """Show the bar of ``report``'s fixes, if it has any and there are ipywidgets."""
        cell, run = self._running()
        self._end_earlier(cell, run)
        if not report.fixes() or self._pages.draws() or not self._watched():
            return
        try:
            import ipywidgets  # noqa: F401
        except ImportError:
            return
        from IPython.display import display

        from pallas_magic.render import MIME_TYPE
        from pallas_magic.render.widget import fix_bar

        # The empty bundle lets the notebook extension, which has its own buttons, draw nothing.
        bar = fix_bar(report, here)
        if cell:
            self._open.setdefault(cell, (run, []))[1].append(bar)
        view = {"model_id": bar.model_id, "version_major": 2, "version_minor": 0}
        display(  # type: ignore[no-untyped-call]
            {MIME_TYPE: {}, "application/vnd.jupyter.widget-view+json": view, "text/plain": ""},
            raw=True,
        )

    def _end_earlier(self, cell: str, run: str) -> None:
        if cell in self._open and self._open[cell][0] != run:
            for bar in self._open.pop(cell)[1]:
                _close(bar)

    def _watched(self) -> bool:
        """Whether somebody could press a button: what runs notebooks unattended takes no input."""
        return self._message().get("content", {}).get("allow_stdin") is not False

    def _running(self) -> tuple[str, str]:
        """The ids of the cell that runs and of its run; "" where a front end names no cell."""
        message = self._message()
        cell = message.get("metadata", {}).get("cellId")
        run = message.get("header", {}).get("msg_id")
        return (cell, run) if isinstance(cell, str) and isinstance(run, str) else ("", "")

    def _message(self) -> dict[str, Any]:
        """The request that runs, empty where there is none."""
        message = self._shell.get_parent() if hasattr(self._shell, "get_parent") else None
        return message or {}


def _close(widget: Any) -> None:
    """Close ``widget`` with all that it is made of."""
    for child in getattr(widget, "children", ()):
        _close(child)
    for part in ("layout", "style"):
        if (found := getattr(widget, part, None)) is not None:
            found.close()
    widget.close()
