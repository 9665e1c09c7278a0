"""Installing compilers with the real installers, from wheels made here."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from pallas_magic.aot import install as installing
from pallas_magic.aot.command import USAGE, run_command
from pallas_magic.aot.compilers import (
    FOLDER_VARIABLE,
    compilers_folder,
    find_compiler,
    libtpu_requirement,
)

VERSION = libtpu_requirement().removeprefix("libtpu==").replace("*", "7")


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "compilers"))
    return tmp_path / "compilers"


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip and uv take their wheels from, and from nowhere else."""
    try:
        installing._installer()
    except installing.InstallFailed as neither:
        pytest.skip(str(neither))
    folder = tmp_path / "wheels"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("UV_OFFLINE", "1")
    for name in ("PIP", "UV"):
        monkeypatch.setenv(f"{name}_FIND_LINKS", str(folder))
        monkeypatch.setenv(f"{name}_CACHE_DIR", str(tmp_path / "cache"))
    return folder


def make_wheel(folder: Path, name: str, version: str) -> None:
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}/__init__.py": "",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    lines = []
    for path, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
        lines.append(f"{path},sha256={digest.decode()},{len(text)}\n")
    files[f"{info}/RECORD"] = "".join(lines) + f"{info}/RECORD,,\n"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)


def run(*words: str) -> tuple[int, list[str]]:
    said: list[str] = []
    return run_command(words, said.append), said


def test_what_is_installed_is_found_and_taken_away_again(wheels: Path) -> None:
    make_wheel(wheels, "libtpu", VERSION)
    status, said = run("install", "tpu")
    folder = compilers_folder("tpu")
    assert status == 0
    assert said[:2] == [
        f"Installing {libtpu_requirement()}",
        f"into {folder}, which only pallas_magic's compiler processes use.",
    ]
    assert said[-1].startswith(f"Installed libtpu {VERSION}: ")
    found = find_compiler("tpu")
    assert found is not None
    assert found.folder == folder
    assert run()[1][0] == f"tpu: libtpu {VERSION} in {folder}"
    assert run("remove", "tpu")[0] == 0
    assert find_compiler("tpu") is None


def test_a_second_installation_takes_the_place_of_the_first(wheels: Path) -> None:
    make_wheel(wheels, "libtpu", VERSION)
    (compilers_folder("tpu") / "left" / "over").mkdir(parents=True)
    assert run("install", "tpu")[0] == 0
    assert not (compilers_folder("tpu") / "left").exists()
    assert [path.name for path in compilers_folder("tpu").parent.iterdir()] == ["tpu"]


def test_a_failed_installation_leaves_what_was_there(wheels: Path) -> None:
    kept = compilers_folder("tpu") / "kept"
    kept.mkdir(parents=True)
    status, said = run("install", "tpu")
    assert status == 1
    assert said[-1].startswith("Nothing was installed: ")
    assert "libtpu" in said[-1]
    assert kept.exists()
    assert [path.name for path in kept.parent.parent.iterdir()] == ["tpu"]


def test_too_little_room_is_said_before_anything_is_loaded(
    wheels: Path, own_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_wheel(wheels, "libtpu", VERSION)
    monkeypatch.setitem(installing._ROOM_NEEDED, "tpu", 10**18)
    status, said = run("install", "tpu")
    assert status == 1
    assert said[-1].startswith(f"Nothing was installed: {compilers_folder('tpu').parent} has ")
    assert said[-1].endswith(" MB free; this takes up to 1,000,000,000,000 MB")
    assert not compilers_folder("tpu").exists()


def test_a_place_that_cannot_be_written_to_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, "/dev/null/compilers")
    status, said = run("install", "tpu")
    assert (status, said[-1].endswith(": Not a directory")) == (1, True)


def test_the_gpu_set_is_the_plugin_of_this_jaxlib_and_two_tools() -> None:
    version = metadata.version("jaxlib")
    assert installing.requirements("gpu") == (
        f"jax-cuda13-plugin=={version}",
        f"jax-cuda13-pjrt=={version}",
        "nvidia-cuda-nvcc>=13,<14",
        "nvidia-nvvm>=13,<14",
    )


@pytest.mark.parametrize("words", [("install",), ("install", "npu"), ("fetch", "tpu")])
def test_other_words_get_the_usage(words: tuple[str, ...]) -> None:
    assert run(*words) == (2, [USAGE])


def test_the_list_says_how_to_get_what_is_missing() -> None:
    assert run() == (
        0,
        [
            "tpu: none; `python -m pallas_magic compilers install tpu` gets it",
            "gpu: none; `python -m pallas_magic compilers install gpu` gets it",
        ],
    )


def test_progress_is_told_in_megabytes() -> None:
    assert installing._shown("Progress 52428800 of 213909504") == "  52 MB of 214 MB\r"
    assert installing._shown("Progress 10 of 200") == ""
    assert installing._shown("Downloading libtpu-1-py3-none-any.whl (203.1 MB)").strip()
    assert installing._shown("Resolved 1 package") == ""
