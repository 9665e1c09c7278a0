"""The process that runs a compiler: ``python -m pallas_magic.aot.worker``.

It reads jobs from its standard input and writes what became of them to its
standard output, several at a time. It ends when its input does, so that it
never outlives the process that started it, whatever ended that one.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any, BinaryIO

from pallas_magic.aot.wire import END_OF_JOB, receive, send
from pallas_magic.targets import Target, parse_targets

_PARENT_CHECK_SECONDS = 1.0


def main() -> None:
    """Serve jobs until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    jobs, replies = _private_streams()
    first, threads = _target(sys.argv[1]), int(sys.argv[2])
    _Service(jobs, replies, first, threads).run()


def _private_streams() -> tuple[BinaryIO, BinaryIO]:
    """Our ends of both pipes, out of reach of compilers that print."""
    jobs = os.fdopen(os.dup(0), "rb")
    replies = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    return jobs, replies


class _Service:
    def __init__(self, jobs: BinaryIO, replies: BinaryIO, first: Target, threads: int) -> None:
        self._jobs = jobs
        self._replies = replies
        self._sending = threading.Lock()
        self._waiting: queue.SimpleQueue[tuple[Mapping[str, Any], bytes]] = queue.SimpleQueue()
        self._first = first
        self._threads = threads

    def run(self) -> None:
        # A process forked from the parent holds the other end of our input open.
        threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
        threading.Thread(target=self._read, daemon=True).start()
        self._prepare()
        for _ in range(self._threads - 1):
            threading.Thread(target=self._work, daemon=True).start()
        self._work()

    def _read(self) -> None:
        while (message := receive(self._jobs)) is not None:
            self._waiting.put(message)
        os._exit(0)

    def _prepare(self) -> None:
        started = time.perf_counter()
        try:
            from pallas_magic.bridge import compiling

            compiling.prepare(self._first)
        except Exception as error:
            self._send({"unusable": f"{type(error).__name__}: {error}"})
            os._exit(1)
        self._send({"ready": time.perf_counter() - started})

    def _work(self) -> None:
        while True:
            job, module = self._waiting.get()
            self._send({"job": job["job"], "started": True})
            result = _compile(job, module)
            os.write(2, f"{END_OF_JOB}{job['job']}\n".encode())
            self._send({"job": job["job"], **result})

    def _send(self, header: Mapping[str, Any]) -> None:
        try:
            with self._sending:
                send(self._replies, header)
        except OSError:
            os._exit(0)


def _compile(job: Mapping[str, Any], module: bytes) -> dict[str, Any]:
    from pallas_magic.bridge.compiling import CompileFailed, compile_module

    target = _target(job["target"])
    started = time.perf_counter()
    try:
        details = compile_module(module, target)
    except CompileFailed as error:
        return {"status": "failed", "seconds": time.perf_counter() - started, "text": str(error)}
    except Exception as error:
        text = f"the worker failed: {type(error).__name__}: {error}"
        return {"status": "unavailable", "text": text}
    return {"status": "ok", "seconds": time.perf_counter() - started, "details": details}


def _target(name: str) -> Target:
    (target,) = parse_targets(name)
    return target


def _end_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_PARENT_CHECK_SECONDS)
    os._exit(0)


if __name__ == "__main__":
    main()
