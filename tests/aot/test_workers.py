"""Compilers in processes of their own: kept, replaced, and never left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import wait
from pathlib import Path

import pytest

from pallas_magic.aot.outcome import Job
from pallas_magic.aot.pool import Pool
from pallas_magic.aot.process import Worker
from tests.aot.kernels import BUSY, SECONDS, add_one, halves, job, many_tiles

pytestmark = pytest.mark.tpu_compiler

SOON = 20.0


@pytest.fixture
def pool() -> Iterator[Pool]:
    made = Pool()
    yield made
    made.close()


def busy_job(limit: float = SECONDS) -> Job:
    return job(many_tiles, shape=BUSY, limit=limit)


def worker_of(pool: Pool) -> Worker:
    (worker,) = pool._workers.values()
    return worker


def once_busy(pool: Pool, act: object) -> threading.Thread:
    """Call ``act`` with the worker once it is compiling, in the background."""

    def watch() -> None:
        while not pool._workers or not worker_of(pool)._pending:
            time.sleep(0.01)
        worker = worker_of(pool)
        wait([began for _, began in worker._pending.values()], timeout=SECONDS)
        assert callable(act)
        act(worker)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    return thread


def ended(process: int) -> bool:
    """Whether a process that is no child of ours is gone within a few seconds."""
    deadline = time.monotonic() + SOON
    while time.monotonic() < deadline:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        if Path(f"/proc/{process}/stat").read_text().split()[2] == "Z":
            return True
        time.sleep(0.05)
    return False


def test_one_worker_takes_every_tpu_and_is_kept(pool: Pool) -> None:
    chips = ("tpu:v4", "tpu:v5e", "tpu:v5p", "tpu:v6e", "tpu:v7x")
    outcomes = pool.run([job(add_one, chip) for chip in chips])
    assert [outcome.status for outcome in outcomes] == ["ok"] * 5
    first = worker_of(pool).identifier
    assert pool.run([job(add_one)])[0].status == "ok"
    assert worker_of(pool).identifier == first


def test_what_the_compiler_refuses_costs_no_worker(pool: Pool) -> None:
    good, bad = pool.run([job(add_one), job(halves, shape=(16, 128))])
    assert (good.status, bad.status) == ("ok", "failed")
    assert "loc(" in bad.text
    assert worker_of(pool).alive


def test_progress_is_told(pool: Pool) -> None:
    told: list[tuple[int, int]] = []
    pool.run([job(add_one), job(add_one, "tpu:v4")], lambda *done: told.append(done))
    assert told[-1] == (2, 2)
    assert told == sorted(told)


def test_a_job_over_its_limit_is_stopped_and_the_next_one_works(pool: Pool) -> None:
    pool.run([job(add_one)])
    started = time.monotonic()
    late, quick = pool.run([busy_job(limit=1.0), job(add_one, "tpu:v4")])
    assert time.monotonic() - started < SOON
    assert (late.status, late.text) == ("stopped", "compiling it takes more than 1 s")
    assert quick.status == "ok"
    assert pool.run([job(add_one)])[0].status == "ok"


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGABRT])
def test_a_worker_that_is_ended_once_is_replaced(pool: Pool, how: signal.Signals) -> None:
    pool.run([job(add_one)])
    first = worker_of(pool)
    os.kill(first.identifier, how)
    first._listening.join(SOON)
    assert not first.alive
    assert pool.run([job(add_one)])[0].status == "ok"
    assert worker_of(pool) is not first


def test_a_worker_that_is_killed_each_time_is_said_to_be(pool: Pool) -> None:
    def kill(worker: Worker) -> None:
        os.kill(worker.identifier, signal.SIGKILL)
        worker._listening.join(SOON)
        once_busy(pool, lambda again: os.kill(again.identifier, signal.SIGKILL))

    once_busy(pool, kill)
    (outcome,) = pool.run([busy_job()])
    assert (outcome.status, outcome.text) == (
        "stopped",
        "the compiler's process was killed (SIGKILL)",
    )
    assert pool.run([job(add_one)])[0].status == "ok"


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Python's own answer to Ctrl-C, which a process that was begun in the background has not."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_stops_the_compiler_at_once(pool: Pool) -> None:
    pool.run([job(add_one)])
    moments: list[float] = []

    def interrupt(worker: Worker) -> None:
        moments.append(time.monotonic())
        signal.raise_signal(signal.SIGINT)

    thread = once_busy(pool, interrupt)
    with pytest.raises(KeyboardInterrupt):
        pool.run([busy_job()])
    thread.join(SOON)
    assert time.monotonic() - moments[0] < 5
    assert not worker_of(pool).alive
    assert pool.run([job(add_one)])[0].status == "ok"


_OWNER = """
import signal, sys
from pallas_magic.aot.pool import pool
from tests.aot.kernels import add_one, job

def main():
    assert pool().run([job(add_one)])[0].status == "ok"
    (worker,) = pool()._workers.values()
    print(worker.identifier, flush=True)
    sys.stdin.readline()

if __name__ == "__main__":
    main()
"""


def start_owner() -> tuple[subprocess.Popen[str], int]:
    """A process that has compiled, and the number of its worker."""
    owner = subprocess.Popen(
        [sys.executable, "-c", _OWNER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert owner.stdout is not None
    return owner, int(owner.stdout.readline())


@pytest.mark.parametrize("how", ["killed", "left"])
def test_a_worker_ends_with_its_owner(how: str) -> None:
    owner, worker = start_owner()
    if how == "killed":
        owner.kill()
    owner.communicate(timeout=SOON)
    assert ended(worker)


def test_two_processes_compile_at_once() -> None:
    owners = [start_owner(), start_owner()]
    for owner, _ in owners:
        owner.communicate(timeout=SOON)
    assert [owner.returncode for owner, _ in owners] == [0, 0]
    assert all(ended(worker) for _, worker in owners)


def test_this_process_never_loads_a_compiler(pool: Pool) -> None:
    pool.run([job(add_one)])
    mapped = Path("/proc/self/maps").read_text()
    assert "libtpu" not in mapped
    assert "libtpu" not in sys.modules
