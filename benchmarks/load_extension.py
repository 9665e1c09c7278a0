"""What ``%load_ext pallas_magic`` costs a notebook that is just starting.

    python -m benchmarks.load_extension

Each round is a new process, for only the first load of a process imports
anything; an unmeasured first one leaves compiled modules, as an installation
does. Processor time is what counts, so that other programs do not. Exits 1
where the median is over the limit.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile

LIMIT_SECONDS = 0.030
ROUNDS = 15
PROGRAM = """
import sys
import time
from IPython.terminal.interactiveshell import TerminalInteractiveShell

shell = TerminalInteractiveShell.instance()
started = time.process_time()
shell.run_line_magic("load_ext", "pallas_magic")
print(time.process_time() - started, file=sys.stderr)  # IPython 7 sets a title on stdout
"""


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        seconds = [one_load(folder) for _ in range(ROUNDS + 1)][1:]
    median = statistics.median(seconds)
    print(f"%load_ext pallas_magic: {median * 1e3:.1f} ms, limit {LIMIT_SECONDS * 1e3:.0f} ms")
    return int(median > LIMIT_SECONDS)


def one_load(folder: str) -> float:
    """Seconds of one load, with compiled modules and IPython's files in ``folder``."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": folder, "IPYTHONDIR": folder}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, check=True, capture_output=True, text=True
    )
    return float(done.stderr)


if __name__ == "__main__":
    sys.exit(main())
