"""How a check ends the user's code before its end."""

from __future__ import annotations


class StopCell(BaseException):
    """Ends the checked code; its text says why in one sentence.

    Not an ``Exception``, so that no ``except Exception`` of the user's goes on
    with values that do not exist.
    """
