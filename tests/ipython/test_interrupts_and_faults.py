"""Ctrl-C in the middle of a check, and a failure of ours in each room."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.ipython.cells import BAD, BAD_TRACE, GOOD, checked
from tests.ipython.kernel import Kernel, Message, Outcome

TABLES = """\
def tables():
    from jax._src.interpreters import mlir
    from jax._src.pallas import pallas_call, mpmd
    primitives = (pallas_call.pallas_call_p, mpmd.mpmd_map_p)
    return [
        *(id(mlir._lowerings[primitive]) for primitive in primitives),
        *(id(primitive.bind.__func__) for primitive in primitives),
        *("bind" in vars(primitive) for primitive in primitives),
        id(pl.pallas_call), id(pl.BlockSpec.__init__), id(pl.BlockSpec.__post_init__),
        id(get_ipython().showtraceback),
    ]
before = tables()
"""
UNTOUCHED = "tables() == before"
# Waits without end where the fixes are proved, as a slow proof would.
SLOW_PROOF = """\
import threading
from pallas_magic.engine import Watch
proof = Watch.prove
def slow(self):
    print("proving", flush=True)
    threading.Event().wait()
Watch.prove = slow
"""
LINE = "Your code and its own errors are as without it; `%pallas_failure` prints what to report.\n"


@pytest.fixture
def tables(kernel: Kernel) -> Iterator[Kernel]:
    kernel.good(TABLES)
    yield kernel
    assert kernel.good(UNTOUCHED).value == "True"


def interrupted(kernel: Kernel, code: str, at: str) -> Outcome:
    """Run ``code`` and press Ctrl-C when it has printed ``at``."""

    def on_message(kind: str, message: Message) -> None:
        if kind == "stream" and at in message["text"]:
            kernel.interrupt()

    return kernel.run(code, on_message=on_message)


def test_ctrl_c_in_the_users_code_ends_the_check_with_it(tables: Kernel) -> None:
    code = BAD + "import threading\nprint('waiting', flush=True)\nthreading.Event().wait()\n"
    outcome = interrupted(tables, checked(code), "waiting")
    assert outcome.reply["ename"] == "KeyboardInterrupt"
    assert not outcome.displays


@pytest.mark.parametrize("top", ["", "import asyncio\nawait asyncio.sleep(0)\n"])
def test_ctrl_c_while_proving_shows_the_interrupt_and_a_settled_card(
    tables: Kernel, top: str
) -> None:
    tables.good(SLOW_PROOF)
    try:
        outcome = interrupted(tables, checked(top + BAD), "proving")
    finally:
        tables.good("Watch.prove = proof")
    assert outcome.failure == "KeyboardInterrupt: the check was interrupted"
    assert outcome.card["card"]["state"] == "done"
    (fix,) = outcome.card["diagnostics"][0]["fixes"]
    assert fix["applicability"] == "display"
    assert fix["proof"]["why"] == "not proved: interrupted"
    assert tables.run(checked(BAD)).card["diagnostics"][0]["fixes"][0]["applicability"] == "safe"


def test_ctrl_c_while_proving_does_not_hide_the_cells_own_error(tables: Kernel) -> None:
    tables.good(SLOW_PROOF)
    try:
        outcome = interrupted(tables, checked(BAD + BAD_TRACE), "proving")
    finally:
        tables.good("Watch.prove = proof")
    first, last = outcome.errors
    assert "TypeError: cannot reshape array" in first
    assert last.endswith("KeyboardInterrupt: the check was interrupted")


def broken(kernel: Kernel, room: str, code: str) -> Outcome:
    """Run ``code`` while the function ``room`` of ours raises."""
    module, _, name = room.partition(":")
    kernel.good(
        f"import importlib, functools; module = importlib.import_module({module!r})\n"
        f"*path, name = {name!r}.split('.')\n"
        "owner = functools.reduce(getattr, path, module); kept = getattr(owner, name)\n"
        "def broken(*args, **options):\n    raise LookupError('ours')\n"
        "setattr(owner, name, broken)"
    )
    try:
        return kernel.run(code)
    finally:
        kernel.good("setattr(owner, name, kept)")


@pytest.mark.parametrize(
    ("room", "doing"),
    [
        ("pallas_magic.engine:Watch.__enter__", "starting the check"),
        ("pallas_magic.engine:Watch.report", "checking this cell"),
        ("pallas_magic.ipython.check:Check.report", "checking this cell"),
        ("pallas_magic.ipython.display:NotebookCard.show", "checking this cell"),
    ],
)
@pytest.mark.parametrize("ending", ["'value'", "1 / 0", BAD_TRACE])
def test_a_failure_of_ours_leaves_the_cell_to_the_user(
    tables: Kernel, room: str, doing: str, ending: str
) -> None:
    call = "" if "enter" in room else GOOD
    outcome = broken(tables, room, checked(f"kept_value = 5\n{call}{ending}"))
    without = tables.run(f"%unload_ext pallas_magic\n{ending}")
    tables.good("%load_ext pallas_magic")
    tables.good("before = tables()")
    assert outcome.warned.startswith(f"pallas_magic failed while {doing} (LookupError: ours). ")
    assert outcome.warned.endswith(LINE)
    assert outcome.warned.count("\n") == 1
    for told in ("status", "ename", "evalue"):
        assert outcome.reply.get(told) == without.reply.get(told)
    assert len(outcome.errors) == len(without.errors)
    assert outcome.value == without.value
    assert tables.good("kept_value").value == "5"


def test_a_failed_proof_leaves_the_card(tables: Kernel) -> None:
    outcome = broken(tables, "pallas_magic.engine:Watch.prove", checked(BAD))
    assert outcome.warned.startswith("pallas_magic failed while proving the fixes (LookupError")
    assert outcome.failure == "PallasCheckError: 1 error in 1 kernel: see the card above"
    assert outcome.card["card"]["state"] == "done"
    (fix,) = outcome.card["diagnostics"][0]["fixes"]
    assert fix["applicability"] == "display"
    assert fix["proof"]["why"] == "not proved: pallas_magic failed, LookupError"


def test_a_failed_drawing_leaves_the_text(tables: Kernel) -> None:
    outcome = broken(tables, "pallas_magic.render.html:render_html", checked(GOOD))
    assert outcome.ok
    assert "pallas_magic failed while drawing the card (LookupError: ours)" in outcome.warned
    assert "scale  ✓ lowers" in outcome.displays[0]["text/plain"]


def test_a_failed_explanation_leaves_jax_s_own_error(tables: Kernel) -> None:
    outcome = broken(tables, "pallas_magic.engine:explain", BAD_TRACE)
    assert outcome.reply["ename"] == "TypeError"
    assert "pallas_call.py" in outcome.errors[0]
    assert outcome.warned == (
        f"pallas_magic failed while explaining this error (LookupError: ours). {LINE}"
    )
    assert not outcome.displays


def test_what_to_report_is_kept(kernel: Kernel) -> None:
    broken(kernel, "pallas_magic.engine:Watch.report", checked(GOOD))
    printed = kernel.good("%pallas_failure").printed
    assert "LookupError: ours" in printed
    assert "Traceback (most recent call last)" in printed
    assert "jax " in printed.rsplit("\n", 2)[-2]


def test_nothing_to_report_is_said(fresh: Kernel) -> None:
    fresh.good("%load_ext pallas_magic")
    assert fresh.good("%pallas_failure").printed == (
        "pallas_magic has not failed in this session.\n"
    )
