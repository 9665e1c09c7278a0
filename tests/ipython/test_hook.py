"""Plain cells: Pallas's errors are explained, all others look as they ever did."""

from __future__ import annotations

import pytest

from tests.ipython.cells import BAD, BAD_TRACE, GOOD
from tests.ipython.kernel import LOAD, Kernel, Outcome, plain

UNLOAD = "%unload_ext pallas_magic"
CUT = "Cut to your own lines; `%tb` prints the whole traceback."
CALL = "counted(jnp.ones((8, 128)))\n"
UNRELATED = {
    "zero": "1 / 0",
    "chained": "try:\n    1 / 0\nexcept Exception as error:\n    raise KeyError('x') from error",
    "group": "raise ExceptionGroup('several', [ValueError(1), TypeError(2)])",
    "usage": "%no_such_magic",
    "option": "%timeit -z",
    "syntax": "x = (",
    "exit": "raise SystemExit(3)",
    "jax": "jax.jit(lambda x: jnp.reshape(x, (7,)))(jnp.ones(3))",
    "deep": "def f(n):\n    return f(n - 1) if n else 1 / 0\nf(300)",
    "own": "class Odd(Exception):\n    _render_traceback_ = lambda self: ['odd']\nraise Odd",
    "slots": "class Odd(Exception):\n    __slots__ = ()\nraise Odd('slots')",
    "kernel": BAD_TRACE.replace("jnp.reshape", "undefined_name"),
}


def appearance(outcome: Outcome) -> tuple[object, ...]:
    """Everything a front end shows of an error, without what differs between two runs."""
    reply = {k: v for k, v in outcome.reply.items() if k in ("status", "ename", "evalue")}
    count = str(outcome.reply["execution_count"])
    errors = [m["traceback"] for kind, m in outcome.messages if kind == "error"]
    shown = ["\n".join(lines).replace(f"In[{count}]", "In[n]") for lines in errors]
    return reply, shown, outcome.printed, outcome.stream("stderr"), outcome.displays


@pytest.mark.parametrize("name", UNRELATED)
def test_an_unrelated_error_is_the_same_with_and_without_us(kernel: Kernel, name: str) -> None:
    code = UNRELATED[name]
    kernel.run(code)  # some of them warn once a session
    with_us = kernel.run(code)
    kernel.good(UNLOAD)
    without_us = kernel.run(code)
    kernel.good(LOAD)
    assert not with_us.ok
    assert appearance(with_us) == appearance(without_us)


@pytest.mark.parametrize("mode", ["Plain", "Context", "Verbose", "Minimal"])
def test_it_is_the_same_in_every_mode(kernel: Kernel, mode: str) -> None:
    kernel.good(f"%xmode {mode}")
    with_us = kernel.run("1 / 0")
    kernel.good(UNLOAD)
    without_us = kernel.run("1 / 0")
    kernel.good(LOAD)
    kernel.good("%xmode Context")
    assert appearance(with_us) == appearance(without_us)


def test_a_kernel_that_fails_to_trace_gets_its_card(kernel: Kernel) -> None:
    outcome = kernel.run(BAD_TRACE)
    assert outcome.reply["ename"] == "TypeError"
    (diagnostic,) = outcome.card["diagnostics"]
    assert (diagnostic["primary"]["start_line"], diagnostic["stage"]) == (2, "trace")
    kinds = [kind for kind, _ in outcome.messages if kind in ("error", "display_data")]
    assert kinds == ["error", "display_data"]


def test_the_traceback_is_cut_to_the_users_lines(kernel: Kernel) -> None:
    (shown,) = kernel.run(BAD_TRACE).errors
    assert "/jax/" not in shown
    assert "o_ref[...] = jnp.reshape(x_ref[...], (3, 5))" in shown
    assert shown.endswith(f"\n\n{CUT}")


def test_the_whole_traceback_is_one_command_away(kernel: Kernel) -> None:
    kernel.run(BAD_TRACE)
    whole = kernel.good("%tb")
    (shown,) = whole.errors
    assert "_trace_kernel_to_jaxpr" in shown
    assert "skipping hidden" not in shown
    assert CUT not in shown
    assert not whole.cards


def test_the_exception_itself_is_left_as_it_was(kernel: Kernel) -> None:
    kernel.run(BAD_TRACE)
    left = "error = __import__('sys').last_value; hasattr(error, '_render_traceback_')"
    assert kernel.good(left).value == "False"
    assert kernel.good("error.__traceback__.tb_next is not None").value == "True"


def test_no_accelerator_is_explained_with_the_way_out(kernel: Kernel) -> None:
    outcome = kernel.run(GOOD)
    assert outcome.failure == "ValueError: Only interpret mode is supported on CPU backend."
    (diagnostic,) = outcome.card["diagnostics"]
    assert (diagnostic["name"], diagnostic["code"][:3]) == ("no-accelerator", "PM9")
    assert diagnostic["primary"]["start_line"] == 9
    assert "/jax/" not in outcome.errors[0]


