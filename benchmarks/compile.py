"""What a compilation in a worker costs beside the same compilation in one process.

    python -m benchmarks.compile

Needs `python -m pallas_magic compilers install tpu`. The bare side is a process
that loads the compiler itself and times each compilation; the other side hands
the lowered kernel to a warm worker, its serialization included. Both run in
turn on the same kernels, those that take over 100 ms. Then the time of a cold
start: how long until a lowered kernel is on screen, and until it is compiled;
and one run over every TPU. Exits 1 where a ratio is over the limit.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Any, cast

import jax

from benchmarks.subjects import Subject, subjects
from pallas_magic.aot.compilers import find_compiler, install_line, worker_environment
from pallas_magic.aot.outcome import Job
from pallas_magic.aot.pool import Pool
from pallas_magic.aot.wire import receive, send
from pallas_magic.bridge.capture import Recorder
from pallas_magic.bridge.devices import target_mesh
from pallas_magic.bridge.export import module_bytes
from pallas_magic.bridge.lowering import Lowered, lower
from pallas_magic.engine import Watch
from pallas_magic.targets import default_target

LIMIT = 1.3
SHORTEST = 0.1
ROUNDS = 9
SECONDS = 300.0
TARGET = default_target("tpu")
ROOT = Path(__file__).parent.parent
BARE_SIDE = """
import sys, time
sys.path += sys.argv[1:]
from pallas_magic.aot.wire import receive, send
from pallas_magic.bridge.compiling import compile_module
from pallas_magic.targets import default_target

while (message := receive(sys.stdin.buffer)) is not None:
    started = time.perf_counter()
    compile_module(message[1], default_target("tpu"))
    send(sys.stdout.buffer, {"seconds": time.perf_counter() - started})
"""


class BareSide:
    """A process that compiles by itself, which this one must not."""

    def __init__(self) -> None:
        compiler = find_compiler("tpu")
        assert compiler is not None
        search = [str(ROOT), *([str(compiler.folder)] if compiler.folder else [])]
        self._process = subprocess.Popen(
            [sys.executable, "-c", BARE_SIDE, *search],
            env=worker_environment(compiler, os.environ),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def seconds(self, module: bytes) -> float:
        send(cast(Any, self._process.stdin), {}, module)
        reply = receive(cast(Any, self._process.stdout))
        if reply is None:
            raise RuntimeError("the bare side ended")
        return float(reply[0]["seconds"])

    def close(self) -> None:
        cast(IO[bytes], self._process.stdin).close()
        self._process.wait()


def lowered_kernels(subject: Subject) -> list[Lowered]:
    """The kernels that a subject calls, lowered."""
    function, arguments = subject
    recorder = Recorder()
    with recorder.installed(), target_mesh(TARGET):
        jax.eval_shape(function, *arguments)
    return [lower(call, TARGET) for call in recorder.calls]


def worker_seconds(pool: Pool, name: str, lowered: Lowered) -> float:
    """From a lowered kernel to what became of it."""
    started = time.perf_counter()
    (outcome,) = pool.run([Job(name, TARGET, module_bytes(lowered), SECONDS)])
    if outcome.status != "ok":
        raise RuntimeError(f"{name}: {outcome.text}")
    return time.perf_counter() - started


def measured(pool: Pool, bare: BareSide, name: str, lowered: Lowered) -> tuple[float, float]:
    """Median seconds of the bare side, and the median ratio of the two."""
    module = module_bytes(lowered)
    bare.seconds(module)
    worker_seconds(pool, name, lowered)
    pairs = [(bare.seconds(module), worker_seconds(pool, name, lowered)) for _ in range(ROUNDS)]
    ratio = statistics.median(worker / alone for alone, worker in pairs)
    return statistics.median(alone for alone, _ in pairs), ratio


def cold_start(subject: Subject) -> tuple[float, float]:
    """Seconds until a check without a worker has lowered, and until it has compiled too."""
    function, arguments = subject
    started = time.perf_counter()
    with Watch(TARGET.name, execute=False) as watch:
        jax.eval_shape(function, *arguments)
    watch.report()
    on_screen = time.perf_counter() - started
    report = watch.compile()
    if any(kernel.stages["compile"].status != "ok" for kernel in report.kernels):
        raise RuntimeError("the subject of this benchmark does not compile")
    return on_screen, time.perf_counter() - started


def every_chip(subject: Subject) -> float:
    """Seconds of a check for all TPUs through warm workers."""
    import pallas_magic

    function, arguments = subject
    started = time.perf_counter()
    pallas_magic.check(function, *arguments, target="tpu:all", verify=False)
    return time.perf_counter() - started


def main() -> int:
    if find_compiler("tpu") is None:
        print(f"no compiler: `{install_line('tpu')}`")
        return 0
    kernels = subjects()
    attention = kernels["flash attention"]
    on_screen, compiled = cold_start(attention)
    print(f"cold: lowered after {on_screen:.2f} s, compiled after {compiled:.2f} s")
    print(f"flash attention on every TPU, warm: {every_chip(attention):.2f} s")
    pool, bare = Pool(), BareSide()
    try:
        return int(any(_over(pool, bare, name, subject) for name, subject in kernels.items()))
    finally:
        bare.close()
        pool.close()


def _over(pool: Pool, bare: BareSide, name: str, subject: Subject) -> bool:
    over = False
    for lowered in lowered_kernels(subject):
        alone, ratio = measured(pool, bare, name, lowered)
        counts = alone >= SHORTEST
        limit = f"limit {LIMIT}" if counts else "too short to count"
        print(f"{name}: {alone * 1e3:.0f} ms alone, {ratio:.2f} times that by a worker, {limit}")
        over = over or (counts and ratio > LIMIT)
    return over


if __name__ == "__main__":
    sys.exit(main())
