"""Which compilers there are: in the user's environment, or in a folder of ours."""

from __future__ import annotations

import dataclasses
import functools
import importlib.util
import os
import re
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

from pallas_magic.targets import Family

FOLDER_VARIABLE = "PALLAS_MAGIC_COMPILERS"

_CUDA_PLUGINS = ("jax-cuda13-plugin", "jax-cuda12-plugin")


@dataclasses.dataclass(frozen=True)
class Compiler:
    """A compiler that a worker can load.

    ``folder`` is what the worker must search besides the user's environment,
    ``None`` where the environment itself has it. ``unfit`` says why it cannot
    serve this JAX release, empty if it can.
    """

    family: Family
    package: str
    version: str
    folder: Path | None
    unfit: str = ""

    @property
    def title(self) -> str:
        return f"{self.package} {self.version}"


def find_compiler(family: Family) -> Compiler | None:
    """The compiler of ``family`` that workers use: the environment's before ours."""
    return _in_environment(family) or _in_folder(family)


def compilers_folder(family: Family) -> Path:
    """Where the compiler of ``family`` is installed so that only workers see it.

    Wheels fit one Python and one JAX, so each pair has a folder of its own.
    """
    chosen = os.environ.get(FOLDER_VARIABLE)
    root = Path(chosen) if chosen else _data_folder()
    python = f"py{sys.version_info.major}{sys.version_info.minor}"
    return root / f"jax-{_jax_release()}-{python}" / family


@functools.cache
def _jax_release() -> str:
    # Read once: it costs as much as lowering a small kernel.
    return metadata.version("jax")


install_command = "python -m pallas_magic compilers install"
"""How the user asks for a compiler; a notebook host puts its magic here."""


def install_line(family: Family) -> str:
    """What a user runs to get the compiler of ``family``."""
    return f"{install_command} {family}"


@functools.cache
def libtpu_requirement() -> str:
    """The libtpu that this JAX release asks for, as pip writes it."""
    for line in metadata.requires("jax") or ():
        if line.startswith("libtpu"):
            return line.split(";")[0].strip()
    return "libtpu"


def _data_folder() -> Path:
    import platformdirs

    return Path(platformdirs.user_data_dir("pallas-magic", appauthor=False)) / "compilers"


def _in_environment(family: Family) -> Compiler | None:
    if family == "tpu":
        if importlib.util.find_spec("libtpu") is None:
            return None
        return _compiler(family, "libtpu", _version("libtpu"), None)
    for plugin in _CUDA_PLUGINS:
        if version := _version(plugin):
            return _compiler(family, plugin, version, None)
    return None


def _in_folder(family: Family) -> Compiler | None:
    folder = compilers_folder(family)
    if not folder.is_dir():
        return None
    for package in ("libtpu",) if family == "tpu" else _CUDA_PLUGINS:
        if version := _version(package, folder):
            return _compiler(family, package, version, folder)
    return None


def _compiler(family: Family, package: str, version: str, folder: Path | None) -> Compiler:
    unfit = _misfit_tpu(version) if family == "tpu" else _misfit_gpu(package, version)
    return Compiler(family, package, version, folder, unfit)


def _version(package: str, folder: Path | None = None) -> str:
    """The installed version of ``package``, in the environment or in ``folder``; "" if none."""
    path = sys.path if folder is None else [str(folder)]
    return next((one.version for one in metadata.distributions(name=package, path=path)), "")


def _misfit_tpu(version: str) -> str:
    """A newer libtpu reads what an older JAX writes, an older one does not."""
    wanted = libtpu_requirement()
    if not version or _numbers(version) >= _numbers(wanted):
        return ""
    return f"libtpu {version} is older than JAX {_jax_release()} asks for ({wanted})"


def _misfit_gpu(package: str, version: str) -> str:
    jaxlib = metadata.version("jaxlib")
    return "" if version == jaxlib else f"{package} {version} does not fit jaxlib {jaxlib}"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version.split("+")[0]))


def worker_environment(compiler: Compiler, base: Mapping[str, str]) -> dict[str, str]:
    """The environment variables of a worker that runs ``compiler``."""
    # A worker must not take the accelerator that the user's process works on.
    common = {"JAX_PLATFORMS": "cpu", "JAX_ENABLE_COMPILATION_CACHE": "false"}
    if compiler.family == "gpu":
        # XLA prints what ptxas says of registers at this level only.
        more = {
            "JAX_SKIP_CUDA_CONSTRAINTS_CHECK": "1",
            "TF_CPP_MIN_LOG_LEVEL": "0",
            "TF_CPP_VMODULE": "subprocess_compilation=2",
        }
        return {**base, **common, **more}
    return {
        **base,
        **common,
        "TPU_SKIP_MDS_QUERY": "1",
        "TPU_ACCELERATOR_TYPE": "v5litepod-4",
        "TPU_WORKER_HOSTNAMES": "localhost",
        "TPU_WORKER_ID": "0",
        # libtpu takes a lock that a second notebook would fail on.
        "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
    }
