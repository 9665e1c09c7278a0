"""What pip and uv say while they install, in our words."""

from __future__ import annotations

import platform
import re
import tempfile
from collections.abc import Sequence

_PROGRESS = re.compile(r"Progress (\d+) of (\d+)")
_DOWNLOAD = re.compile(r"Downloading (\S+?)(?:-[^-\s]+\.whl)?\s*\(")
_UNPACKING = re.compile(r"Installing collected packages|^Prepared \d+ package")
_TRYING_AGAIN = re.compile(r"^WARNING: Retrying")
_UNREACHED = re.compile(
    r"connection broken|failed to fetch|dns error|tcp connect error|error sending request"
    r"|name or service not known|name resolution|timed out|max retries exceeded",
    re.IGNORECASE,
)
_FULL = re.compile(r"No space left on device|os error 28|Disk quota exceeded")
_NO_WHEEL = re.compile(
    r"No matching distribution found for (\S+)|no wheels? with a matching|No solution"
)
_NOISE = re.compile(r"^\s*(?:WARNING:|Progress \d|Downloading |Collecting |Looking in |$)")
# Wide enough to cover what a longer line has left behind.
_COVERING = 40
_LINES_TOLD = 5


def shown_of(line: str) -> str:
    """What of an installer's line is worth showing, "" where nothing is."""
    if found := _PROGRESS.search(line):
        done, total = int(found[1]), int(found[2])
        return _passing(f"{megabytes(done)} of {megabytes(total)}") if total > 1_000_000 else ""
    if _UNPACKING.search(line):
        return _passing("unpacking")
    if _TRYING_AGAIN.search(line):
        return _passing("no answer, trying again")
    return f"  {line.strip()}" if _DOWNLOAD.search(line) else ""


def _passing(text: str) -> str:
    """A line that the next one is written over."""
    return f"  {text}".ljust(_COVERING) + "\r"


def why_failed(said: Sequence[str]) -> str:
    """Why an installer failed, from all that it said."""
    whole = "\n".join(said)
    if _FULL.search(whole):
        return (
            f"no space is left on the disk, there or for temporary files in {tempfile.gettempdir()}"
        )
    if _UNREACHED.search(whole):
        return "the package index cannot be reached"
    if _NO_WHEEL.search(whole):
        machine = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
        return f"no package there fits this machine ({machine})\n{_last(said)}"
    return _last(said)


def _last(said: Sequence[str]) -> str:
    kept = [line for line in said if not _NOISE.match(line)]
    return "\n".join(kept[-_LINES_TOLD:]) or "the installer failed and said nothing"


def megabytes(size: int) -> str:
    """ "214 MB"."""
    return f"{size / 1_000_000:,.0f} MB"
