"""``--fix``: the cell runs once and is replaced by the mended one."""

from __future__ import annotations

import pytest

from pallas_magic.ipython.fixing import NoFix, fixed_cell
from pallas_magic.report import Diagnostic, Fix, FixSet, Report, Source, Span, TextEdit
from tests.ipython.cells import BAD, BAD_TOO, BAD_TRACE, GOOD, checked
from tests.ipython.kernel import Kernel


def replaced(text: str) -> dict[str, object]:
    return {"source": "set_next_input", "text": text, "replace": True}


def test_the_fix_is_put_into_the_cell_which_ends_ok(kernel: Kernel) -> None:
    outcome = kernel.good(checked("print('once')\n" + BAD, "--target tpu:v5e --fix"))
    assert outcome.next_input == replaced(checked("print('once')\n" + GOOD, "--target tpu:v5e"))
    assert outcome.printed == "once\nInserted fix 1: move `o_ref` to VMEM. Run the cell again.\n"
    assert outcome.cards
    assert not outcome.errors


def test_the_mended_cell_is_clean(kernel: Kernel) -> None:
    mended = kernel.good(checked(BAD, "--fix")).next_input
    assert mended is not None
    assert not kernel.good(mended["text"]).card["diagnostics"]


def test_one_of_several_is_chosen_by_its_number(kernel: Kernel) -> None:
    outcome = kernel.good(checked(BAD + BAD_TOO, "--fix 2"))
    fixed_too = BAD_TOO.replace("pltpu.SMEM", "pltpu.VMEM")
    assert outcome.next_input == replaced(checked(BAD + fixed_too))


def test_without_a_number_all_are_inserted(kernel: Kernel) -> None:
    outcome = kernel.good(checked(BAD + BAD_TOO, "--fix"))
    text = checked(BAD + BAD_TOO).replace("pltpu.SMEM", "pltpu.VMEM")
    assert outcome.next_input == replaced(text)
    assert outcome.printed == "Inserted fixes 1 and 2. Run the cell again.\n"


@pytest.mark.parametrize("top", ["%%time\n", "\n\n", "# a comment\n"])
def test_what_stands_above_the_magic_stays(kernel: Kernel, top: str) -> None:
    code = top + checked(BAD, "--fix")
    if top.startswith("#"):
        assert not kernel.run(code).ok  # no magic on a line below a comment, as in all IPython
        return
    assert kernel.good(code).next_input == replaced(top + checked(GOOD))


def test_an_unknown_number_fails_and_says_which_there_are(kernel: Kernel) -> None:
    outcome = kernel.run(checked(BAD, "--fix 7"))
    assert outcome.failure == (
        "PallasCheckError: 1 error in 1 kernel: see the card above; no fix was inserted: "
        "there is no fix 7; the fixes of this cell: 1"
    )
    assert outcome.next_input is None


def test_a_clean_cell_has_nothing_to_fix(kernel: Kernel) -> None:
    outcome = kernel.good(checked(GOOD, "--fix"))
    assert outcome.next_input is None
    assert outcome.printed == ""


def test_a_finding_without_a_fix_fails_as_ever(kernel: Kernel) -> None:
    outcome = kernel.run(checked(BAD_TRACE, "--fix"))
    assert outcome.failure == (
        "PallasCheckError: 1 error in 1 kernel: see the card above; no fix was inserted: "
        "no fix is known for what was found"
    )


def test_a_cell_with_an_error_of_its_own_is_left_alone(kernel: Kernel) -> None:
    outcome = kernel.run(checked(BAD + "1 / 0", "--fix"))
    assert outcome.failure == "ZeroDivisionError: division by zero"
    assert outcome.next_input is None
    assert outcome.printed == "No fix was inserted, for the cell ended with an error of its own.\n"


def test_fixes_that_were_not_proved_are_not_inserted(kernel: Kernel) -> None:
    outcome = kernel.run(checked(BAD, "--fix 1 --no-verify"))
    assert outcome.failure.endswith(
        "no fix was inserted: fix 1: move `o_ref` to VMEM was not proved"
    )
    assert outcome.next_input is None


def test_code_that_a_cell_runs_does_not_replace_the_cell(kernel: Kernel) -> None:
    nested = checked(BAD, "--fix")
    outcome = kernel.good(f"nested = get_ipython().run_cell({nested!r})\nnested.error_in_exec")
    assert "no fix was inserted: this code is not the cell that was run" in str(outcome.value)
    assert outcome.next_input is None


def test_a_captured_cell_is_replaced_as_a_whole(kernel: Kernel) -> None:
    outcome = kernel.good("%%capture\n" + checked(BAD, "--fix"))
    assert outcome.next_input == replaced("%%capture\n" + checked(GOOD))


def cell_report(*fixes: Fix, combined: FixSet | None = None) -> Report:
    found = [
        Diagnostic("PM101", "n", "error", "lower", (), "k", "m", None, fixes=(fix,))
        for fix in fixes
    ]
    sources = {"In[1]": Source("cell", "In[1]", "%%pallas_check --fix\nab\n")}
    return Report((), tuple(found), sources, combined)


def edit(column: int, text: str) -> TextEdit:
    return TextEdit(Span("In[1]", 2, column, 2, column + 1), text)


FIRST = Fix(1, "first", "safe", (edit(0, "A"),))
SECOND = Fix(2, "second", "unsafe", (edit(1, "B"),))
IDEA = Fix(3, "idea", "display", ())


def test_fixes_that_were_not_proved_together_are_not_put_together() -> None:
    with pytest.raises(NoFix, match="the fixes 1, 2 cannot go in together; choose one"):
        fixed_cell(cell_report(FIRST, SECOND), "all", "In[1]")


def test_the_combined_fix_is_what_all_means() -> None:
    both = FixSet((1, 2), "safe", (edit(0, "A"), edit(1, "B")))
    fixed = fixed_cell(cell_report(FIRST, SECOND, combined=both), "all", "In[1]")
    assert fixed.text == "%%pallas_check\nAB\n"
    assert fixed.said == "Inserted fixes 1 and 2. Run the cell again."


def test_a_fix_that_is_not_safe_says_so_when_it_is_asked_for() -> None:
    fixed = fixed_cell(cell_report(FIRST, SECOND), 2, "In[1]")
    assert fixed.text == "%%pallas_check\naB\n"
    assert fixed.said == (
        "Inserted fix 2: second (not proved to keep the values). Run the cell again."
    )


def test_a_fix_in_another_cell_is_not_put_into_this_one() -> None:
    report = cell_report(FIRST)
    both = {**report.sources, "In[2]": Source("cell", "In[2]", "call()")}
    report = Report((), report.diagnostics, both)
    with pytest.raises(
        NoFix, match=r"fix 1: first changes In\[1\], which is not the cell that ran"
    ):
        fixed_cell(report, 1, "In[2]")


def test_an_idea_has_no_edit() -> None:
    with pytest.raises(NoFix, match="fix 3: idea is a suggestion without an edit"):
        fixed_cell(cell_report(IDEA), 3, "In[1]")
