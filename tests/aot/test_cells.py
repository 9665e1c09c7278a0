"""What compilers refuse and take, at which place and in which words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pallas_magic.report import Report
from tests.aot.cells_of import CELLS, check_cell
from tests.rules.cases import Case, cases_of, fix_text, messages, with_marks


def compared(case: Case, path: Path) -> Report:
    report, key = check_cell(case.code, path)
    assert with_marks(case.code, report, key) == case.marked
    # How much is spilled is for each release of ptxas to say.
    assert re.sub(r"[\d,]+ bytes of", "N bytes of", messages(report)) == case.text
    assert [fix_text(fix, case.code) for fix in report.fixes()] == list(case.fixes)
    statuses = {kernel.stages["compile"].status for kernel in report.kernels}
    assert statuses == {"failed" if "error[" in case.text else "ok"}
    return report


@pytest.mark.tpu_compiler
@pytest.mark.parametrize("case", list(cases_of(CELLS / "tpu.md")), ids=lambda case: case.title)
def test_for_a_tpu(case: Case, tmp_path: Path) -> None:
    compared(case, tmp_path / "cell.py")


@pytest.mark.gpu_compiler
@pytest.mark.parametrize("case", list(cases_of(CELLS / "gpu.md")), ids=lambda case: case.title)
def test_for_a_gpu(case: Case, tmp_path: Path) -> None:
    compared(case, tmp_path / "cell.py")
