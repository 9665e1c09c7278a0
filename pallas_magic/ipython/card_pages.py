"""Which pages draw cards with buttons of their own, and so need no ipywidgets.

The notebook extension says so when it draws its first card of a kernel: it opens
a comm of the target ``pallas_magic.page``, which is closed at once. The client of
a message is known by the session in its header.
"""

from __future__ import annotations

import contextlib
from typing import Any

TARGET = "pallas_magic.page"


class CardPages:
    """The pages that draw the cards of one shell."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._manager = getattr(getattr(shell, "kernel", None), "comm_manager", None)
        self._clients: set[str] = set()

    def install(self) -> None:
        if self._manager is not None:
            self._manager.register_target(TARGET, self.opened)

    def remove(self) -> None:
        if self._manager is not None:
            with contextlib.suppress(KeyError):  # someone took it out already
                self._manager.unregister_target(TARGET, self.opened)
        self._clients.clear()

    def opened(self, comm: Any, message: Any) -> None:
        """Note the client of ``message``."""
        if client := _client(message):
            self._clients.add(client)
        comm.close()

    def draws(self) -> bool:
        """Whether the page that the running cell came from draws the card itself."""
        message = self._shell.get_parent() if hasattr(self._shell, "get_parent") else None
        return _client(message) in self._clients


def _client(message: Any) -> str:
    header = message.get("header") if isinstance(message, dict) else None
    found = header.get("session") if isinstance(header, dict) else None
    return found if isinstance(found, str) else ""
