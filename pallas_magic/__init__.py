"""Checks JAX Pallas kernels in notebooks, and mends them, with no accelerator at hand.

``%load_ext pallas_magic`` brings the magics; :func:`check` is the same from
Python. Everything is imported when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from pallas_magic.engine import check
    from pallas_magic.render.widget import widget
    from pallas_magic.report import Diagnostic, Fix, KernelReport, Report, Span

__version__ = "0.1.0"
__all__ = [
    "Diagnostic",
    "Fix",
    "KernelReport",
    "Report",
    "Span",
    "check",
    "load_ipython_extension",
    "unload_ipython_extension",
    "widget",
]

_HOMES = {
    "Diagnostic": "pallas_magic.report",
    "Fix": "pallas_magic.report",
    "KernelReport": "pallas_magic.report",
    "Report": "pallas_magic.report",
    "Span": "pallas_magic.report",
    "check": "pallas_magic.engine",
    "widget": "pallas_magic.render.widget",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})


def load_ipython_extension(ipython: InteractiveShell) -> None:
    """What ``%load_ext pallas_magic`` calls."""
    from pallas_magic.ipython.extension import load

    load(ipython)


def unload_ipython_extension(ipython: InteractiveShell) -> None:
    """What ``%unload_ext pallas_magic`` calls."""
    from pallas_magic.ipython.extension import unload

    unload(ipython)
