"""``check()`` and the way through the house: capture, lower, rules, prove, Report.

The public entry is :func:`check`. Hosts that run the user's code themselves
open a :class:`Watch` around it; a host that only has an exception asks
:func:`explain`.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from pallas_magic.findings import Findings, collect
from pallas_magic.report import Report
from pallas_magic.source.document import Library
from pallas_magic.targets import Target, parse_targets

if TYPE_CHECKING:
    from pallas_magic.bridge.capture import Call, Recorder

Compile = Literal["auto"] | bool


class CompilerMissing(RuntimeError):
    """The compile stage was asked for and no compiler can be run."""


class StopCell(BaseException):
    """Ends the user's code early; not an ``Exception``, so that nothing swallows it."""
