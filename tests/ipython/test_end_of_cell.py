"""How a checked cell ends, and what stands under it."""

from __future__ import annotations

import pytest

from pallas_magic.targets import known_names
from tests.ipython.cells import BAD, BAD_TOO, BAD_TRACE, GOOD, checked
from tests.ipython.kernel import CARD, WIDGET, Kernel, Message

STOPPED = "stopped after the first Pallas call: checked, not executed"
FAILED = "PallasCheckError: 1 error in 1 kernel: see the card above"


def codes(card: Message) -> list[str]:
    return [diagnostic["code"] for diagnostic in card["diagnostics"]]


def kernel_lines(card: Message) -> list[str]:
    return ["".join(text for _, text in line).split(" (")[0] for line in card["card"]["kernels"]]


def test_a_cell_with_an_error_fails_with_one_line_under_its_card(kernel: Kernel) -> None:
    outcome = kernel.run(checked(BAD))
    assert outcome.failure == FAILED
    assert outcome.errors == [FAILED]
    assert codes(outcome.card) == ["PM101"]
    kinds = [kind for kind, _ in outcome.messages]
    assert kinds.index("display_data") < kinds.index("error")


def test_a_clean_cell_ends_ok_with_one_line_for_each_kernel(kernel: Kernel) -> None:
    outcome = kernel.good(checked(GOOD + GOOD.replace("scale", "triple")))
    assert kernel_lines(outcome.card) == [
        "scale ✓ lowers for TPU v5e",
        "triple ✓ lowers for TPU v5e",
    ]
    assert [list(data) for data in outcome.displays] == [["text/plain", "text/html", CARD]]


def test_a_cell_without_a_kernel_says_so(kernel: Kernel) -> None:
    outcome = kernel.good(checked("1 + 1"))
    assert outcome.value == "2"
    assert outcome.displays[0]["text/plain"] == "no Pallas call was made"


def test_a_cell_of_the_magic_alone_says_so_too(kernel: Kernel) -> None:
    assert kernel.good("%%pallas_check").displays[0]["text/plain"] == "no Pallas call was made"


def test_one_card_counts_all_kernels(kernel: Kernel) -> None:
    outcome = kernel.run(checked(BAD + BAD_TOO))
    assert outcome.failure == "PallasCheckError: 2 errors in 2 kernels: see the card above"
    assert codes(outcome.card) == ["PM101", "PM101"]


def test_the_card_is_shown_at_once_and_updated_when_its_fixes_are_proved(kernel: Kernel) -> None:
    outcome = kernel.run(checked(BAD))
    shown = [m for kind, m in outcome.messages if kind == "display_data" and m["data"].get(CARD)]
    updated = [m for kind, m in outcome.messages if kind == "update_display_data"]
    assert [m["data"][CARD]["card"]["state"] for m in shown + updated] == ["proving", "done"]
    assert shown[0]["transient"] == updated[0]["transient"]
    (fix,) = outcome.card["diagnostics"][0]["fixes"]
    assert fix["applicability"] == "safe"


def test_the_widget_is_an_output_of_its_own(kernel: Kernel) -> None:
    card, bar = kernel.run(checked(BAD)).displays
    assert WIDGET not in card
    assert bar[CARD] == {}
    assert bar[WIDGET]["model_id"]


def test_without_verifying_nothing_is_called_safe(kernel: Kernel) -> None:
    outcome = kernel.run(checked(BAD, "--no-verify"))
    (fix,) = outcome.card["diagnostics"][0]["fixes"]
    assert fix["applicability"] == "display"
    assert fix["proof"]["why"] == "not proved: `--no-verify`"
    assert outcome.card["card"]["state"] == "done"


def test_no_run_stops_the_cell_at_its_first_call(kernel: Kernel) -> None:
    kernel.good("reached = 0")
    outcome = kernel.good(checked(GOOD + "reached = 1", "--no-run"))
    assert kernel_lines(outcome.card) == ["scale ✓ lowers for TPU v5e"]
    assert outcome.card["notes"][-1] == STOPPED
    assert not outcome.errors
    assert kernel.good("reached, 'result' in globals()").value == "(0, False)"
    assert kernel.run(checked(BAD, "--no-run")).failure == FAILED


