"""Errors that users really make: each is found where it is, and its mended form is clean."""

from __future__ import annotations

from pathlib import Path

import jax
import pytest

import pallas_magic
from pallas_magic.report import Diagnostic, Fix, Report
from tests.cases.case import Case, Mark, load_cases, load_entry

JAX = tuple(map(int, jax.__version__.split(".")[:3]))
CASES = [case for case in load_cases() if case.oldest_jax <= JAX]
FIXED = [case for case in CASES if case.safe_fix and (JAX >= (0, 11) or not case.is_gpu)]


def named(cases: list[Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.name)


def checked(case: Case, text: str, path: Path, *, verify: bool = False) -> Report:
    entry = load_entry(text, path)
    return pallas_magic.check(entry, *case.arguments, target=case.target, verify=verify)


def is_at(diagnostic: Diagnostic, mark: Mark) -> bool:
    span = diagnostic.primary
    return (
        span is not None
        and mark.code in (diagnostic.code, "here")
        and span.start_line == span.end_line == mark.line
        and mark.start <= span.start_col < span.end_col <= mark.end
    )


@named(CASES)
def test_wrong_kernel_is_found_where_it_is(case: Case, tmp_path: Path) -> None:
    report = checked(case, case.text, tmp_path / "cell.py")
    assert not report.ok
    assert all(diagnostic.primary is not None for diagnostic in report.diagnostics)
    for mark in case.marks:
        assert any(is_at(diagnostic, mark) for diagnostic in report.diagnostics), report
    if case.marks:
        assert len(report.diagnostics) == len(case.marks), report


@named(CASES)
def test_mended_kernel_is_clean(case: Case, tmp_path: Path) -> None:
    report = checked(case, case.mended, tmp_path / "cell.py")
    assert report.diagnostics == ()
    assert [kernel.stages["lower"].status for kernel in report.kernels] == ["ok"], report


@named(FIXED)
def test_a_safe_fix_makes_it_clean(case: Case, tmp_path: Path) -> None:
    report = checked(case, case.text, tmp_path / "cell.py", verify=True)
    fixes: list[Fix] = [fix for found in report.diagnostics for fix in found.fixes]
    safe = [fix for fix in fixes if fix.applicability == "safe"]
    assert safe, [(fix.title, fix.proof) for fix in fixes]
    for number, fix in enumerate(safe):
        again = checked(case, fix.apply(case.text), tmp_path / f"fixed{number}.py")
        assert again.diagnostics == (), fix.title
        assert again.kernels
