"""``%pallas_check expression``."""

from __future__ import annotations

from tests.ipython.cells import BAD, BAD_TRACE, GOOD, checked
from tests.ipython.kernel import Kernel

FAILED = "PallasCheckError: 1 error in 1 kernel: see the card above"
CALL = "scaled(jnp.ones((8, 128), jnp.float32))"


def definition(cell: str) -> str:
    return cell.rsplit("\n", 2)[0]


def test_the_value_of_a_clean_expression_is_returned(kernel: Kernel) -> None:
    kernel.good(definition(GOOD))
    outcome = kernel.good(f"value = %pallas_check {CALL}\nvalue.shape")
    assert outcome.value == "(8, 128)"
    assert len(outcome.cards) == 1


def test_the_value_is_displayed_as_a_last_expression(kernel: Kernel) -> None:
    kernel.good(definition(GOOD))
    assert kernel.good(f"%pallas_check {CALL}.shape").value == "(8, 128)"


def test_an_error_stops_the_cell_there(kernel: Kernel) -> None:
    kernel.good(definition(BAD))
    outcome = kernel.run(f"%pallas_check --target tpu:v6e {CALL}\nafter = 1")
    assert outcome.failure == FAILED
    assert outcome.errors == [FAILED]
    assert outcome.card["diagnostics"][0]["targets"] == ["tpu:v6e"]
    assert kernel.good("'after' in globals()").value == "False"


def test_a_kernel_written_in_the_expression_is_marked_there(kernel: Kernel) -> None:
    kernel.good("shape = jax.ShapeDtypeStruct((8, 128), jnp.float32)\nx = jnp.ones((8, 128))")
    lambda_kernel = "lambda x_ref, o_ref: o_ref.__setitem__(..., jnp.reshape(x_ref[...], (3, 5)))"
    code = (
        f"# kernel\nif True:\n    %pallas_check pl.pallas_call({lambda_kernel}, out_shape=shape)(x)"
    )
    outcome = kernel.run(code)
    assert outcome.failure == FAILED
    span = outcome.card["diagnostics"][0]["primary"]
    assert outcome.card["sources"][span["source"]]["text"] == code
    marked = code.split("\n")[span["start_line"] - 1][span["start_col"] : span["end_col"]]
    assert marked == "jnp.reshape(x_ref[...], (3, 5))"


def test_local_names_are_seen(kernel: Kernel) -> None:
    kernel.good(definition(GOOD))
    code = "def f():\n    hidden = jnp.ones((8, 128))\n    return get_ipython().run_line_magic("
    assert kernel.good(f"{code}'pallas_check', 'scaled(hidden).shape')\nf()").value == "(8, 128)"


def test_a_kernel_that_cannot_be_traced_has_no_traceback(kernel: Kernel) -> None:
    kernel.good(BAD_TRACE.rsplit("\n", 2)[0])
    outcome = kernel.run("%pallas_check counted(jnp.ones((8, 128)))")
    assert outcome.errors == [FAILED]


def test_an_error_of_the_users_own_passes(kernel: Kernel) -> None:
    outcome = kernel.run("%pallas_check 1 / 0")
    assert outcome.failure == "ZeroDivisionError: division by zero"
    assert not outcome.displays


def test_no_run_gives_no_value(kernel: Kernel) -> None:
    kernel.good(definition(GOOD))
    outcome = kernel.good(f"value = %pallas_check --no-run {CALL}\nvalue is None")
    assert outcome.value == "True"
    assert outcome.card["notes"][-1].startswith("stopped after the first Pallas call")


def test_within_a_checked_cell_the_cell_reports_it(kernel: Kernel) -> None:
    kernel.good(definition(BAD))
    outcome = kernel.run(checked(f"value = %pallas_check {CALL}\nprint(value.shape)\n"))
    assert outcome.failure == FAILED
    assert outcome.printed == "(8, 128)\n"
    assert len(outcome.cards) == 1


def test_what_it_cannot_do_is_said(kernel: Kernel) -> None:
    said = kernel.run("%pallas_check --fix 1 scaled(1)").failure
    assert said == (
        "UsageError: --fix changes a cell: use it with `%%pallas_check` on its first line"
    )
    assert kernel.run("%pallas_check").failure == (
        "UsageError: %pallas_check needs an expression, as in `%pallas_check f(x)`"
    )
    assert kernel.run("%pallas_check x = 1").reply["ename"] == "SyntaxError"
