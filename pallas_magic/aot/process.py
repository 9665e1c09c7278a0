"""One worker, seen from the process that started it."""

from __future__ import annotations

import collections
import itertools
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, cast

from pallas_magic.aot.outcome import Job, Outcome
from pallas_magic.aot.wire import END_OF_JOB, receive, send
from pallas_magic.bridge.ptxas import ptxas_numbers
from pallas_magic.targets import Target

_LINES_KEPT = 400
_PACKAGE_FOLDER = str(Path(__file__).parent.parent.parent)
_START = "import sys; sys.path += sys.argv[3:]; from pallas_magic.aot.worker import main; main()"
# What else a compiler says is about the program around the kernel, which is ours.
_THE_KERNEL = re.compile(r"Mosaic|Triton|ptxas|RESOURCE_EXHAUSTED|memory", re.IGNORECASE)
# A compiler that misses a part of itself, or room on the disk, says nothing of the kernel.
_NOT_THE_KERNEL = re.compile(
    r"libdevice|find (?:a suitable version of )?ptxas|ptxas.*not found|No space left on device"
    r"|Failed to lookup host symbol|Process spawn failed|Cannot allocate memory|API already exists"
    r"|higher than default SM version",
    re.IGNORECASE,
)
_FATAL = re.compile(r"Check failed: .*|LLVM ERROR: .*|Assertion .* failed.*|fatal error: .*")


class WorkerLost(Exception):
    """The worker ended before it answered; ``said`` is the end of what it printed.

    ``by_itself`` tells a compiler that gave up from a process that was killed.
    """

    def __init__(self, how: str, said: str, *, by_itself: bool) -> None:
        super().__init__(how)
        self.said = said
        self.by_itself = by_itself

    @property
    def fatal(self) -> str:
        """What a compiler printed as it gave up, empty if it printed no such thing."""
        found = _FATAL.search(self.said)
        if found is None or _NOT_THE_KERNEL.search(self.said):
            return ""
        return found[0].strip()


class WorkerUnusable(Exception):
    """The worker came up and found no compiler that works; the text says why."""


class Worker:
    """A worker process; ``ready`` is done when its compiler is loaded."""

    def __init__(
        self, environment: Mapping[str, str], search: Sequence[str], first: Target, threads: int
    ) -> None:
        # What is importable here is importable there, and found in the same order.
        paths = [path for path in (*sys.path, _PACKAGE_FOLDER, *search) if path]
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _START, first.name, str(threads), *paths],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(environment),
            # A Ctrl-C in a terminal is meant for the program in front.
            start_new_session=True,
        )
        self.ready: Future[float] = Future()
        self._pending: dict[int, tuple[Future[Outcome], Future[None]]] = {}
        self._numbers = itertools.count()
        self._said: collections.deque[str] = collections.deque(maxlen=_LINES_KEPT)
        self._printed: dict[int, list[str]] = {}
        self._heard = threading.Condition()
        self._lock = threading.Lock()
        self._lost: WorkerLost | None = None
        self._listening = threading.Thread(target=self._listen, daemon=True)
        self._hearing = threading.Thread(target=self._hear, daemon=True)
        try:
            self._listening.start()
            self._hearing.start()
        except BaseException:
            # Interrupted before anyone knows of it.
            _kill_group(self._process)
            raise

    @property
    def alive(self) -> bool:
        return self._lost is None and self._process.poll() is None

    @property
    def identifier(self) -> int:
        """The operating system's number of the process."""
        return self._process.pid

    def submit(self, job: Job) -> tuple[Future[Outcome], Future[None]]:
        """Hand over a job: one future for its outcome, one that is done when it begins."""
        number = next(self._numbers)
        futures: tuple[Future[Outcome], Future[None]] = Future(), Future()
        with self._lock:
            if self._lost is not None:
                futures[0].set_exception(self._lost)
                return futures
            self._pending[number] = futures
        try:
            header = {"job": number, "target": job.target.name}
            send(cast(Any, self._process.stdin), header, job.module)
        except OSError:
            pass  # it ended: the listener says so
        return futures

    def stop(self) -> None:
        """End the process at once, and what its compiler started."""
        _kill_group(self._process)
        self._listening.join()

    def _listen(self) -> None:
        replies = cast(IO[bytes], self._process.stdout)
        while (message := receive(cast(Any, replies))) is not None:
            self._take(message[0])
        status = self._process.wait()
        self._hearing.join(timeout=5)
        lost = _lost(status, "".join(self._said))
        with self._lock:
            self._lost = lost
            pending = list(self._pending.values())
            self._pending.clear()
        if not self.ready.done():
            self.ready.set_exception(lost)
        for outcome, _ in pending:
            outcome.set_exception(lost)
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            _close(stream)

    def _take(self, reply: Mapping[str, Any]) -> None:
        if "ready" in reply:
            self.ready.set_result(reply["ready"])
        elif "unusable" in reply:
            self.ready.set_exception(WorkerUnusable(reply["unusable"]))
        elif "started" in reply:
            self._pending[reply["job"]][1].set_result(None)
        else:
            with self._lock:
                outcome, _ = self._pending.pop(reply["job"])
            outcome.set_result(_outcome(reply, self._printed_for(reply["job"])))

    def _hear(self) -> None:
        printed: list[str] = []
        for raw in cast(IO[bytes], self._process.stderr):
            line = raw.decode(errors="replace")
            if line.startswith(END_OF_JOB):
                with self._heard:
                    self._printed[int(line[len(END_OF_JOB) :])] = printed
                    self._heard.notify_all()
                printed = []
                continue
            printed = [*printed[-_LINES_KEPT:], line]
            self._said.append(line)

    def _printed_for(self, job: int) -> list[str]:
        """What the compiler printed meanwhile, which comes on another pipe than the reply."""
        with self._heard:
            self._heard.wait_for(lambda: job in self._printed, timeout=2)
            return self._printed.pop(job, [])


def _outcome(reply: Mapping[str, Any], printed: list[str]) -> Outcome:
    details = dict(reply.get("details", {}))
    status, text = reply["status"], reply.get("text", "")
    if status == "failed":
        # The place of a failure in ptxas or in a pass stands in the print only.
        located = [line.strip() for line in printed if "loc(" in line and "error:" in line]
        text = "\n\n".join([text, *located])
    # Of Triton's kernels there is XLA's print only.
    details = {**ptxas_numbers("".join(printed)), **details}
    if status == "failed" and (_NOT_THE_KERNEL.search(text) or not _THE_KERNEL.search(text)):
        status, text = "unavailable", text.split("\n")[0]
    return Outcome(status, reply.get("seconds", 0.0), text, details)


def _lost(status: int, said: str) -> WorkerLost:
    if status >= 0:
        how = f"the compiler's process ended with status {status}"
        return WorkerLost(how, said, by_itself=True)
    name = signal.Signals(-status).name
    from_outside = -status in (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP)
    verb = "was killed" if from_outside else "crashed"
    return WorkerLost(f"the compiler's process {verb} ({name})", said, by_itself=not from_outside)


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _close(stream: IO[bytes] | None) -> None:
    try:
        if stream is not None:
            stream.close()
    except OSError:
        pass  # what was still to be written to it
