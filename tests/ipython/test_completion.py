"""Tab on the lines of our magics."""

from __future__ import annotations

import pytest

from pallas_magic.ipython.completion import Offer, offer
from pallas_magic.rules import all_rules, pages
from pallas_magic.targets import known_names
from tests.ipython.cells import BAD, checked
from tests.ipython.kernel import LOAD, Kernel

OPTIONS = ("--fix", "--no-run", "--no-verify", "--target")


@pytest.mark.parametrize(
    ("line", "fragment", "words"),
    [
        ("%%pallas_check ", "", OPTIONS),
        ("%%pallas_check --n", "--n", ("--no-run", "--no-verify")),
        ("%pallas_check --no-run --n", "--n", ("--no-verify",)),
        ("pallas_check --t", "--t", ("--target",)),
        ("  %%pallas_check --f", "--f", ("--fix",)),
        ("%%pallas_check --fix ", "", ("1", "12", "--no-run", "--no-verify", "--target")),
        ("%%pallas_check --fix 1", "1", ("1", "12")),
        ("%%pallas_check --target ", "", ("auto", *known_names())),
        ("%%pallas_check --target=gpu:", "gpu:", ("gpu:all", "gpu:a100", "gpu:h100", "gpu:b200")),
        ("%%pallas_check --target TPU:V5", "TPU:V5", ("tpu:v5e", "tpu:v5p")),
        ("%%pallas_check --target tpu:v5e,v", "v", ("v4", "v5e", "v5p", "v6e", "v7x")),
        ("%%pallas_check --target tpu:v5e,v6e,gpu:h", "gpu:h", ("gpu:h100",)),
        ("%%pallas_check --target gpu:h100,h100,b", "b", ("b200",)),
        ("%pallas_explain PM7", "PM7", tuple(code for code in pages() if code.startswith("PM7"))),
        ("%pallas_explain warp", "warp", ("warp-vector-store", "warp-vector-load")),
        ("%pallas_fix ", "", ("1", "12", "all")),
        ("%pallas_compilers ", "", ("install", "remove")),
        ("%pallas_compilers install ", "", ("tpu", "gpu")),
        ("%pallas_compilers install tpu ", "", ("gpu",)),
    ],
)
def test_what_is_offered(line: str, fragment: str, words: tuple[str, ...]) -> None:
    assert offer(line, (1, 12)) == Offer(fragment, words)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "%%pallas_check",
        "%pallas_check f(x",
        "%pallas_check jnp.",
        "%%pallas_check --target tpu:v9",
        "%pallas_explain PM101 PM",
        "%pallas_fix 1 ",
        "%pallas_doctor ",
        "x = pallas_check --t",
        "%timeit --",
    ],
)
def test_nothing_is_offered_elsewhere(line: str) -> None:
    assert offer(line, (1,)) is None


def test_every_rule_is_offered_by_code_and_name() -> None:
    found = offer("%pallas_explain ")
    assert found is not None
    assert set(found.words) == {word for rule in all_rules() for word in (rule.code, rule.name)}


@pytest.mark.parametrize(
    ("code", "whole"),
    [
        ("%%pallas_check --tar", "%%pallas_check --target"),
        ("%%pallas_check --target tpu:v6", "%%pallas_check --target tpu:v6e"),
        ("%%pallas_check --target=gpu:b", "%%pallas_check --target=gpu:b200"),
        ("%%pallas_check --target tpu:v5e,v6", "%%pallas_check --target tpu:v5e,v6e"),
        ("%pallas_explain register-s", "%pallas_explain register-spills"),
        ("x = 1\n%pallas_explain PM80", "x = 1\n%pallas_explain PM801"),
    ],
)
def test_a_front_end_completes_the_line(kernel: Kernel, code: str, whole: str) -> None:
    # IPython 7 offers names of Python's beside ours.
    replaced, matches = kernel.complete(code)
    assert whole in [code[: len(code) - len(replaced)] + match for match in matches]


def test_the_fixes_of_the_last_report_are_offered(kernel: Kernel) -> None:
    kernel.run(checked(BAD))
    assert {"1", "all"} <= set(kernel.complete("%pallas_fix ")[1])


def test_after_unloading_nothing_is_offered(kernel: Kernel) -> None:
    kernel.good("%unload_ext pallas_magic")
    offered = kernel.complete("%%pallas_check --tar")[1]
    kernel.good(LOAD)
    assert "--target" not in offered
    assert kernel.complete("%%pallas_check --tar")[1] == ["--target"]


def test_names_of_the_users_are_still_completed(kernel: Kernel) -> None:
    kernel.good("pallas_checked_value = 1")
    assert "pallas_checked_value" in kernel.complete("pallas_checked_v")[1]
    offered = kernel.complete("%pallas_check f(pallas_checked_v")[1]
    assert "pallas_checked_value" in offered
