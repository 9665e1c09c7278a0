"""The magics at a real terminal's prompt."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pallas_magic.rules import pages
from tests.ipython.cells import BAD, BAD_TOO, GOOD, checked
from tests.ipython.terminal import Terminal, plain, running_terminal

FUNCTION = """\
def scale(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0

def scaled(x):
    return pl.pallas_call(
        scale, out_shape=x, out_specs=pl.BlockSpec(memory_space=pltpu.SMEM)
    )(x)
"""
PLAIN = FUNCTION + "jax.jit(scaled).trace(jnp.ones((8, 128))).lower(lowering_platforms=('tpu',))"


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    with running_terminal(tmp_path_factory.mktemp("ipython")) as opened:
        yield opened


def waiting(terminal: Terminal) -> str:
    """What the next prompt holds; it holds nothing afterwards."""
    shown = terminal.type("print(get_ipython().rl_next_input); get_ipython().rl_next_input = None")
    return plain(shown).strip("\n")


def test_a_page_is_wrapped_and_in_colour(terminal: Terminal) -> None:
    shown = terminal.type("%pallas_explain PM101")
    assert "\x1b[1mPM101: a vector stored to SMEM\x1b[0m" in shown
    lines = plain(shown).strip("\n").split("\n")
    assert lines[0] == pages()["PM101"].split("\n")[0].removeprefix("# ")
    assert lines[1] == "=" * len(lines[0])
    assert max(map(len, lines)) <= 100


def test_an_unknown_rule_lists_the_known_ones(terminal: Terminal) -> None:
    shown = plain(terminal.type("%pallas_explain nothing"))
    assert "UsageError: pallas_explain: no rule 'nothing'. The rules:" in shown
    assert "  PM901  no-accelerator" in shown.split("\n")


def test_the_report_names_the_magic_that_works_here(terminal: Terminal) -> None:
    shown = plain(terminal.run(checked(BAD + BAD_TOO)))
    assert (
        "%pallas_fix 1 puts fix 1 into the cell, %pallas_fix all puts in fixes 1 and 2 together"
    ) in " ".join(shown.split())


def test_a_fix_waits_at_the_next_prompt(terminal: Terminal) -> None:
    terminal.run(checked(BAD + BAD_TOO))
    said = plain(terminal.type("%pallas_fix 2"))
    assert "Inserted fix 2: move `o_ref` to VMEM. In[" in said
    assert "] with it is at the next prompt." in said
    fixed = checked(BAD + BAD_TOO.replace("pltpu.SMEM", "pltpu.VMEM"))
    assert waiting(terminal) == fixed.rstrip("\n")


@pytest.mark.parametrize("line", ["%pallas_fix all", "%pallas_fix"])
def test_all_fixes_wait_at_the_next_prompt(terminal: Terminal, line: str) -> None:
    terminal.run(checked(BAD + BAD_TOO))
    assert "Inserted fixes 1 and 2. In[" in plain(terminal.type(line))
    assert waiting(terminal) == checked(BAD + BAD_TOO).replace(".SMEM", ".VMEM").rstrip("\n")


def test_a_plain_cell_is_fixed_too(terminal: Terminal) -> None:
    assert "error[PM101]" in plain(terminal.run(PLAIN))
    terminal.type("%pallas_fix 1")
    assert waiting(terminal) == PLAIN.replace("pltpu.SMEM", "pltpu.VMEM")


def test_a_fix_goes_into_the_cell_that_it_changes(terminal: Terminal) -> None:
    terminal.run(FUNCTION)
    assert "error[PM101]" in plain(terminal.run(checked("scaled(jnp.ones((8, 128)));")))
    terminal.type("%pallas_fix 1")
    assert waiting(terminal) == FUNCTION.replace("pltpu.SMEM", "pltpu.VMEM").rstrip("\n")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("%pallas_fix 9", "there is no fix 9; the fixes of this cell: 1"),
        ("%pallas_fix x", "'x' is not the number of a fix; `all` means all"),
    ],
)
def test_what_cannot_be_fixed_is_explained(terminal: Terminal, line: str, said: str) -> None:
    terminal.run(checked(BAD))
    assert f"UsageError: pallas_fix: {said}" in plain(terminal.type(line))
    assert waiting(terminal) == "None"


def test_after_a_clean_cell_there_is_nothing_to_fix(terminal: Terminal) -> None:
    terminal.run(checked(GOOD))
    assert "UsageError: pallas_fix: no fix is known for what was found" in plain(
        terminal.type("%pallas_fix")
    )


def test_the_doctor_and_compilers_work_here(terminal: Terminal) -> None:
    shown = plain(terminal.type("%pallas_doctor"))
    assert "  a terminal: reports are text, `%pallas_fix N` puts a fix at the next prompt" in shown
    assert "widgets" not in shown.partition("Host")[2]
    assert plain(terminal.type("%pallas_compilers")).startswith("tpu: ")


def test_help_is_shown(terminal: Terminal) -> None:
    shown = plain(terminal.type("%pallas_check?"))
    assert "Check the Pallas calls of a cell, or of an expression, for an accelerator." in shown


def test_tab_completes(terminal: Terminal) -> None:
    assert "'--target'" in terminal.complete("%%pallas_check --tar")
    assert "v6e" in terminal.complete("%%pallas_check --target tpu:v6")
    assert "PM803" in terminal.complete("%pallas_explain PM8")


def test_settings_are_set(terminal: Terminal) -> None:
    terminal.type("%config PallasMagic.target = 'tpu:v6e'")
    shown = plain(terminal.run(checked(GOOD)))
    terminal.type("%config PallasMagic.target = 'auto'")
    assert "lowers for TPU v6e" in shown
