"""Cells whose kernels are compiled: what the card says meanwhile, and Ctrl-C in the middle."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pallas_magic.aot.compilers import compilers_folder, libtpu_requirement
from tests.aot.folders import make_broken_libtpu
from tests.ipython.cells import BAD_TOO, GOOD, checked
from tests.ipython.kernel import CARD, IMPORTS, LOAD, Kernel, Message, Outcome, running_kernel
from tests.ipython.terminal import plain, running_terminal

EVERY_TPU = "--target tpu:all"
# A machine may compile faster than it takes to say so.
AT_ONCE = "import pallas_magic.ipython.stages as stages; stages._PROGRESS_SECONDS = 0.0"
# Every tile is an operation of its own: a compiler takes half a minute.
BUSY = """\
def busy(x_ref, o_ref):
    x = x_ref[...]
    for _ in range(4):
        x = jnp.tanh(jnp.sin(x))
    o_ref[...] = x

big = jax.ShapeDtypeStruct((256, 1024), jnp.float32)
jax.eval_shape(pl.pallas_call(busy, out_shape=big), big)
"""
WORKERS = """\
from pallas_magic.aot.pool import pool
print([worker.alive for worker in pool()._workers.values()])
"""


@pytest.fixture(scope="module")
def _with_compiler() -> Iterator[Kernel]:
    with running_kernel() as kernel:
        kernel.good(LOAD)
        kernel.good(IMPORTS)
        yield kernel


@pytest.fixture
def compiling(request: pytest.FixtureRequest) -> Kernel:
    """A kernel that can compile for TPUs."""
    # Asked for in the test, where the folder of compilers is the installed one.
    kernel: Kernel = request.getfixturevalue("_with_compiler")
    return kernel


def cards(outcome: Outcome) -> list[Any]:
    """The cards in the order in which they were shown."""
    return [
        message["data"][CARD]["card"]
        for kind, message in outcome.messages
        if kind in ("display_data", "update_display_data") and message["data"].get(CARD)
    ]


def states(outcome: Outcome) -> list[str]:
    """What each card says is going on, repetitions left out."""
    told = [card["progress"] or card["state"] for card in cards(outcome)]
    return [one for number, one in enumerate(told) if told[:number][-1:] != [one]]


@pytest.mark.tpu_compiler
def test_the_card_stands_before_the_compiler_is_done(compiling: Kernel) -> None:
    outcome = compiling.good(checked(GOOD))
    first, *_, last = cards(outcome)
    assert (first["state"], first["progress"]) == ("proving", "compiling…")
    assert "lowers for TPU v5e" in str(first["kernels"])
    assert last["state"] == "done"
    assert "compiles for TPU v5e" in str(last["kernels"])
    assert [kind for kind, _ in outcome.messages if "display" in kind][:2] == [
        "display_data",
        "update_display_data",
    ]


@pytest.mark.tpu_compiler
def test_compiled_comes_before_proved(compiling: Kernel) -> None:
    outcome = compiling.run(checked(GOOD.replace("2.0", "2.5") + BAD_TOO))
    assert [state for state in states(outcome) if " of " not in state] == [
        "compiling…",
        "proving…",
        "done",
    ]
    compiled = next(card for card in cards(outcome) if card["progress"] == "proving…")
    assert "compiles for TPU v5e" in str(compiled["kernels"])


@pytest.mark.tpu_compiler
def test_no_verify_compiles_too(compiling: Kernel) -> None:
    outcome = compiling.run(checked(GOOD.replace("2.0", "3.5") + BAD_TOO, "--no-verify"))
    last = cards(outcome)[-1]
    assert last["state"] == "done"
    assert "compiles for TPU v5e" in str(last["kernels"])
    (fix,) = last["diagnostics"][0]["fixes"]
    assert fix["applicability"] == "display"
    assert "not proved: --no-verify" in str(fix["proof"])


@pytest.mark.tpu_compiler
def test_what_takes_a_while_is_counted() -> None:
    with running_kernel() as kernel:
        kernel.good(LOAD)
        kernel.good(IMPORTS)
        kernel.good(AT_ONCE)
        shown = states(kernel.good(checked(GOOD, EVERY_TPU)))
    assert shown[:2] == ["compiling…", "compiling 1 of 5…"]
    assert shown[-1] == "done"


def interrupted(kernel: Kernel, code: str) -> tuple[Outcome, float]:
    """Run ``code``, press Ctrl-C while it is compiled; the seconds it took to end."""
    pressed: list[float] = []

    def on_message(kind: str, message: Message) -> None:
        if kind == "update_display_data" and " of 5" in message["data"]["text/html"]:
            if not pressed:
                kernel.interrupt()
            pressed.append(time.monotonic())

    outcome = kernel.run(code, on_message=on_message)
    return outcome, time.monotonic() - pressed[0]


@pytest.mark.tpu_compiler
@pytest.mark.parametrize("top", ["", "import asyncio\nawait asyncio.sleep(0)\n"])
def test_ctrl_c_ends_the_compiler_at_once(compiling: Kernel, top: str) -> None:
    outcome, seconds = interrupted(compiling, checked(top + BUSY, EVERY_TPU))
    assert outcome.failure == "KeyboardInterrupt: the check was interrupted"
    assert seconds < 5
    last = cards(outcome)[-1]
    assert (last["state"], last["progress"]) == ("done", "")
    assert "not compiled: interrupted" in str(last["notes"])
    assert "it is being compiled" not in str(outcome.card)
    assert compiling.good(WORKERS).printed == "[False]\n"
    again = compiling.good(checked(GOOD.replace("2.0", "4.5")))
    assert "compiles for TPU v5e" in str(cards(again)[-1]["kernels"])


@pytest.mark.tpu_compiler
def test_ctrl_c_leaves_fixes_as_ideas(compiling: Kernel) -> None:
    outcome, _ = interrupted(compiling, checked(BUSY + BAD_TOO, EVERY_TPU))
    (diagnostic,) = outcome.card["diagnostics"]
    assert [fix["proof"]["why"] for fix in diagnostic["fixes"]] == ["not proved: interrupted"]


def test_a_compiler_that_does_not_load_is_one_line_on_the_card(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALLAS_MAGIC_COMPILERS", str(tmp_path))
    make_broken_libtpu(libtpu_requirement().removeprefix("libtpu==").replace("*", "1"))
    assert compilers_folder("tpu").is_dir()
    with running_kernel() as kernel:
        kernel.good(LOAD)
        kernel.good(IMPORTS)
        outcome = kernel.run(checked(GOOD + BAD_TOO))
    card = outcome.card["card"]
    assert card["state"] == "done"
    notes = ["".join(text for _, text in note) for note in card["notes"]]
    assert [note.startswith("not compiled for TPU v5e: ") for note in notes].count(True) == 1
    (fix,) = outcome.card["diagnostics"][0]["fixes"]
    assert (fix["applicability"], fix["proof"]["compiles"]) == ("safe", None)


@pytest.mark.tpu_compiler
def test_a_terminal_says_what_is_going_on_until_it_is_done(tmp_path: Path) -> None:
    with running_terminal(tmp_path) as terminal:
        terminal.run(AT_ONCE)
        shown = terminal.run(checked(GOOD, EVERY_TPU))
    assert "compiling 1 of 5…\r\x1b[K" in shown
    lasting = plain(shown)
    assert "compiling" not in lasting
    assert lasting.count("✓ compiles for TPU v4, v5e, v5p, v6e and v7x") == 1
