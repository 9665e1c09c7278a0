"""``%pallas_fix N``: the fixed cell at a terminal's next prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from IPython.core.error import UsageError

from pallas_magic.ipython.fixing import NoFix, fixed_anywhere
from pallas_magic.ipython.options import ALL

if TYPE_CHECKING:
    from pallas_magic.ipython.host import Host

_IN_NOTEBOOK = (
    "pallas_fix: in a notebook the fixed text would replace this cell, not the one that was "
    "checked. Press the button on the card, or put `%%pallas_check --fix{option}` on top of the "
    "checked cell and run it."
)


def fix_at_prompt(host: Host, line: str) -> None:
    """Put the fix that ``line`` names into its cell, and the cell at the next prompt."""
    wanted = _wanted(line.strip() or ALL)
    if not host.display.in_terminal:
        option = "" if wanted == ALL else f" {wanted}"
        raise UsageError(_IN_NOTEBOOK.format(option=option))
    if host.shown is None:
        raise UsageError("pallas_fix: nothing was checked yet")
    try:
        fixed = fixed_anywhere(host.shown.report, wanted)
    except NoFix as no:
        raise UsageError(f"pallas_fix: {no}") from None
    host.shell.set_next_input(fixed.text)
    print(fixed.said)


def _wanted(word: str) -> int | str:
    if word != ALL and not word.isdecimal():
        raise UsageError(f"pallas_fix: {word!r} is not the number of a fix; `all` means all")
    return ALL if word == ALL else int(word)
