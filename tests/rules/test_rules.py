"""Every cell of ``tests/rules/*.md``: what is said of it, and that each fix mends it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from pallas_magic.report import Diagnostic, Report
from pallas_magic.source.edits import apply_edits
from tests.rules.cases import (
    Case,
    check_code,
    fix_text,
    kinds_of,
    messages,
    read_cases,
    with_marks,
)

BEHIND = "another error comes behind it"
CASES = list(read_cases(Path(__file__).parent))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case, tmp_path: Path) -> None:
    report, key = check_code(case.code, tmp_path / "cell.py", case.target)

    assert with_marks(case.code, report, key) == case.marked
    assert messages(report) == case.text
    assert [fix_text(fix, case.code) for fix in report.fixes()] == list(case.fixes)

    for one in report.diagnostics:
        for fix in one.fixes:
            after = checked_again(fix.apply(case.code), tmp_path, case.target)
            if fix.proof is not None and fix.proof.why.startswith(BEHIND):
                assert_further_on(one, after)
            else:
                assert_mended(report, after, [one])

    if report.combined is not None:
        after = checked_again(apply_edits(case.code, report.combined.edits), tmp_path, case.target)
        ids = set(report.combined.ids)
        assert_mended(
            report, after, [one for one in report.diagnostics if ids & {f.id for f in one.fixes}]
        )


def checked_again(fixed: str, folder: Path, target: str) -> Report:
    """The report on a fixed text, which must parse and run."""
    ast.parse(fixed)
    name = f"fixed_{len(list(folder.iterdir()))}.py"
    return check_code(fixed, folder / name, target)[0]


def assert_mended(before: Report, after: Report, mended: list[Diagnostic]) -> None:
    """What was mended is gone, and nothing else has come."""
    expected = kinds_of(before)
    for one in mended:
        expected.remove((one.code, one.message))
    left = kinds_of(after)
    assert all(left.count(kind) <= expected.count(kind) for kind in left)


def assert_further_on(before: Diagnostic, after: Report) -> None:
    """Tracing got past what was mended and stopped at another line."""
    assert before.primary is not None
    lines = [one.primary.start_line for one in after.diagnostics if one.primary is not None]
    assert lines
    assert min(lines) > before.primary.start_line
