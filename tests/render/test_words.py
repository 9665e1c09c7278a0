"""Titles, proofs and quiet lines, word by word."""

from __future__ import annotations

import dataclasses

import pytest

from pallas_magic.render import words
from pallas_magic.render.card import build_card
from pallas_magic.render.chips import listed
from pallas_magic.report import Applicability, KernelReport, Proof, Report, StageResult
from tests.render import samples, shapes


@pytest.mark.parametrize(
    ("report", "title"),
    [
        (samples.histogram(), "2 errors in 1 kernel"),
        (samples.proving(), "2 errors in 1 kernel"),
        (shapes.warnings(), "1 warning and 1 note in 2 kernels"),
        (shapes.clean(), "no errors in 3 kernels"),
        (shapes.nothing(), "no Pallas call in this cell"),
        (Report((), (), {}), "nothing to check"),
        (
            Report((samples.kernel("k", lower=StageResult("skipped", 0.0, "why")),), (), {}),
            "nothing checked in 1 kernel",
        ),
    ],
)
def test_title(report: Report, title: str) -> None:
    assert words.title(report) == title


def test_title_counts_errors_before_warnings() -> None:
    report = samples.histogram()
    first = report.diagnostics[0]
    found = (first, dataclasses.replace(first, severity="warning", kernel="other"), first)
    changed = dataclasses.replace(report, diagnostics=found)
    assert words.title(changed) == "2 errors and 1 warning in 2 kernels"


@pytest.mark.parametrize(
    ("changes", "subtitle"),
    [
        ([{}], "`k` · lowering for TPU v5e"),
        ([{"stage": "trace"}], "`k` · tracing for TPU v5e"),
        ([{"stage": "compile"}, {}], "`k` · checked for TPU v5e"),
        ([{"targets": ("tpu:v4", "tpu:v5e")}], "`k` · lowering for TPU v4 and v5e"),
        ([{"targets": ("a chip",)}, {}], "`k` · lowering for a chip and TPU v5e"),
        ([{"kernel": ""}], "lowering for TPU v5e"),
        ([{"kernel": name} for name in "abcd"], "`a`, `b`, `c` and `d` · lowering for TPU v5e"),
        (
            [{"kernel": name} for name in "abcde"],
            "`a`, `b`, `c` and 2 more · lowering for TPU v5e",
        ),
        ([], ""),
    ],
)
def test_subtitle(changes: list[dict[str, object]], subtitle: str) -> None:
    base = dataclasses.replace(samples.histogram().diagnostics[0], kernel="k")
    found = [dataclasses.replace(base, **change) for change in changes]  # type: ignore[arg-type]
    assert words.subtitle(found) == subtitle


@pytest.mark.parametrize(
    ("proof", "applicability", "said"),
    [
        (Proof(gone=True, lowers=True, same_values=True), "safe", "ok lowers, ok same values"),
        (
            Proof(gone=True, lowers=True, compiles=True, same_values=True),
            "safe",
            "ok lowers, ok compiles, ok same values",
        ),
        (
            Proof(gone=True, lowers=False, same_values=True, remaining=1),
            "safe",
            "part 1 error remains, ok same values",
        ),
        (Proof(gone=True, lowers=False, remaining=2), "safe", "part 2 errors remain"),
        (
            Proof(gone=True, lowers=True, why="interpret mode took too long"),
            "unsafe",
            "ok lowers, no not shown to give the same values: interpret mode took too long",
        ),
        (
            Proof(gone=True, lowers=True),
            "unsafe",
            "ok lowers, no not shown to give the same values",
        ),
        (
            Proof(gone=True, lowers=True, same_values=False, why="`o` differs"),
            "unsafe",
            "ok lowers, no gives other values: o differs",
        ),
        (
            Proof(gone=True, lowers=True, why="no original program to compare with"),
            "safe",
            "ok lowers, part no original program to compare with",
        ),
        (
            Proof(gone=True, lowers=True, compiles=False, why="out of SMEM"),
            "unsafe",
            "ok lowers, no does not compile: out of SMEM",
        ),
        (Proof(gone=True, lowers=False, why="new"), "unsafe", "no does not lower: new"),
        (Proof(gone=False), "display", "no the error remains"),
        (None, "display", "part an idea, not proved"),
        (None, "safe", "no not proved"),
    ],
)
def test_proof(proof: Proof | None, applicability: Applicability, said: str) -> None:
    found = words.proof_words(proof, applicability, proving=False)
    assert ", ".join(" ".join(pair) for pair in found) == said


