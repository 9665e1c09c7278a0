"""What a check costs beside JAX's own tracing and lowering of the same kernels.

    python -m benchmarks.check_overhead

Both sides run in one process, in turn, warmed up, with JAX's caches cleared
before each run: otherwise the bare side would find the trace of the run before
and measure half of its work. Processor time is what counts, so that other
programs do not. Exits 1 where a ratio is over the limit.
"""

from __future__ import annotations

import gc
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import jax

import pallas_magic
from benchmarks.subjects import Subject, subjects
from pallas_magic.bridge.devices import target_mesh
from pallas_magic.targets import default_target

LIMIT = 1.15
WARM_UPS = 2
ROUNDS = 15
TARGET = default_target("tpu")


def bare(function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """Trace and lower as by hand; a new function, for JAX remembers those it lowered."""
    with target_mesh(TARGET):
        jax.jit(lambda *operands: function(*operands)).trace(*arguments).lower(
            lowering_platforms=(TARGET.platform,)
        )


def checked(function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """The same by way of the check, which must find a clean kernel."""
    report = pallas_magic.check(
        function, *arguments, target=TARGET.name, verify=False, compile=False
    )
    if not report.ok or not report.kernels:
        raise RuntimeError("the subject of this benchmark is not clean")


def seconds(side: Callable[..., None], subject: Subject) -> float:
    """One run of ``side``, as cold as its first."""
    jax.clear_caches()  # type: ignore[no-untyped-call]
    gc.collect()
    started = time.process_time()
    side(*subject)
    return time.process_time() - started


def measured(subject: Subject) -> tuple[float, float, float]:
    """Median seconds of the bare side and of the check, and the median of their ratios."""
    for _ in range(WARM_UPS):
        seconds(bare, subject)
        seconds(checked, subject)
    pairs = [(seconds(bare, subject), seconds(checked, subject)) for _ in range(ROUNDS)]
    ratio = statistics.median(ours / plain for plain, ours in pairs)
    plain, ours = (statistics.median(side) for side in zip(*pairs, strict=True))
    return plain, ours, ratio


def main() -> int:
    print(f"JAX {jax.__version__}, {TARGET.title}, medians of {ROUNDS}")
    worst = 0.0
    for name, subject in subjects().items():
        plain, ours, ratio = measured(subject)
        worst = max(worst, ratio)
        print(
            f"{name:24} trace + lower {plain * 1e3:6.1f} ms   check {ours * 1e3:6.1f} ms"
            f"   ratio {ratio:.2f}"
        )
    print(f"worst ratio {worst:.2f}, limit {LIMIT}")
    return int(worst > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
