"""What is to be compiled, and what became of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal

from pallas_magic.targets import Target

Status = Literal["ok", "failed", "crashed", "stopped", "unavailable"]


@dataclasses.dataclass(frozen=True, eq=False)
class Job:
    """One lowered kernel: a StableHLO module as MLIR bytecode.

    ``limit`` is how many seconds its compilation may take.
    """

    kernel: str
    target: Target
    module: bytes
    limit: float


@dataclasses.dataclass(frozen=True, eq=False)
class Outcome:
    """How a compilation ended.

    ``failed``: the compiler refused the kernel and ``text`` says why.
    ``crashed``: the compiler ended its own process on this kernel, twice, and
    ``text`` is what it said last. ``stopped``: the worker was lost or took too
    long, which need not be the kernel's fault; ``unavailable``: no compiler
    could be used. For both ``text`` is one sentence of ours.

    ``details`` are numbers that the compiler gave.
    """

    status: Status
    seconds: float = 0.0
    text: str = ""
    details: Mapping[str, Any] = dataclasses.field(default_factory=dict)