def test_proof_while_proving() -> None:
    assert words.proof_words(None, "safe", proving=True) == (("wait", "proving…"),)
    assert words.proof_words(None, "display", proving=True) == (("part", "an idea, not proved"),)
    assert words.proof_words(samples.SAFE, "safe", proving=True)[0] == ("ok", "lowers")


def stages(**results: StageResult) -> Report:
    kernel = KernelReport("k", "tpu:v5e", results)  # type: ignore[arg-type]
    return Report((kernel,), (), {})


OK = StageResult("ok", 0.25)


@pytest.mark.parametrize(
    ("report", "line"),
    [
        (stages(trace=OK, lower=OK), "`k` ✓ lowers for TPU v5e (500 ms)"),
        (stages(trace=OK, lower=OK, compile=OK), "`k` ✓ compiles for TPU v5e (750 ms)"),
        (
            stages(trace=OK, lower=OK, compile=StageResult("skipped", 0, "no compiler")),
            "`k` ✓ lowers for TPU v5e (500 ms)",
        ),
        (
            stages(trace=OK, lower=StageResult("skipped", 0.0, "a Triton kernel")),
            "`k` skipped for TPU v5e: a Triton kernel",
        ),
        (stages(trace=OK), "`k` skipped for TPU v5e"),
        (stages(), "`k` skipped for TPU v5e"),
        (
            stages(trace=OK, lower=StageResult("failed", 0.1, "took over 60 s")),
            "`k` ✗ fails in lowering for TPU v5e: took over 60 s",
        ),
    ],
)
def test_kernel_line(report: Report, line: str) -> None:
    assert words.kernel_lines(report) == (line,)


def test_kernels_with_errors_have_no_line_of_their_own() -> None:
    assert words.kernel_lines(samples.histogram()) == ()


def test_calls_of_one_kernel_are_one_line() -> None:
    assert words.kernel_lines(shapes.clean()) == (
        "`histogram` ✓ lowers for TPU v5e (14 ms)",
        "`flash_attention` ✓ lowers for TPU v5e (3 calls, 1.7 s)",
        "`softmax` skipped for H100: a Triton kernel; Mosaic GPU targets do not take it",
    )


@pytest.mark.parametrize(
    ("report", "hint"),
    [
        (
            samples.histogram(),
            (
                "`%%pallas_check --fix 1` puts fix 1 into the cell, "
                "`%%pallas_check --fix` puts in fixes 1 and 3 together"
            ),
        ),
        (shapes.across_cells(), "`%%pallas_check --fix 1` puts fix 1 into the cell"),
        (samples.proving(), ""),
        (shapes.in_file(), ""),
        (shapes.idea(), ""),
        (shapes.clean(), ""),
    ],
)
def test_insertion_hint(report: Report, hint: str) -> None:
    assert words.insertion_hint(build_card(report, {})) == hint


def test_insertion_hint_at_a_prompt() -> None:
    assert words.insertion_hint(build_card(samples.histogram(), {}), at_prompt=True) == (
        "`%pallas_fix 1` puts fix 1 into the cell, `%pallas_fix all` puts in fixes 1 and 3 together"
    )


@pytest.mark.parametrize(
    ("items", "text"),
    [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")],
)
def test_listed(items: list[str], text: str) -> None:
    assert listed(items) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 ms"), (0.0144, "14 ms"), (0.999, "999 ms"), (1.25, "1.2 s")]
)
def test_duration(seconds: float, text: str) -> None:
    assert words.duration(seconds) == text


def test_insertion_hint_for_a_fix_in_a_file_at_a_prompt() -> None:
    card = build_card(shapes.in_file(), {}, here="cell")
    assert words.insertion_hint(card) == ""
    assert words.insertion_hint(card, at_prompt=True) == (
        "`%pallas_fix 1` puts fix 1 into kernels.py"
    )


def test_no_insertion_hint_for_an_idea() -> None:
    assert words.insertion_hint(build_card(shapes.idea(), {}), at_prompt=True) == ""
