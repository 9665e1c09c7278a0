"""IPython in a real terminal: printed once, in colour, and the next prompt holds the fix."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.ipython.cells import BAD, BAD_TRACE
from tests.ipython.terminal import Terminal, plain, running_terminal


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    with running_terminal(tmp_path_factory.mktemp("ipython")) as opened:
        yield opened


def test_the_report_is_printed_once_after_proving(terminal: Terminal) -> None:
    shown = plain(terminal.run(f"%%pallas_check\n{BAD}"))
    assert shown.count("error[PM101]") == 1
    assert "proving" not in shown
    assert "same values ✓" in shown
    assert "PallasCheckError: 1 error in 1 kernel: see the report above" in shown


def test_the_report_is_in_colour(terminal: Terminal) -> None:
    assert "\x1b[" in terminal.run(f"%%pallas_check\n{BAD}").partition("PallasCheckError")[0]


def test_debug_opens_at_jax_s_own_error(terminal: Terminal) -> None:
    terminal.run(f"%%pallas_check\n{BAD_TRACE}")
    assert "_compute_newshape" in plain(terminal.type("%debug", r"ipdb> $"))
    terminal.type("q")


def test_pdb_opens_after_the_report(terminal: Terminal) -> None:
    terminal.type("%pdb on")
    shown = plain(terminal.run(f"%%pallas_check\n{BAD_TRACE}", r"ipdb> $"))
    terminal.type("q")
    assert shown.index("PM999") < shown.index("PallasCheckError") < shown.index("_compute_newshape")
    plain_cell = plain(terminal.run(BAD_TRACE, r"ipdb> $"))
    terminal.type("q")
    assert "Cut to your own lines" in plain_cell
    terminal.type("%pdb off")


def test_pdb_stays_shut_where_nothing_was_raised(terminal: Terminal) -> None:
    terminal.type("%pdb on")
    shown = terminal.run(f"%%pallas_check\n{BAD}")
    terminal.type("%pdb off")
    assert "ipdb" not in shown


def test_the_fix_waits_at_the_next_prompt(terminal: Terminal) -> None:
    shown = terminal.run(f"%%pallas_check --fix\n{BAD}")
    assert "Inserted fix 1" in shown
    waiting = terminal.type("print(get_ipython().rl_next_input)")
    assert "%%pallas_check\n" in waiting
    assert "memory_space=pltpu.VMEM" in waiting


def test_a_typed_magic_lets_its_body_be_typed(terminal: Terminal) -> None:
    terminal.type("%%pallas_check", r"\.\.\.: $")
    terminal.type("typed = 5", r"\.\.\.: $")
    terminal.type("", r"\.\.\.: $")
    assert "no Pallas call was made" in terminal.type("")
    assert terminal.type("typed").strip().endswith("5")
