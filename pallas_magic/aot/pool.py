"""The workers of this process: started when they are needed, kept warm, replaced when lost."""

from __future__ import annotations

import atexit
import dataclasses
import functools
import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait

from pallas_magic.aot.compilers import Compiler, find_compiler, worker_environment
from pallas_magic.aot.outcome import Job, Outcome
from pallas_magic.aot.process import Worker, WorkerLost, WorkerUnusable
from pallas_magic.targets import Target

START_LIMIT_SECONDS = 120.0
_LOSSES_ALLOWED = 2
_LOOK_SECONDS = 0.25
_UNUSABLE_SECONDS = 60.0

Progress = Callable[[int, int], None]
Keep = Callable[[Job, Outcome], None]


@dataclasses.dataclass(eq=False)
class _Task:
    """A job on its way.

    ``losses`` counts the workers lost while they worked on it, ``timed`` says
    that its own time runs, the worker being up.
    """

    number: int
    job: Job
    losses: int = 0
    timed: bool = False
    deadline: float = 0.0
    worker: Worker | None = None
    outcome: Future[Outcome] = dataclasses.field(default_factory=Future)
    began: Future[None] = dataclasses.field(default_factory=Future)


class Pool:
    """Workers by what they compile for; one run of jobs at a time."""

    def __init__(self) -> None:
        self._workers: dict[str, Worker] = {}
        self._compilers: dict[str, Compiler] = {}
        self._unusable: dict[Compiler, tuple[float, str]] = {}
        self._running = threading.Lock()
        self._starting = threading.Lock()

    def warm(self, target: Target) -> None:
        """Start the worker for ``target`` if there is a compiler and no worker yet."""
        compiler = find_compiler(target.family)
        if compiler is not None and not compiler.unfit:
            self._worker(target, compiler)

    def run(
        self,
        jobs: Sequence[Job],
        progress: Progress | None = None,
        keep: Keep | None = None,
    ) -> list[Outcome]:
        """What became of each job; an interrupt ends the workers that were busy.

        ``progress`` is told how many are done of how many, ``keep`` each outcome
        as it comes, which an interrupt then does not take away.
        """
        with self._running:
            return _Run(self, jobs, progress, keep).outcomes()

    def close(self) -> None:
        """End every worker."""
        for worker in self._workers.values():
            worker.stop()
        self._workers.clear()

    def worker_for(self, target: Target) -> Worker | str:
        """The worker for ``target``, or why there is none."""
        compiler = find_compiler(target.family)
        if compiler is None:
            return f"no compiler for {target.family.upper()}s is installed"
        if compiler.unfit:
            return compiler.unfit
        since, why = self._unusable.get(compiler, (0.0, ""))
        if why and time.monotonic() - since < _UNUSABLE_SECONDS:
            return why
        try:
            return self._worker(target, compiler)
        except OSError as error:
            return f"the compiler's process could not be started: {error}"

    def note_unusable(self, target: Target, why: str) -> None:
        """Do not start a compiler that does not load for every kernel anew."""
        compiler = find_compiler(target.family)
        if compiler is not None:
            self._unusable[compiler] = (time.monotonic(), why)

    def _worker(self, target: Target, compiler: Compiler) -> Worker:
        # Mosaic GPU gives every kernel of a process the flags of the first one's chip.
        key = target.name if target.family == "gpu" else target.family
        with self._starting:
            worker = self._workers.get(key)
            if worker is not None and self._compilers[key] != compiler:
                worker.stop()
            if worker is None or not worker.alive:
                self._compilers[key] = compiler
                environment = worker_environment(compiler, os.environ)
                search = [str(compiler.folder)] if compiler.folder is not None else []
                threads = 1 if target.family == "gpu" else os.cpu_count() or 1
                worker = self._workers[key] = Worker(environment, search, target, threads)
            return worker


