"""Which compiler is found, and why one that is there cannot be used."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax.experimental import pallas as pl

import pallas_magic
from pallas_magic.aot import compilers
from pallas_magic.aot.compilers import find_compiler, libtpu_requirement, worker_environment
from pallas_magic.report import Report
from tests.aot.folders import make_broken_libtpu, make_plugin

NEWER = "99.0.1"


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(compilers.FOLDER_VARIABLE, str(tmp_path))
    return tmp_path


def checked(target: str = "tpu") -> Report:
    tile = jnp.zeros((8, 128))

    def double(x_ref: Any, o_ref: Any) -> None:
        o_ref[...] = x_ref[...] * 2.0

    return pallas_magic.check(pl.pallas_call(double, out_shape=tile), tile, target=target)


def test_none_is_found_in_an_empty_folder() -> None:
    assert find_compiler("tpu") is None
    assert find_compiler("gpu") is None


def test_the_folder_is_of_one_python_and_one_jax(own_folder: Path) -> None:
    python = f"py{sys.version_info.major}{sys.version_info.minor}"
    assert compilers.compilers_folder("tpu") == own_folder / f"jax-{jax.__version__}-{python}/tpu"


def test_libtpu_is_the_one_this_jax_asks_for() -> None:
    assert libtpu_requirement().startswith("libtpu==0.0.")


def test_a_newer_libtpu_is_used() -> None:
    folder = make_broken_libtpu(NEWER)
    found = find_compiler("tpu")
    assert found is not None
    assert (found.title, found.folder, found.unfit) == (f"libtpu {NEWER}", folder, "")


def test_an_older_libtpu_is_not() -> None:
    make_broken_libtpu("0.0.1")
    found = find_compiler("tpu")
    assert found is not None
    assert found.unfit == (
        f"libtpu 0.0.1 is older than JAX {jax.__version__} asks for ({libtpu_requirement()})"
    )
    report = checked()
    assert report.ok
    assert report.kernels[0].stages["compile"].why == found.unfit


@pytest.mark.parametrize("fits", [True, False])
def test_a_plugin_is_used_with_its_own_jaxlib_only(fits: bool) -> None:
    jaxlib = metadata.version("jaxlib")
    make_plugin(jaxlib if fits else "0.4.1")
    found = find_compiler("gpu")
    assert found is not None
    assert found.unfit == ("" if fits else f"jax-cuda13-plugin 0.4.1 does not fit jaxlib {jaxlib}")


def test_without_a_compiler_one_note_says_how_to_get_it() -> None:
    report = checked("tpu:v4,v5e")
    assert report.ok
    (note,) = report.notes
    assert note == (
        "not compiled: no compiler for TPUs is installed;"
        " `python -m pallas_magic compilers install tpu` gets it"
    )
    assert {k.stages["compile"].status for k in report.kernels} == {"skipped"}


def test_a_host_names_its_own_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compilers, "install_command", "%pallas_compilers install")
    (note,) = checked().notes
    assert note.endswith("; `%pallas_compilers install tpu` gets it")


def test_a_broken_compiler_leaves_the_kernel_uncompiled_and_says_why() -> None:
    make_broken_libtpu(NEWER)
    report = checked()
    (kernel,) = report.kernels
    assert report.ok
    assert report.diagnostics == ()
    assert kernel.stages["compile"].status == "skipped"
    assert "libtpu.so" in kernel.stages["compile"].why
    assert [note for note in report.notes if note.startswith("not compiled for TPU v5e: ")]


def test_a_worker_never_takes_the_accelerator() -> None:
    make_plugin(metadata.version("jaxlib"))
    found = find_compiler("gpu")
    assert found is not None
    given = worker_environment(found, {"JAX_PLATFORMS": "tpu", "HOME": "somewhere"})
    assert (given["JAX_PLATFORMS"], given["HOME"]) == ("cpu", "somewhere")
