"""Why something cannot be proved."""

from __future__ import annotations


class NotProvable(Exception):
    """A fix cannot be tried on what was recorded; its text says why, for the user."""
