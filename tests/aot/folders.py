"""Folders that look like installed compilers, as far as their metadata goes."""

from __future__ import annotations

from pathlib import Path

from pallas_magic.aot.compilers import compilers_folder
from pallas_magic.targets import Family


def make_distribution(folder: Path, name: str, version: str) -> None:
    """What pip leaves of a package besides its files."""
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")


def make_broken_libtpu(version: str) -> Path:
    """A libtpu whose library is none, in the folder that workers search."""
    folder = compilers_folder("tpu")
    make_distribution(folder, "libtpu", version)
    package = folder / "libtpu"
    package.mkdir()
    (package / "libtpu.so").write_text("not a library")
    (package / "__init__.py").write_text(
        "import os\n"
        f"__version__ = {version!r}\n"
        "def get_library_path():\n"
        "    return os.path.join(os.path.dirname(__file__), 'libtpu.so')\n"
        "def configure_library_path():\n"
        "    os.environ['TPU_LIBRARY_PATH'] = get_library_path()\n"
    )
    return folder


def make_plugin(version: str, family: Family = "gpu") -> Path:
    """A CUDA plugin by name and version."""
    folder = compilers_folder(family)
    make_distribution(folder, "jax-cuda13-plugin", version)
    return folder
