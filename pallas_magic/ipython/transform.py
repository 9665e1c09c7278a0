"""The input transformer behind ``%%pallas_check``: a pure function of the cell's text.

The magic's line becomes a call that arms the check, on the same line, and the
rest of the cell stays as it is; so ``await``, displayed values, ``_`` and
``from __future__`` work as without the magic. A transformer that armed the
check itself would leak into the next cell, for IPython transforms text that it
does not run.
"""

from __future__ import annotations

import re

from IPython.core.inputtransformer2 import cell_magic

MAGIC_LINE = re.compile(r"%%pallas_check(?:[ \t]+(?P<options>.*))?$")


def arm_check(lines: list[str]) -> list[str]:
    """Replace a leading ``%%pallas_check`` line; a cell magic below it runs under the check."""
    match = MAGIC_LINE.match(lines[0].rstrip()) if lines else None
    if match is None:
        return lines
    options = (match["options"] or "").strip()
    first = f"get_ipython().run_line_magic('pallas_check_begin', {options!r})\n"
    return [first, *_expand_cell_magic(lines[1:])]


def _expand_cell_magic(lines: list[str]) -> list[str]:
    blank = next((n for n, line in enumerate(lines) if line.strip()), len(lines))
    if not "".join(lines[blank : blank + 1]).startswith("%%"):
        return lines
    return [*lines[:blank], *cell_magic(arm_check(lines[blank:]))]  # type: ignore[no-untyped-call]


# Without this a terminal would call the cell complete after its first line.
arm_check.has_side_effects = True  # type: ignore[attr-defined]