def test_except_exception_does_not_swallow_the_stop(kernel: Kernel) -> None:
    body = "".join(f"    {line}\n" for line in GOOD.splitlines())
    code = f"swallowed = False\ntry:\n{body}except Exception:\n    swallowed = True\n"
    assert kernel.good(checked(code, "--no-run")).cards
    assert kernel.good("swallowed").value == "False"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            "--target tpu:v99",
            f"unknown target 'tpu:v99'; known targets: auto, {', '.join(known_names())}",
        ),
        ("--bogus", "no option '--bogus'"),
        ("--fix two", "argument --fix: 'two' is not the number of a fix"),
        ("--target", "argument --target: expected one argument"),
        ("f(x)", "no option 'f(x)'"),
    ],
)
def test_a_bad_option_is_explained_and_nothing_runs(
    kernel: Kernel, options: str, said: str
) -> None:
    outcome = kernel.run(checked("print('ran')\nran = 1", options))
    assert outcome.failure.startswith(f"UsageError: pallas_check: {said}")
    assert outcome.failure.endswith(
        ". Options: --target T, --fix [N], --no-run, --no-verify. Nothing was run."
    )
    assert outcome.warned == f"{outcome.failure}\n"
    assert (outcome.printed, outcome.displays) == ("", [])
    assert kernel.good("'ran' in globals()").value == "False"


def test_several_targets_are_checked_at_once(kernel: Kernel) -> None:
    outcome = kernel.run(checked(BAD, "--target tpu:v5e,v6e"))
    assert outcome.card["diagnostics"][0]["targets"] == ["tpu:v5e", "tpu:v6e"]


def test_an_error_of_the_users_own_is_shown_as_it_is(kernel: Kernel) -> None:
    outcome = kernel.run(checked("1 / 0"))
    assert outcome.failure == "ZeroDivisionError: division by zero"
    assert "----> 2 1 / 0" in outcome.errors[0]
    assert not outcome.displays


def test_calls_before_an_error_of_the_users_own_are_reported(kernel: Kernel) -> None:
    outcome = kernel.run(checked(BAD + "1 / 0"))
    assert outcome.failure == "ZeroDivisionError: division by zero"
    assert len(outcome.errors) == 1
    assert codes(outcome.card) == ["PM101"]


def test_a_mistake_in_the_kernels_python_is_the_users_own(kernel: Kernel) -> None:
    outcome = kernel.run(checked(BAD.replace("x_ref[...]", "nothing[...]")))
    assert outcome.failure == "NameError: name 'nothing' is not defined"
    assert not outcome.displays


def test_a_kernel_that_cannot_be_traced_is_explained_without_a_traceback(kernel: Kernel) -> None:
    outcome = kernel.run(checked(BAD_TRACE + "after = 1"))
    assert outcome.failure == FAILED
    assert outcome.errors == [FAILED]
    assert outcome.card["diagnostics"][0]["stage"] == "trace"
    assert kernel.good("'after' in globals()").value == "False"


def test_tb_and_debug_see_jax_s_own_error(kernel: Kernel) -> None:
    kernel.run(checked(BAD_TRACE))
    whole = kernel.good("%tb")
    assert "TypeError: cannot reshape array" in whole.errors[0]
    assert "_trace_kernel_to_jaxpr" in whole.errors[0]
    assert kernel.good("type(__import__('sys').last_value).__name__").value == "'TypeError'"


def test_a_check_without_an_exception_leaves_the_last_one_alone(kernel: Kernel) -> None:
    kernel.run("1 / 0")
    kernel.run(checked(BAD))
    assert kernel.good("type(__import__('sys').last_value).__name__").value == "'ZeroDivisionError'"


def test_an_unclosed_bracket_is_a_syntax_error_and_no_check(kernel: Kernel) -> None:
    outcome = kernel.run(checked("x = ("))
    assert outcome.reply["ename"] in ("SyntaxError", "_IncompleteInputError")
    assert not outcome.displays


def test_settings_above_the_cells_own_import_of_jax_count(fresh: Kernel) -> None:
    from tests.ipython.kernel import IMPORTS, LOAD

    fresh.good(LOAD)
    settings = "import os\nos.environ['JAX_ENABLE_X64'] = '1'\n"
    outcome = fresh.run(checked(settings + IMPORTS + BAD + "jnp.arange(3.0).dtype"))
    assert outcome.value == "dtype('float64')"
    assert codes(outcome.card) == ["PM101"]
    loaders = "'pallas_magic' in f'{pl.__loader__} {pl.__spec__.loader}'"
    assert fresh.good(loaders).value == "False"
