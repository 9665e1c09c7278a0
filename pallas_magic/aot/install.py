"""Put a compiler into our folder, where only workers see it."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path

from pallas_magic.aot.compilers import (
    Compiler,
    compilers_folder,
    find_compiler,
    libtpu_requirement,
)
from pallas_magic.aot.installers import megabytes, shown_of, why_failed
from pallas_magic.targets import Family

Say = Callable[[str], None]
"""Takes one line; a line that ends in a carriage return is written over by the next."""

# Download and unpacked files side by side, with some room: measured for JAX 0.10.2 and 0.12.0.1.
_ROOM_NEEDED = {"tpu": 1_000_000_000, "gpu": 1_200_000_000}
_CUDA_TOOLS = ("nvidia-cuda-nvcc>=13,<14", "nvidia-nvvm>=13,<14")


class InstallFailed(Exception):
    """Nothing was installed; the text says why."""


def requirements(family: Family) -> tuple[str, ...]:
    """What is installed for this JAX release, as pip writes it."""
    if family == "tpu":
        return (libtpu_requirement(),)
    # The plugin must be of jaxlib's very version; the other CUDA libraries only run kernels.
    version = metadata.version("jaxlib")
    plugin = (f"jax-cuda13-plugin=={version}", f"jax-cuda13-pjrt=={version}")
    return (*plugin, *_CUDA_TOOLS)


def install(family: Family, say: Say) -> Compiler:
    """Install the compiler of ``family``; whole or, where that fails, not at all."""
    folder = compilers_folder(family)
    say(f"Installing {', '.join(requirements(family))}")
    say(f"into {folder}, which only pallas_magic's compiler processes use.")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        _need_room(family, folder.parent)
        with tempfile.TemporaryDirectory(dir=folder.parent, ignore_cleanup_errors=True) as made:
            new = Path(made) / family
            _run([*_installer(), "--no-deps", "--target", str(new), *requirements(family)], say)
            old = Path(made) / "old"
            if folder.exists():
                folder.rename(old)
            new.rename(folder)
    except OSError as error:
        raise InstallFailed(f"{folder.parent}: {error.strerror or error}") from error
    found = find_compiler(family)
    if found is None:
        raise InstallFailed(f"the installer left no compiler in {folder}")
    say(f"Installed {found.title}: {megabytes(_size(folder))}.")
    return found


def remove(family: Family, say: Say) -> None:
    """Take the compiler of ``family`` out of our folder; the environment's is not ours."""
    folder = compilers_folder(family)
    if not folder.exists():
        say(f"{folder} is not there.")
        return
    size = _size(folder)
    try:
        if folder.is_symlink():
            folder.unlink()
        else:
            shutil.rmtree(folder)
    except OSError as error:
        raise InstallFailed(f"{folder}: {error.strerror or error}") from error
    say(f"Removed {folder}: {megabytes(size)}.")


def _need_room(family: Family, folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if free < _ROOM_NEEDED[family]:
        needed = megabytes(_ROOM_NEEDED[family])
        raise InstallFailed(f"{folder} has {megabytes(free)} free; this takes up to {needed}")


def _installer() -> list[str]:
    """The command before its options: pip of this Python, or uv for it."""
    if importlib.util.find_spec("pip") is not None:
        pip = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check"]
        raw = tuple(map(int, re.findall(r"\d+", metadata.version("pip"))[:2])) >= (24, 1)
        return [*pip, "--progress-bar", "raw" if raw else "off"]
    uvs = [[sys.executable, "-m", "uv"]] if importlib.util.find_spec("uv") is not None else []
    uvs += [[path]] if (path := shutil.which("uv")) is not None else []
    for uv in uvs:
        # What is on the path may be a shim that starts nothing.
        if subprocess.run([*uv, "--version"], capture_output=True, check=False).returncode == 0:
            return [*uv, "pip", "install", "--python", sys.executable]
    raise InstallFailed("neither pip nor uv is here; `python -m ensurepip` gets pip")


def _run(command: list[str], say: Say) -> None:
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    said: list[str] = []
    try:
        assert process.stdout is not None
        for line in _lines(process.stdout.readline):
            said.append(line)
            if shown := shown_of(line):
                say(shown)
        if process.wait() != 0:
            raise InstallFailed(why_failed(said))
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def _lines(read: Callable[[], bytes]) -> Iterator[str]:
    while raw := read():
        yield raw.decode(errors="replace").rstrip()


def _size(folder: Path) -> int:
    return sum(file.lstat().st_size for file in folder.resolve().rglob("*") if file.is_file())
