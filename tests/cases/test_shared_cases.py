"""The collection of users' errors beside the checkout, where there is one: place and code of each.

``tests/cases/*.md`` has the same matters in our own words, with fixes; here is the
proof that nothing of the collection was left out.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import pallas_magic
from pallas_magic.bridge.lowering import whole_tracebacks
from pallas_magic.engine import explain
from pallas_magic.report import Report
from pallas_magic.source.document import Library

FOLDER = Path(__file__).parents[3] / "shared" / "cases"
NUMBERS = sorted({path.name[:3] for path in FOLDER.glob("*.json")})
# What they say was collected on this release.
JAX = (0, 12)
ONLY_COMPILED = ("035", "052", "083")
# It needs a compiler for TPUs beside JAX: tests/bridge/test_partitioning.py has it without one.
OF_SEVERAL_DEVICES = "081"
TARGETS = {"040": "tpu:v4"}

pytestmark = [
    pytest.mark.skipif(not NUMBERS, reason="the collection is not here"),
    pytest.mark.skipif(jax.__version_info__ < JAX, reason="collected on a newer JAX"),
]


def numbers() -> Iterator[Any]:
    for number in NUMBERS:
        if number != OF_SEVERAL_DEVICES:
            compiled = [pytest.mark.tpu_compiler] if number in ONLY_COMPILED else []
            yield pytest.param(number, marks=compiled)


@pytest.fixture
def plain_types() -> Iterator[None]:
    """One case turns on 64-bit types for the whole process."""
    yield
    jax.config.update("jax_enable_x64", False)  # type: ignore[no-untyped-call]


@pytest.mark.usefixtures("plain_types")
@pytest.mark.parametrize("number", list(numbers()))
def test_shared_case(number: str) -> None:
    (path,) = (one for one in FOLDER.glob(f"{number}_*.py") if ".fixed" not in one.name)
    told = json.loads(path.with_suffix(".json").read_text())
    first, last = told["offending_columns_0based"]
    report = checked(path, number)
    assert [one.code for one in report.diagnostics if one.code == "PM999"] == []
    assert any(
        one.primary is not None
        and one.primary.start_line == told["offending_line"]
        and first <= one.primary.start_col < one.primary.end_col <= last
        for one in report.diagnostics
    ), report


def checked(path: Path, number: str) -> Report:
    spec = importlib.util.spec_from_file_location(f"shared_case_{number}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if module.TARGET == "cpu":
        return called(module.entry, module.ARGS)
    target = TARGETS.get(number, "auto")
    return pallas_magic.check(module.entry, *module.ARGS, target=target, verify=False)


def called(entry: Any, shapes: Any) -> Report:
    """What the hook tells of a kernel that was called where no chip is."""
    with whole_tracebacks(), pytest.raises(ValueError, match="interpret mode") as raised:
        entry(*(jnp.zeros(one.shape, one.dtype) for one in shapes))
    watch = explain(raised.value, Library())
    assert watch is not None
    return watch.report()
