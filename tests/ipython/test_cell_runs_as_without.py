"""A checked cell does what it does without the magic, and what was found points into it."""

from __future__ import annotations

import pytest

from tests.ipython.cells import BAD, GOOD, checked, stored_at
from tests.ipython.kernel import Kernel, Outcome


def points_at(outcome: Outcome) -> tuple[str, int, int, int]:
    (diagnostic,) = outcome.card["diagnostics"]
    span = diagnostic["primary"]
    source = outcome.card["sources"][span["source"]]
    assert span["start_line"] == span["end_line"]
    return source["text"], span["start_line"], span["start_col"], span["end_col"]


@pytest.mark.parametrize(
    "code",
    [
        checked(BAD),
        checked(BAD, "--target tpu:v6e --no-verify"),
        f"\n\n   \n{checked(BAD)}",
        "\n".join("    " + line for line in checked(BAD).split("\n")),
        checked("\n\n" + BAD),
        checked("%%time\n" + BAD),
        checked("\n%%time\n" + BAD),
        f"%%time\n{checked(BAD)}",
        f"\n%%time\n\n{checked(BAD)}",
        checked("n = %timeit -n1 -r1 -q -o \\\n  pass\n" + BAD + "m = !echo hi\n"),
        checked(BAD.replace("x_ref", "größe")),
        checked(BAD.replace("    o_ref[...]", "    '🎈 é'; o_ref[...]")),
        checked("from __future__ import annotations\n" + BAD),
        checked("'a docstring'\n" + BAD),
        checked(BAD + "import asyncio\nawait asyncio.sleep(0)\n"),
        ">>> " + "\n... ".join(checked(BAD).split("\n")),
        "In [1]: " + "\n   ...: ".join(checked(BAD).split("\n")),
        checked("%time 1 + 1\n" + BAD),
        checked("if True:\n" + "".join(f"    {line}\n" for line in BAD.splitlines())),
    ],
)
def test_the_mark_is_on_the_store_in_the_text_as_sent(kernel: Kernel, code: str) -> None:
    outcome = kernel.run(code)
    assert outcome.failure == "PallasCheckError: 1 error in 1 kernel: see the card above"
    assert points_at(outcome) == (code, *stored_at(code))


def test_each_statement_runs_once_and_prints_once(kernel: Kernel) -> None:
    kernel.good("seen = []")
    outcome = kernel.run(checked(f"print('hello')\nseen.append(1)\n{BAD}seen.append(2)\n"))
    assert outcome.printed == "hello\n"
    assert kernel.good("seen").value == "[1, 2]"


def test_variables_values_and_the_displayed_expression_stay(kernel: Kernel) -> None:
    outcome = kernel.run(checked(BAD + "result.shape\n"))
    assert not outcome.ok
    assert outcome.value == "(8, 128)"
    assert kernel.good("_").value == "(8, 128)"
    assert kernel.good("float(result[0, 0])").value == "2.0"


def test_the_execution_count_and_the_history_are_as_ever(kernel: Kernel) -> None:
    first = kernel.good("'before'").reply["execution_count"]
    outcome = kernel.good(checked(GOOD + "'inside'"))
    assert outcome.reply["execution_count"] == first + 1
    assert kernel.good(f"Out[{first + 1}]").value == "'inside'"
    assert kernel.good(f"In[{first + 1}].count('pallas_check')").value == "1"


def test_await_returns_its_value(kernel: Kernel) -> None:
    code = checked(f"import asyncio\n{GOOD}await asyncio.sleep(0, 'awaited')")
    assert kernel.good(code).value == "'awaited'"


def test_a_future_import_holds_for_the_cell_and_later_ones(kernel: Kernel) -> None:
    kernel.good(checked("from __future__ import annotations\ndef f(x: not_defined): pass\n"))
    assert kernel.good("f.__annotations__").value == "{'x': 'not_defined'}"
    kernel.good("get_ipython().compile.reset_compiler_flags()")


def test_a_local_name_in_the_options_is_filled_in(kernel: Kernel) -> None:
    kernel.good("chip = 'tpu:v6e'")
    outcome = kernel.run(checked(BAD, "--target $chip"))
    assert outcome.card["diagnostics"][0]["targets"] == ["tpu:v6e"]


def test_help_is_shown_and_nothing_runs(kernel: Kernel) -> None:
    outcome = kernel.good("%%pallas_check?")
    (page,) = outcome.reply["payload"]
    assert page["source"] == "page"
    text = page["data"]["text/plain"]
    assert "Check the Pallas calls of a cell" in text
    for option in ("--target T", "--fix [N]", "--no-run", "--no-verify"):
        assert text.count(option) >= 2
    assert not outcome.cards


