"""Installing compilers with the real installers, from wheels made here."""

from __future__ import annotations

import base64
import hashlib
import os
import socket
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from pallas_magic.aot import install as installing
from pallas_magic.aot.command import INTERRUPTED, NOT_DONE, USAGE, run_command
from pallas_magic.aot.compilers import (
    FOLDER_VARIABLE,
    compilers_folder,
    find_compiler,
    libtpu_requirement,
)
from pallas_magic.aot.installers import shown_of, why_failed

VERSION = libtpu_requirement().removeprefix("libtpu==").replace("*", "7")


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "compilers"))
    return tmp_path / "compilers"


@pytest.fixture
def unused_port() -> int:
    """A port of this machine that nobody answers at."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture
def installer() -> None:
    """Skip what needs pip or uv."""
    try:
        installing._installer()
    except installing.InstallFailed as neither:
        pytest.skip(str(neither))


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installer: None) -> Path:
    """A folder that pip and uv take their wheels from, and from nowhere else."""
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
    assert status == NOT_DONE
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
    assert status == NOT_DONE
    assert said[-1].startswith(f"Nothing was installed: {compilers_folder('tpu').parent} has ")
    assert said[-1].endswith(" MB free; this takes up to 1,000,000,000,000 MB")
    assert not compilers_folder("tpu").exists()


def test_a_place_that_cannot_be_written_to_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, "/dev/null/compilers")
    status, said = run("install", "tpu")
    assert (status, said[-1].endswith(": Not a directory")) == (NOT_DONE, True)


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
    shown = shown_of("Progress 52428800 of 213909504")
    assert (shown.strip(), shown[-1], len(shown)) == ("52 MB of 214 MB", "\r", 41)
    assert shown_of("Progress 10 of 200") == ""
    named = "Downloading libtpu-1-py3-none-any.whl (203.1 MB)"
    assert shown_of(named) == f"  {named}"
    assert shown_of("Installing collected packages: libtpu").strip() == "unpacking"
    assert shown_of("Resolved 1 package") == ""


# Each as pip 24 or uv 0.9 said it where the thing was so.
FAILURES = {
    "pip, no network": (
        """
WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError('x')'
ERROR: Could not find a version that satisfies the requirement libtpu (from versions: )
ERROR: No matching distribution found for libtpu
""",
        "the package index cannot be reached",
    ),
    "uv, no network": (
        "  cause: error sending request for url (x)\n  cause: client error (Connect)",
        "the package index cannot be reached",
    ),
    "a full disk": (
        """
Downloading libtpu-1.whl (214.4 MB)
Progress 0 of 214355400
ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device
""",
        "no space is left on the disk, there or for temporary files in ",
    ),
    "no wheel": (
        "Looking in links: x\nERROR: No matching distribution found for libtpu==0.0.50.*",
        "no package there fits this machine (",
    ),
    "anything else": ("WARNING: one\nERROR: it is broken\n\n", "ERROR: it is broken"),
    "nothing": ("", "the installer failed and said nothing"),
}


@pytest.mark.parametrize(("said", "why"), FAILURES.values(), ids=FAILURES)
def test_why_an_installer_failed_is_one_line(said: str, why: str) -> None:
    told = why_failed(said.split("\n"))
    assert told.startswith(why)
    assert "WARNING" not in told
    assert "Progress" not in told


def test_an_index_that_is_not_there_is_said(
    own_folder: Path, monkeypatch: pytest.MonkeyPatch, installer: None, unused_port: int
) -> None:
    for name in ("PIP_INDEX_URL", "UV_INDEX_URL"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{unused_port}/simple")
    for name in ("PIP_FIND_LINKS", "UV_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "UV_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    # A machine's own settings may name more places to find packages in.
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("UV_NO_CONFIG", "1")
    monkeypatch.setenv("PIP_RETRIES", "1")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    monkeypatch.setenv("UV_CACHE_DIR", str(own_folder.parent / "cache"))
    status, said = run("install", "tpu")
    assert (status, said[-1]) == (
        NOT_DONE,
        "Nothing was installed: the package index cannot be reached",
    )
    assert list(own_folder.rglob("*")) == [compilers_folder("tpu").parent]


def test_an_interrupted_installation_leaves_what_was_there(
    wheels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_wheel(wheels, "libtpu", VERSION)
    assert run("install", "tpu")[0] == 0
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        if len(said) == 2:
            raise KeyboardInterrupt

    assert run_command(("install", "tpu"), say) == INTERRUPTED
    assert said[-1] == "Nothing was installed: interrupted"
    assert find_compiler("tpu") is not None
