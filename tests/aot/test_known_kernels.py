"""No false alarm of a compiler: what is known to be right compiles."""

from __future__ import annotations

from pathlib import Path

import jax
import pytest

import pallas_magic
from pallas_magic.report import Report
from tests.cases.case import Case, load_cases, load_entry
from tests.corpus import gpu_kernels, tpu_kernels
from tests.corpus.subject import Subject

pytestmark = pytest.mark.filterwarnings("ignore:The Pallas Triton backend:DeprecationWarning")

JAX = tuple(map(int, jax.__version__.split(".")[:3]))
CASES = [case for case in load_cases() if case.oldest_jax <= JAX]
MENDED = [case for case in CASES if case.mended and (JAX >= (0, 11) or not case.is_gpu)]
SPILLS = "PM803"


def family_of(target: str) -> str:
    return target.split(":")[0]


def marked(case: Case) -> pytest.MarkDecorator:
    family = "gpu" if case.is_gpu or family_of(case.target) == "gpu" else "tpu"
    return pytest.mark.tpu_compiler if family == "tpu" else pytest.mark.gpu_compiler


def assert_compiles(report: Report) -> None:
    # Spilled registers are told of right kernels too.
    assert [one for one in report.diagnostics if one.code != SPILLS] == []
    assert report.kernels
    assert {kernel.stages["compile"].status for kernel in report.kernels} == {"ok"}, report.kernels


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=marked(case), id=case.name) for case in MENDED]
)
def test_mended_case_compiles(case: Case, tmp_path: Path) -> None:
    entry = load_entry(case.mended, tmp_path / "cell.py")
    report = pallas_magic.check(entry, *case.arguments, target=case.target, verify=False)
    assert_compiles(report)


@pytest.mark.tpu_compiler
@pytest.mark.parametrize("subject", list(tpu_kernels.subjects()), ids=str)
def test_kernel_of_jax_compiles_for_a_tpu(subject: Subject) -> None:
    function, arguments = subject.function, subject.arguments
    assert_compiles(pallas_magic.check(function, *arguments, target=subject.target, verify=False))


@pytest.mark.gpu_compiler
@pytest.mark.parametrize("subject", list(gpu_kernels.subjects()), ids=str)
def test_kernel_of_jax_compiles_for_a_gpu(subject: Subject) -> None:
    function, arguments = subject.function, subject.arguments
    assert_compiles(pallas_magic.check(function, *arguments, target=subject.target, verify=False))
