"""``%config PallasMagic`` and ``c.PallasMagic``."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from traitlets import TraitError
from traitlets.config import Config

from pallas_magic.ipython.options import CheckOptions, parse_options
from pallas_magic.ipython.settings import PallasMagic
from pallas_magic.rules import all_rules
from pallas_magic.targets import known_names
from tests.ipython.cells import BAD, BAD_TRACE, GOOD, checked
from tests.ipython.kernel import LOAD, ROOT, Kernel

CODES = ", ".join(rule.code for rule in all_rules())
TARGETS = ", ".join(("auto", *known_names()))
EXPECTED = "trait of a PallasMagic instance expected"
DEFAULTS = {
    "target": "auto",
    "verify": True,
    "ignore": [],
    "compile": "auto",
    "after_error": "stop",
}


def test_these_can_be_set_and_these_are_the_defaults() -> None:
    names = PallasMagic.class_trait_names(config=True)
    assert {name: getattr(PallasMagic(), name) for name in names} == DEFAULTS
    assert PallasMagic().options() == CheckOptions()


def test_a_configuration_sets_all_of_them() -> None:
    wanted: dict[str, Any] = {
        "target": "tpu:v6e,gpu",
        "verify": False,
        "ignore": "PM101, register-spills",
        "compile": False,
        "after_error": "continue",
    }
    options = PallasMagic(config=Config({"PallasMagic": wanted})).options()
    assert options == CheckOptions(
        target="tpu:v6e,gpu",
        verify=False,
        compile=False,
        ignored=("PM101", "register-spills"),
        goes_on=True,
    )


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        (
            "target",
            "tpu:v99",
            f"PallasMagic.target: unknown target 'tpu:v99'; known targets: {TARGETS}",
        ),
        (
            "target",
            3,
            f"The 'target' {EXPECTED} a unicode string, not the int 3.",
        ),
        ("ignore", ["PM1"], f"PallasMagic.ignore: unknown rule 'PM1'; known rules: {CODES}"),
        ("ignore", "PM101,x", f"PallasMagic.ignore: unknown rule 'x'; known rules: {CODES}"),
        (
            "after_error",
            "go",
            f"The 'after_error' {EXPECTED} any of ['stop', 'continue'], not the str 'go'.",
        ),
        (
            "compile",
            "yes",
            f"The 'compile' {EXPECTED} any of ['auto', True, False], not the str 'yes'.",
        ),
        (
            "verify",
            3,
            f"The 'verify' {EXPECTED} a boolean, not the int 3.",
        ),
    ],
)
def test_a_bad_value_is_refused_with_the_known_ones(name: str, value: Any, said: str) -> None:
    settings = PallasMagic()
    with pytest.raises(TraitError) as raised:
        setattr(settings, name, value)
    assert str(raised.value) == said
    assert getattr(settings, name) == DEFAULTS[name]


def test_an_option_on_the_line_comes_before_the_setting() -> None:
    settings = PallasMagic(target="tpu:v6e", verify=False).options()
    assert parse_options("", settings).target == "tpu:v6e"
    assert parse_options("--target gpu", settings).target == "gpu"
    assert not parse_options("", settings).verify
    assert parse_options("--no-run", settings) == CheckOptions("tpu:v6e", run=False, verify=False)


@pytest.fixture
def reset(kernel: Kernel) -> Iterator[Kernel]:
    """The shared kernel, whose settings are put back."""
    yield kernel
    for name, value in DEFAULTS.items():
        kernel.good(f"%config PallasMagic.{name} = {value!r}")


def test_config_shows_and_sets(reset: Kernel) -> None:
    assert "PallasMagic.target=<TargetName>" in reset.good("%config PallasMagic").printed
    reset.good("%config PallasMagic.target = 'tpu:v6e'")
    assert reset.good("%config PallasMagic.target").value == "'tpu:v6e'"
    (found,) = reset.run(checked(BAD)).card["diagnostics"]
    assert found["targets"] == ["tpu:v6e"]


def test_config_says_what_is_known(reset: Kernel) -> None:
    outcome = reset.run("%config PallasMagic.target = 'tpu:v99'")
    assert "PallasMagic.target: unknown target 'tpu:v99'; known targets: auto, tpu, " in (
        outcome.warned
    )
    assert reset.good("%config PallasMagic.target").value == "'auto'"


def test_the_setting_is_not_asked_of_a_kernel_for_another_kind_of_chip(reset: Kernel) -> None:
    reset.good("%config PallasMagic.target = 'gpu:h100'")
    outcome = reset.run(f"jax.jit(lambda x: x).lower(1.0)\n{lowered(BAD)}")
    (found,) = outcome.card["diagnostics"]
    assert (found["code"], found["targets"]) == ("PM101", ["tpu:v5e"])


def lowered(cell: str) -> str:
    """``cell`` with its call lowered for a TPU, which raises Pallas's own error."""
    call = "scaled(jnp.ones((8, 128), jnp.float32))"
    assert call in cell
    argument = "jax.jit(scaled).trace(jnp.ones((8, 128))).lower(lowering_platforms=('tpu',))"
    return cell.replace(call, argument)