def test_a_timed_cell_still_tells_its_time(kernel: Kernel) -> None:
    for code in (checked("%%time\n" + GOOD), f"%%time\n{checked(GOOD)}"):
        assert "Wall time" in kernel.good(code).printed


def test_a_silent_request_is_run_and_not_checked(kernel: Kernel) -> None:
    silent = kernel.run(checked("quiet = 1"), silent=True)
    assert silent.ok
    assert not silent.messages
    after = kernel.good("quiet")
    assert (after.value, after.displays) == ("1", [])


def test_the_next_cell_is_not_checked(kernel: Kernel) -> None:
    kernel.good(checked(GOOD))
    assert not kernel.good("1 + 1").displays


def test_two_cells_of_the_same_text_are_told_apart(kernel: Kernel) -> None:
    code = checked(BAD)
    for cell_id in ("first", "second", "first"):
        outcome = kernel.run(code, cell_id=cell_id)
        (source,) = outcome.card["sources"].values()
        assert source["cell_id"] == cell_id
        assert source["label"] == f"In[{outcome.reply['execution_count']}]"


def test_a_kernel_of_another_cell_is_shown_there(kernel: Kernel) -> None:
    definition, call = BAD.rsplit("\n", 2)[0] + "\n", "scaled(jnp.ones((8, 128)))"
    defined = kernel.good(definition, cell_id="definition")
    outcome = kernel.run(checked(call), cell_id="call")
    assert not outcome.ok
    text, *place = points_at(outcome)
    assert (text, *place) == (definition, *stored_at(definition))
    source = outcome.card["sources"][outcome.card["diagnostics"][0]["primary"]["source"]]
    assert source["label"] == f"In[{defined.reply['execution_count']}]"
    assert source["cell_id"] == "definition"


@pytest.mark.parametrize("timed", ["%%time\n", ""])
def test_a_kernel_of_a_timed_cell_is_found_after_other_timed_cells(
    kernel: Kernel, timed: str
) -> None:
    definition = timed + "\n# a line more\n" + BAD.rsplit("\n", 2)[0] + "\n"
    kernel.good(definition)
    kernel.good("%%time\ndef other(x_ref, o_ref):\n    pass\nunrelated = 1\n")
    text, *place = points_at(kernel.run(checked("scaled(jnp.ones((8, 128)))")))
    assert (text, *place) == (definition, *stored_at(definition))


def test_a_cell_that_ran_before_loading_is_found_in_the_history(fresh: Kernel) -> None:
    from tests.ipython.kernel import IMPORTS, LOAD

    definition = BAD.rsplit("\n", 2)[0]
    fresh.good(IMPORTS)
    fresh.good(definition)
    fresh.good(LOAD)
    outcome = fresh.run(checked("scaled(jnp.ones((8, 128)))"))
    text, *place = points_at(outcome)
    assert (text, *place) == (definition, *stored_at(definition))
    source = outcome.card["sources"][outcome.card["diagnostics"][0]["primary"]["source"]]
    assert (source["kind"], source["label"]) == ("cell", "In[2]")


def test_a_nested_cell_belongs_to_the_check_around_it(kernel: Kernel) -> None:
    outcome = kernel.run(checked(f"get_ipython().run_cell({BAD!r})\n'after'"))
    assert outcome.failure == "PallasCheckError: 1 error in 1 kernel: see the card above"
    assert outcome.value == "'after'"
    text, *place = points_at(outcome)
    assert (text, *place) == (BAD, *stored_at(BAD))


def test_a_nested_checked_cell_reports_before_the_outer_one_goes_on(kernel: Kernel) -> None:
    code = f"nested = get_ipython().run_cell({checked(BAD)!r})\nprint(type(nested.error_in_exec))"
    outcome = kernel.good(code)
    assert "PallasCheckError" in outcome.printed
    assert len(outcome.cards) == 1


def test_the_cell_magic_called_as_a_function_checks_too(kernel: Kernel) -> None:
    outcome = kernel.run(f"get_ipython().run_cell_magic('pallas_check', '', {BAD!r})")
    assert outcome.failure == "PallasCheckError: 1 error in 1 kernel: see the card above"


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("%%pallas_check", "incomplete"),
        ("%%pallas_check\nx = 1", "incomplete"),
        ("%%pallas_check\nx = 1\n\n", "complete"),
        ("x = 1", "complete"),
    ],
)
def test_a_terminal_lets_the_body_be_typed(kernel: Kernel, code: str, status: str) -> None:
    assert kernel.is_complete(code) == status
    assert not kernel.good("'not armed'").displays
