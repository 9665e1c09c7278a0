"""Options at the front of a line, and the magic's line without ``--fix``."""

from __future__ import annotations

import pytest

from pallas_magic.ipython.options import CheckOptions, parse_options, split_options, without_fix
from pallas_magic.ipython.transform import arm_check


@pytest.mark.parametrize(
    ("line", "options"),
    [
        ("", CheckOptions()),
        ("--target tpu:v4", CheckOptions(target="tpu:v4")),
        ("--target=tpu,gpu", CheckOptions(target="tpu,gpu")),
        ("--fix", CheckOptions(fix="all")),
        ("--fix 3 --no-verify", CheckOptions(fix=3, verify=False)),
        ("--no-run --fix", CheckOptions(run=False, fix="all")),
    ],
)
def test_options_are_read(line: str, options: CheckOptions) -> None:
    assert parse_options(line) == options


@pytest.mark.parametrize(
    ("line", "options", "expression"),
    [
        ("f(x)", "", "f(x)"),
        ("--target tpu f(x)", "--target tpu", "f(x)"),
        ("--target=tpu:v4,v5e  --no-run f( x )", "--target=tpu:v4,v5e --no-run", "f( x )"),
        ("--no-verify --x", "--no-verify", "--x"),
        ("f('--no-run')", "", "f('--no-run')"),
        ("--no-runner", "", "--no-runner"),
        ("-x", "", "-x"),
    ],
)
def test_the_expression_is_kept_as_it_is(line: str, options: str, expression: str) -> None:
    assert split_options(line) == (options, expression)


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("%%pallas_check --fix", "%%pallas_check"),
        ("%%pallas_check --fix 2", "%%pallas_check"),
        ("%%pallas_check --fix=2 --target tpu", "%%pallas_check --target tpu"),
        (
            "  %%pallas_check --target tpu --fix 12  --no-run",
            "  %%pallas_check --target tpu  --no-run",
        ),
        ("%%pallas_check --fixture", "%%pallas_check --fixture"),
    ],
)
def test_the_fix_option_goes_and_the_others_stay(line: str, after: str) -> None:
    assert without_fix(line) == after


BEGIN = "get_ipython().run_line_magic('pallas_check_begin', {!r})\n"


@pytest.mark.parametrize(
    ("lines", "after"),
    [
        ([], []),
        (["x = 1\n"], ["x = 1\n"]),
        (["%%pallas_check?\n"], ["%%pallas_check?\n"]),
        (["%%pallas_checks\n"], ["%%pallas_checks\n"]),
        (["x = 1\n", "%%pallas_check\n"], ["x = 1\n", "%%pallas_check\n"]),
        (["%%pallas_check\n", "x\n"], [BEGIN.format(""), "x\n"]),
        (["%%pallas_check  --fix '\n", "x\n"], [BEGIN.format("--fix '"), "x\n"]),
        (
            ["%%pallas_check\n", "\n", "%%time\n", "x\n"],
            [BEGIN.format(""), "\n", "get_ipython().run_cell_magic('time', '', 'x\\n')\n"],
        ),
        (["%%pallas_check\n", "x\n", "%%time\n"], [BEGIN.format(""), "x\n", "%%time\n"]),
    ],
)
def test_only_a_first_line_of_the_magic_is_replaced(lines: list[str], after: list[str]) -> None:
    assert arm_check(lines) == after