def test_a_mode_with_nothing_to_cut_is_left_alone(kernel: Kernel) -> None:
    kernel.good("%xmode Minimal")
    outcome = kernel.run(BAD_TRACE)
    kernel.good("%xmode Context")
    assert CUT not in outcome.errors[0]
    assert outcome.cards


def test_a_wrapping_exception_keeps_its_traceback_and_gets_the_card(kernel: Kernel) -> None:
    kernel.run(BAD_TRACE)
    wrapped = (
        f"try:\n    {CALL}except Exception as error:\n    raise RuntimeError('mine') from error"
    )
    outcome = kernel.run(wrapped)
    assert outcome.failure == "RuntimeError: mine"
    assert CUT not in outcome.errors[0]
    assert len(outcome.cards) == 1


def test_an_exception_that_hides_its_context_is_unrelated(kernel: Kernel) -> None:
    kernel.run(BAD_TRACE)
    outcome = kernel.run(
        f"try:\n    {CALL}except Exception:\n    raise RuntimeError('mine') from None"
    )
    assert not outcome.cards


def test_a_part_of_an_exception_group_is_explained(kernel: Kernel) -> None:
    kernel.run(BAD_TRACE)
    outcome = kernel.run(
        f"try:\n    {CALL}except Exception as error:\n"
        "    found = error\nraise ExceptionGroup('several', [KeyError(1), found])"
    )
    assert outcome.reply["ename"] == "ExceptionGroup"
    assert len(outcome.cards) == 1


def test_an_error_is_explained_once_however_often_it_is_shown(kernel: Kernel) -> None:
    kernel.run(BAD_TRACE)
    outcome = kernel.run(f"get_ipython().run_cell({CALL!r}).raise_error()")
    assert len(outcome.errors) == 2
    assert len(outcome.cards) == 1


def test_a_caught_error_is_not_explained(kernel: Kernel) -> None:
    kernel.run(BAD_TRACE)
    assert not kernel.good(f"try:\n    {CALL}except TypeError:\n    pass").displays


def test_an_error_in_an_awaiting_cell_is_explained(kernel: Kernel) -> None:
    outcome = kernel.run(f"import asyncio\nawait asyncio.sleep(0)\n{BAD_TRACE}")
    assert len(outcome.cards) == 1
    assert CUT in outcome.errors[0]


def test_a_silent_request_shows_nothing_of_ours_then_or_later(kernel: Kernel) -> None:
    assert not kernel.run(BAD_TRACE, silent=True).displays
    assert not kernel.good("1 + 1").displays


@pytest.mark.parametrize("before", [True, False])
def test_a_foreign_handler_keeps_working(kernel: Kernel, before: bool) -> None:
    handler = (
        "def handle(self, kind, error, tb, tb_offset=None):\n    print('foreign', error)\n"
        "get_ipython().set_custom_exc((ZeroDivisionError,), handle)"
    )
    if before:
        kernel.good(UNLOAD)
    kernel.good(handler)
    if before:
        kernel.good(LOAD)
    assert kernel.run("1 / 0").printed == "foreign division by zero\n"
    assert len(kernel.run(BAD_TRACE).cards) == 1
    kernel.good("get_ipython().set_custom_exc((), None)")


def test_a_foreign_handler_of_everything_still_gets_its_card(kernel: Kernel) -> None:
    kernel.good(
        "def handle(self, kind, error, tb, tb_offset=None):\n    print('foreign')\n"
        "get_ipython().set_custom_exc((Exception,), handle)"
    )
    outcome = kernel.run(f"%%pallas_check\n{BAD}{BAD_TRACE}")
    kernel.good("get_ipython().set_custom_exc((), None)")
    assert outcome.printed == "foreign\n"
    assert len(outcome.card["diagnostics"]) == 2
    assert outcome.reply["ename"] == "TypeError"


def test_a_foreign_wrapper_around_ours_survives_unloading(kernel: Kernel) -> None:
    kernel.good(
        "shell = get_ipython(); ours = shell.showtraceback\n"
        "def foreign(*args, **options):\n    print('foreign'); return ours(*args, **options)\n"
        "shell.showtraceback = foreign"
    )
    assert kernel.run("1 / 0").printed == "foreign\n"
    kernel.good(UNLOAD)
    after = kernel.run(BAD_TRACE)
    assert (after.printed, after.cards) == ("foreign\n", [])
    assert CUT not in after.errors[0]
    kernel.good(LOAD)
    again = kernel.run(CALL)
    assert (again.printed, len(again.cards)) == ("foreign\n", 1)
    kernel.good(UNLOAD)
    kernel.good("del get_ipython().showtraceback")
    kernel.good(LOAD)


def test_functions_that_a_dataclass_wrote_are_cut_too(kernel: Kernel) -> None:
    kernel.good("from jax.experimental.pallas import mosaic_gpu as plgpu")
    outcome = kernel.run("plgpu.Barrier(num_arrivals=0)")
    shown = plain("\n".join(outcome.reply["traceback"]))
    assert CUT in shown
    assert "<string>" not in shown
    (diagnostic,) = outcome.card["diagnostics"]
    assert diagnostic["message"] == (
        "`plgpu.Barrier` does not take this: Num arrivals must be at least 1, but got 0"
    )
