"""The code on the rules' pages does what the pages say of it."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

import pallas_magic
from pallas_magic.report import Report
from pallas_magic.rules import pages

# Rules of what is compiled, or of several devices, say nothing of a kernel that is only lowered.
COMPILED = {"PM502", "PM907"}
LOWERING = [
    code
    for code in sorted(pages())
    if (code < "PM800" or "PM903" < code < "PM910") and code not in COMPILED
]
MEMORY_SPACES = [code for code in LOWERING if code < "PM104"]
GPU_PAGES_ARE_FOR = (0, 12)


def code_of(code: str, section: str) -> list[str]:
    """The Python blocks of one section of a page."""
    _, _, after = pages()[code].partition(f"## {section}\n")
    return re.findall(
        r"^```python\n(.*?)^```$", after.partition("\n## ")[0], re.DOTALL | re.MULTILINE
    )


def report_on(text: str, path: Path) -> Report:
    release = tuple(map(int, jax.__version__.split(".")[:2]))
    if "mosaic_gpu" in text and release < GPU_PAGES_ARE_FOR:
        pytest.skip("the page is written for a newer JAX")
    path.write_text(text)
    names: dict[str, Any] = {"__name__": path.stem}
    exec(compile(text, str(path), "exec"), names)
    return pallas_magic.check(names["fn"], *names["args"], verify=False)


@pytest.mark.parametrize("code", LOWERING)
def test_example_fails_as_the_page_says(code: str, tmp_path: Path) -> None:
    (text,) = code_of(code, "Example")
    report = report_on(text, tmp_path / "example.py")
    assert {one.code for one in report.diagnostics} == {code}


@pytest.mark.parametrize("code", LOWERING)
def test_what_to_use_instead_is_clean(code: str, tmp_path: Path) -> None:
    (text,) = code_of(code, "Use instead")
    report = report_on(text, tmp_path / "instead.py")
    assert report.diagnostics == ()
    assert [kernel.stages["lower"].status for kernel in report.kernels] == ["ok"]


@pytest.mark.parametrize("code", MEMORY_SPACES)
def test_prevention_tells_right_specs_from_wrong_ones(code: str) -> None:
    helper, check = code_of(code, "Prevent it")
    names: dict[str, Any] = {"pl": pl, "pltpu": pltpu}
    exec(helper, names)
    number, array = np.zeros((1, 1)), np.zeros((8, 128))
    specs = [names["spec_for"](number), names["spec_for"](array)]
    assert [spec.memory_space for spec in specs] == [pltpu.SMEM, pltpu.VMEM]

    exec(check, {**names, "specs": specs, "arrays": [number, array]})
    wrong = SimpleNamespace(memory_space=pltpu.SMEM)
    with pytest.raises(AssertionError):
        exec(check, {**names, "specs": [wrong], "arrays": [array]})