class _Run:
    """One run of jobs over the pool's workers, side by side within the machine's cores."""

    def __init__(
        self, pool: Pool, jobs: Sequence[Job], progress: Progress | None, keep: Keep | None
    ) -> None:
        self._pool = pool
        self._waiting = [_Task(number, job) for number, job in enumerate(jobs)]
        self._busy: list[_Task] = []
        self._done: dict[int, Outcome] = {}
        self._cores = os.cpu_count() or 1
        self._progress = progress
        self._keep = keep

    def outcomes(self) -> list[Outcome]:
        total = len(self._waiting)
        try:
            while self._waiting or self._busy:
                self._start()
                self._await()
                if self._progress is not None:
                    self._progress(len(self._done), total)
        except BaseException:
            for task in self._busy:
                _stop(task.worker)
            raise
        return [self._done[number] for number in range(total)]

    def _start(self) -> None:
        while self._waiting and len(self._busy) < self._cores:
            # A job that lost a worker runs alone, so that a second loss is its own doing.
            alone = any(task.losses for task in (self._waiting[0], *self._busy))
            if alone and self._busy:
                return
            self._begin(self._waiting.pop(0))

    def _begin(self, task: _Task) -> None:
        worker = self._pool.worker_for(task.job.target)
        if isinstance(worker, str):
            self._end(task, Outcome("unavailable", text=worker))
            return
        task.worker = worker
        task.timed = False
        task.deadline = time.monotonic() + START_LIMIT_SECONDS
        # Before it is handed over: an interrupt in between must find it.
        self._busy.append(task)
        task.outcome, task.began = worker.submit(task.job)

    def _await(self) -> None:
        if not self._busy:
            return
        wait([task.outcome for task in self._busy], _LOOK_SECONDS, FIRST_COMPLETED)
        for task in list(self._busy):
            if task.outcome.done():
                self._finish(task)
            elif task.began.done() and not task.timed:
                task.timed = True
                task.deadline = time.monotonic() + task.job.limit
        now = time.monotonic()
        late = next((task for task in self._busy if now > task.deadline), None)
        if late is not None:
            self._give_up(late)

    def _finish(self, task: _Task) -> None:
        company = [other for other in self._busy if other.worker is task.worker]
        self._busy.remove(task)
        error = task.outcome.exception()
        if error is None:
            self._end(task, task.outcome.result())
            return
        task.losses += 1
        unusable = _unusable(task.worker)
        if unusable:
            self._pool.note_unusable(task.job.target, unusable)
            self._end(task, Outcome("unavailable", text=unusable))
        elif task.losses < _LOSSES_ALLOWED or len(company) > 1:
            self._waiting.append(task)
        else:
            self._end(task, _lost(error))

    def _give_up(self, late: _Task) -> None:
        """End the worker of a job that takes too long; the others on it start again."""
        for task in [task for task in self._busy if task.worker is late.worker]:
            self._busy.remove(task)
            if task is not late:
                self._waiting.append(task)
        _stop(late.worker)
        what = "compiling it takes" if late.timed else "the compiler takes"
        limit = late.job.limit if late.timed else START_LIMIT_SECONDS
        starting = "" if late.timed else " to start"
        text = f"{what} more than {limit:g} s{starting}"
        self._end(late, Outcome("stopped", limit, text))

    def _end(self, task: _Task, outcome: Outcome) -> None:
        self._done[task.number] = outcome
        if self._keep is not None:
            self._keep(task.job, outcome)


def _unusable(worker: Worker | None) -> str:
    if worker is None or not worker.ready.done():
        return ""
    error = worker.ready.exception()
    return str(error) if isinstance(error, WorkerUnusable) else ""


def _lost(error: BaseException) -> Outcome:
    if isinstance(error, WorkerLost) and error.by_itself and error.fatal:
        return Outcome("crashed", text=error.fatal)
    return Outcome("stopped", text=str(error))


def _stop(worker: Worker | None) -> None:
    if worker is not None:
        worker.stop()


@functools.cache
def pool() -> Pool:
    """The pool of this process; its workers end with it."""
    own = Pool()
    process = os.getpid()
    # A forked child must leave the workers to their owner.
    atexit.register(lambda: own.close() if os.getpid() == process else None)
    os.register_at_fork(after_in_child=pool.cache_clear)
    return own