def test_the_target_is_that_of_plain_cells_too(reset: Kernel) -> None:
    reset.good("%config PallasMagic.target = 'tpu:v6e'")
    (found,) = reset.run(lowered(BAD)).card["diagnostics"]
    assert found["targets"] == ["tpu:v6e"]


def test_verify_off_leaves_fixes_as_ideas(reset: Kernel) -> None:
    reset.good("%config PallasMagic.verify = False")
    ((fix,),) = (found["fixes"] for found in reset.run(checked(BAD)).card["diagnostics"])
    assert fix["applicability"] == "display"


def test_ignored_codes_are_left_out(reset: Kernel) -> None:
    reset.good("%config PallasMagic.ignore = 'PM101'")
    card = reset.good(checked(BAD)).card
    assert card["diagnostics"] == []
    assert "`PallasMagic.ignore` leaves out 1 diagnostic: PM101" in card["notes"]


def test_a_cell_with_errors_may_go_on(reset: Kernel) -> None:
    reset.good("%config PallasMagic.after_error = 'continue'")
    outcome = reset.good(checked(BAD))
    assert len(outcome.card["diagnostics"]) == 1
    assert not outcome.errors
    assert reset.good("%pallas_check jnp.sum(scaled(jnp.ones((8, 128))))").value is not None


def test_a_cell_that_an_error_ended_fails_all_the_same(reset: Kernel) -> None:
    reset.good("%config PallasMagic.after_error = 'continue'")
    assert reset.run(checked(BAD_TRACE)).reply["ename"] == "PallasCheckError"
    assert reset.run(checked(BAD + "1 / 0")).reply["ename"] == "ZeroDivisionError"


def test_a_compiler_that_is_asked_for_and_missing_stops_the_cell(reset: Kernel) -> None:
    reset.good("%config PallasMagic.compile = True")
    reset.good("import os; os.environ['PALLAS_MAGIC_COMPILERS'] = '/no/such/folder'")
    outcome = reset.run(checked(GOOD + "ran = 1", "--target tpu:v5e"))
    if outcome.ok:
        pytest.skip("a compiler for TPUs is installed in this environment")
    assert outcome.failure == (
        "UsageError: pallas_check: not compiled: no compiler for TPUs is installed; "
        "`%pallas_compilers install tpu` gets it. `PallasMagic.compile` is True. "
        "Nothing was run."
    )
    assert reset.good("'ran' in globals()").value == "False"


def configured(folder: Path, setting: str, command: str) -> subprocess.CompletedProcess[str]:
    profile = folder / "profile_default"
    profile.mkdir()
    extensions = "c.InteractiveShellApp.extensions = ['pallas_magic']\n"
    (profile / "ipython_config.py").write_text(extensions + setting)
    env = {**os.environ, "PYTHONPATH": str(ROOT), "IPYTHONDIR": str(folder)}
    quiet = ["--colors=NoColor", "--TerminalInteractiveShell.term_title=False"]
    return subprocess.run(
        [sys.executable, "-m", "IPython", "--no-banner", *quiet, "-c", command],
        env=env, capture_output=True, text=True, check=True,
    )  # fmt: skip


def test_a_configuration_file_can_set_them(tmp_path: Path) -> None:
    done = configured(tmp_path, "c.PallasMagic.target = 'gpu:b200'", "%config PallasMagic.target")
    assert done.stdout.strip().endswith("'gpu:b200'")


def test_a_mistake_in_a_configuration_file_does_not_cost_the_extension(tmp_path: Path) -> None:
    done = configured(tmp_path, "c.PallasMagic.target = 'v99'", "%pallas_explain PM901")
    assert done.stdout.startswith("PM901: no accelerator here\n")
    assert done.stderr == (
        f"PallasMagic.target: unknown target 'v99'; known targets: {TARGETS}. "
        "The settings of PallasMagic are at their defaults.\n"
    )


def test_unloading_takes_the_settings_out(kernel: Kernel) -> None:
    kernel.good("%unload_ext pallas_magic")
    listed = kernel.good("%config").printed
    kernel.good(LOAD)
    assert "PallasMagic" not in listed
    assert "PallasMagic" in kernel.good("%config").printed
