"""The exceptions that end a checked cell."""

from __future__ import annotations

from pallas_magic.stopping import StopCell


class PallasCheckError(Exception):
    """A checked cell has errors; the card tells which, so there is no traceback to read."""

    def _render_traceback_(self) -> list[str]:
        return [f"{type(self).__name__}: {self}"]


def stops_cell(error: BaseException | None) -> bool:
    """Whether ``error`` is how the engine ends a cell early."""
    return isinstance(error, StopCell)
