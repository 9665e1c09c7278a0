"""How imported things are written in the user's text."""

from __future__ import annotations

import pytest

from pallas_magic.report import Source
from pallas_magic.source.document import plain_document
from pallas_magic.source.names import imports, spelled
from tests.source.cells import cell, library

TPU = "jax.experimental.pallas.tpu"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("from jax.experimental.pallas import tpu as pltpu", "pltpu.VMEM"),
        ("import jax.experimental.pallas.tpu as T", "T.VMEM"),
        ("import jax.experimental.pallas.tpu", "jax.experimental.pallas.tpu.VMEM"),
        ("from jax.experimental.pallas.tpu import VMEM", "VMEM"),
        ("from jax.experimental.pallas.tpu import VMEM as V, SMEM", "V"),
        ("def f():\n    from jax.experimental.pallas import tpu\n", "tpu.VMEM"),
        ("from jax.experimental.pallas.tpu import SMEM", None),
        ("from jax.experimental import pallas as pl", None),
        ("import jax", None),
        ("from . import tpu", None),
        ("", None),
    ],
)
def test_memory_space(text: str, expected: str | None) -> None:
    document = cell(text + "\n")
    assert spelled(library(document), document, TPU, "VMEM") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import jax.numpy as jnp", "jnp.where"),
        ("from jax import numpy as np", "np.where"),
        ("import jax", "jax.numpy.where"),
        ("import jax as j", "j.numpy.where"),
        ("import numpy as np", None),
    ],
)
def test_jax_numpy(text: str, expected: str | None) -> None:
    document = cell(text + "\n")
    assert spelled(library(document), document, "jax.numpy", "where") == expected


def test_cells_share_their_imports_and_their_own_come_first() -> None:
    first = cell("from jax.experimental.pallas import tpu as old\nimport jax\n", "first")
    second = cell("from jax.experimental.pallas import tpu as new\n", "second")
    third = cell("x = 1\n", "third")
    sources = library(first, second, third)
    assert spelled(sources, first, TPU, "SMEM") == "old.SMEM"
    assert spelled(sources, third, TPU, "SMEM") == "new.SMEM"
    assert list(imports(sources, second)) == ["new", "old", "jax"]


def test_a_file_sees_its_own_imports_only() -> None:
    one = cell("import jax.numpy as jnp\n")
    file = plain_document("m.py", "x = 1\n", Source("file", "m.py", "x = 1\n"), "m.py")
    assert imports(library(one, file), file) == {}
