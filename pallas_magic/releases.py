"""Which JAX releases the tests run on, and what is said of a newer one."""

from __future__ import annotations

import re
from importlib import metadata

TESTED_JAX = ("0.10.2", "0.11.2", "0.12.0.1")


def newer_than_tested(installed: str) -> str:
    """What to say of JAX ``installed``, empty unless it is newer than every tested release."""
    newest = max(TESTED_JAX, key=_numbers)
    if _numbers(installed) <= _numbers(newest):
        return ""
    return (
        f"JAX {installed} is newer than the releases pallas_magic was tested with, the last"
        f" being {newest}: it works as far as it can"
    )


class _Said:
    """Whether this process has been told."""

    once = False


def say_once() -> str:
    """:func:`newer_than_tested` of the installed JAX, the first time that it is asked for."""
    if _Said.once:
        return ""
    _Said.once = True
    return newer_than_tested(metadata.version("jax"))


def _numbers(version: str) -> tuple[int, ...]:
    """The release of ``version``; what follows it in a pre-release or a build does not count."""
    found = re.match(r"\d+(\.\d+)*", version)
    return tuple(map(int, found[0].split("."))) if found else ()
