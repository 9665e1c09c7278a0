"""A JAX newer than any tested one: said once, and nothing more."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from pallas_magic.releases import TESTED_JAX, newer_than_tested

ROOT = Path(__file__).parents[1]
SAID = (
    "JAX 0.99.0 is newer than the releases pallas_magic was tested with, the last being"
    f" {TESTED_JAX[-1]}: it works as far as it can"
)


def test_the_tested_releases_are_those_of_the_environments() -> None:
    texts = [path.read_text() for path in (ROOT / "tests" / "environments").glob("*.txt")]
    found = re.findall(r"^jax==([\d.]+)", "\n".join(texts), re.MULTILINE)
    assert sorted(set(found)) == sorted(TESTED_JAX)


@pytest.mark.parametrize("version", [*TESTED_JAX, "0.11.0", "0.10.3", "0.12.0", "0.12.0.1+cpu"])
def test_nothing_is_said_of_a_release_up_to_the_newest(version: str) -> None:
    assert newer_than_tested(version) == ""


@pytest.mark.parametrize("version", ["0.12.0.2", "0.12.1", "0.13.0", "1.0", "0.12.1.dev2+g1"])
def test_a_newer_release_is_named(version: str) -> None:
    assert newer_than_tested(version).startswith(f"JAX {version} is newer than the releases")


def test_a_check_warns_once_and_works() -> None:
    program = (
        "from importlib import metadata\n"
        "import warnings, jax, jax.numpy as jnp, pallas_magic\n"
        "installed = metadata.version\n"
        "metadata.version = lambda name: '0.99.0' if name == 'jax' else installed(name)\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        "    for _ in range(2):\n"
        "        report = pallas_magic.check(jnp.sin, jax.ShapeDtypeStruct((), 'float32'))\n"
        "print(report)\n"
        "print([str(one.message) for one in caught])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, text=True
    )
    assert done.stdout == f"no Pallas call was made\n{[SAID]}\n"
