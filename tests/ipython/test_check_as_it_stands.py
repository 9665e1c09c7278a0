"""A cell that a front end sends to be checked without `%%pallas_check` in its text."""

from __future__ import annotations

import pytest

from tests.ipython.cells import BAD, GOOD, checked, stored_at
from tests.ipython.kernel import Kernel, Message


def place(card: Message) -> tuple[int, int, int]:
    primary = card["diagnostics"][0]["primary"]
    return primary["start_line"], primary["start_col"], primary["end_col"]


def test_positions_are_those_of_the_text_that_was_sent(kernel: Kernel) -> None:
    outcome = kernel.run(BAD, cell_id="cell", as_it_stands=True)
    (source,) = outcome.card["sources"].values()
    assert (source["text"], source["cell_id"]) == (BAD, "cell")
    assert place(outcome.card) == stored_at(BAD)
    assert outcome.failure == "PallasCheckError: 1 error in 1 kernel: see the card above"


def test_it_is_found_again_in_history_as_it_was_sent(kernel: Kernel) -> None:
    kernel.good(GOOD, as_it_stands=True)
    assert kernel.good("In[-2]").value == repr(GOOD.rstrip())


def test_a_good_kernel_gets_its_quiet_line(kernel: Kernel) -> None:
    outcome = kernel.good(GOOD, as_it_stands=True)
    assert [line[0][1] for line in outcome.card["card"]["kernels"]] == ["scale"]


def test_a_cell_magic_runs_under_the_check(kernel: Kernel) -> None:
    timed = f"%%time\n{BAD}"
    assert place(kernel.run(timed, as_it_stands=True).card) == stored_at(timed)


def test_a_cell_that_has_the_magic_is_checked_once(kernel: Kernel) -> None:
    assert len(kernel.run(checked(BAD), as_it_stands=True).cards) == 1


def test_only_what_was_asked_for_is_checked(kernel: Kernel) -> None:
    kernel.run(BAD, as_it_stands=True)
    assert kernel.good("1 + 1").displays == []
    checked_one = kernel.good("1 + 1", as_it_stands=True)
    assert checked_one.displays[0]["text/plain"] == "no Pallas call was made"


def test_what_cannot_be_checked_runs_and_says_so(kernel: Kernel) -> None:
    kernel.good("%config PallasMagic.compile = True")
    try:
        outcome = kernel.good("ran = 1", as_it_stands=True)
    finally:
        kernel.good("%config PallasMagic.compile = 'auto'")
    if not outcome.warned:
        pytest.skip("a compiler for TPUs is installed in this environment")
    assert outcome.warned.startswith("pallas_check: not compiled: no compiler for TPUs")
    assert outcome.warned.endswith("This cell was not checked.\n")
    assert (outcome.displays, kernel.good("ran").value) == ([], "1")
