"""The compile stage of a check: lowered kernels in, outcomes out."""

from __future__ import annotations

import collections
import hashlib
import os
from collections.abc import Sequence

from pallas_magic.aot.compilers import Compiler, find_compiler
from pallas_magic.aot.outcome import Job, Outcome
from pallas_magic.aot.pool import Progress, pool

LIMIT_VARIABLE = "PALLAS_MAGIC_COMPILE_SECONDS"
_LIMIT_SECONDS = 60.0
_REMEMBERED = 256

Key = tuple[str, str, Compiler | None]

_outcomes: collections.OrderedDict[Key, Outcome] = collections.OrderedDict()


def compile_limit() -> float:
    """How many seconds one kernel may take to compile."""
    try:
        return float(os.environ.get(LIMIT_VARIABLE, ""))
    except ValueError:
        return _LIMIT_SECONDS


def compile_jobs(jobs: Sequence[Job], progress: Progress | None = None) -> list[Outcome]:
    """What became of each job; what was compiled before is not compiled again."""
    keys = [_key(job) for job in jobs]
    new = {key: job for key, job in zip(keys, jobs, strict=True) if key not in _outcomes}
    known = {key: _outcomes[key] for key in keys if key not in new}
    key_of = {id(job): key for key, job in new.items()}

    def keep(job: Job, outcome: Outcome) -> None:
        # What may end otherwise the next time is tried again then.
        if outcome.status in ("ok", "failed", "crashed"):
            _outcomes[key_of[id(job)]] = outcome

    found = pool().run(list(new.values()), progress, keep) if new else []
    while len(_outcomes) > _REMEMBERED:
        _outcomes.popitem(last=False)
    known |= zip(new, found, strict=True)
    return [known[key] for key in keys]


def _key(job: Job) -> Key:
    module = hashlib.sha256(job.module).hexdigest()
    return job.target.name, module, find_compiler(job.target.family)
