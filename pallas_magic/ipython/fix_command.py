"""``%pallas_fix N``: a fix at a terminal's next prompt, or written to the file it is in."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from IPython.core.error import StdinNotImplementedError, UsageError

from pallas_magic.ipython.fixing import FixedFiles, NoFix, fixed_anywhere, fixed_files
from pallas_magic.ipython.options import ALL
from pallas_magic.render.characters import shown_text

if TYPE_CHECKING:
    from pallas_magic.ipython.host import Host

_IN_NOTEBOOK = (
    "pallas_fix: in a notebook the fixed text would replace this cell, not the one that was "
    "checked. Press the button on the card, or put `%%pallas_check --fix{option}` on top of the "
    "checked cell and run it."
)
_YES = "--yes"


def fix_at_prompt(host: Host, line: str) -> None:
    """Make the fix that ``line`` names: in a file, or in its cell at the next prompt."""
    words = line.split()
    asks = _YES not in words
    wanted = _wanted(" ".join(word for word in words if word != _YES) or ALL)
    option = "" if wanted == ALL else f" {wanted}"
    if host.shown is None:
        if host.display.in_terminal:
            raise UsageError("pallas_fix: nothing was checked yet")
        raise UsageError(_IN_NOTEBOOK.format(option=option))
    report = host.shown.report
    try:
        files = fixed_files(report, wanted)
        if files is not None:
            _write(host, files, asks)
            return
        if not host.display.in_terminal:
            raise UsageError(_IN_NOTEBOOK.format(option=option))
        fixed = fixed_anywhere(report, wanted)
    except NoFix as no:
        raise UsageError(f"pallas_fix: {no}") from None
    host.shell.set_next_input(fixed.text)
    print(fixed.said)


def _wanted(word: str) -> int | str:
    if word != ALL and not word.isdecimal():
        raise UsageError(f"pallas_fix: {word!r} is not the number of a fix; `all` means all")
    return ALL if word == ALL else int(word)


def _write(host: Host, fix: FixedFiles, asks: bool) -> None:
    """Write the files of ``fix``, once its reader has seen what changes and agreed."""
    from pallas_magic.ipython.file_fixes import NotWritten, edits_by_file

    labels = " and ".join(source.label for source in fix.sources.values())
    if asks:
        print(_difference(fix))
        if not _agrees(f"Write {labels} with {fix.name}{fix.proved}? [y/N] "):
            print("Nothing was written.")
            return
    texts = {key: source.text for key, source in fix.sources.items()}
    try:
        host.files.write(edits_by_file(fix.edits, texts))
    except NotWritten as no:
        raise NoFix(f"nothing was written: {no}") from None
    print(f"Wrote {labels} with {fix.name}{fix.proved}. Reload the module to use it.")


def _agrees(question: str) -> bool:
    try:
        return input(question).strip().lower() in ("y", "yes")
    except (EOFError, StdinNotImplementedError):
        raise NoFix(
            f"nothing was written: nobody can be asked here; `{_YES}` does not ask"
        ) from None


def _difference(fix: FixedFiles) -> str:
    lines: list[str] = []
    for key, source in fix.sources.items():
        before, after = source.text.splitlines(), fix.texts[key].splitlines()
        lines += difflib.unified_diff(before, after, source.label, source.label, lineterm="")
    return "\n".join(shown_text(line) for line in lines)
