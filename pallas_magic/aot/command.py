"""``compilers install tpu``: the command line and the magic, in one."""

from __future__ import annotations

from collections.abc import Sequence

from pallas_magic.aot.compilers import compilers_folder, find_compiler, install_line
from pallas_magic.aot.install import InstallFailed, Say, install, remove
from pallas_magic.targets import FAMILIES, Family

USAGE = """\
compilers                      which compilers there are
compilers install tpu [gpu]    install them where only pallas_magic's processes see them
compilers remove tpu [gpu]     take them away again"""


NOT_DONE = 3
INTERRUPTED = 130
_UNDONE = {"install": "Nothing was installed", "remove": "Not all of it was removed"}


def run_command(words: Sequence[str], say: Say) -> int:
    """Do what ``words`` (what stands after ``compilers``) ask for.

    0 if it was done; :data:`NOT_DONE` where this machine, its network or its
    disk would not have it; 2 for words that ask for nothing.
    """
    if not words:
        for family in FAMILIES:
            say(_status(family))
        return 0
    action = {"install": install, "remove": remove}.get(words[0])
    families = [family for family in FAMILIES if family in words[1:]]
    if action is None or not families or len(families) < len(words[1:]):
        say(USAGE)
        return 2
    try:
        for family in families:
            action(family, say)
    except InstallFailed as error:
        say(f"{_UNDONE[words[0]]}: {error}")
        return NOT_DONE
    except KeyboardInterrupt:
        say(f"{_UNDONE[words[0]]}: interrupted")
        return INTERRUPTED
    return 0


def _status(family: Family) -> str:
    compiler = find_compiler(family)
    if compiler is None:
        return f"{family}: none; `{install_line(family)}` gets it"
    where = "this environment" if compiler.folder is None else str(compilers_folder(family))
    unfit = f" ({compiler.unfit})" if compiler.unfit else ""
    return f"{family}: {compiler.title} in {where}{unfit}"
