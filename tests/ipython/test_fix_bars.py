"""Bars of fixes end with the output that they stood in."""

from __future__ import annotations

from tests.ipython.cells import BAD, BAD_TOO, GOOD, checked
from tests.ipython.kernel import Kernel

COUNT = """\
from ipywidgets.widgets import widget
len(getattr(widget, "_instances", None) or widget.Widget.widgets)"""


def shown(kernel: Kernel) -> int:
    return int(kernel.good(COUNT).value or 0)


def test_running_a_cell_again_leaves_no_widgets_behind(kernel: Kernel) -> None:
    kernel.run(checked(BAD), cell_id="again")
    once = shown(kernel)
    for _ in range(3):
        kernel.run(checked(BAD), cell_id="again")
    assert shown(kernel) == once


def test_a_good_run_ends_them_too(kernel: Kernel) -> None:
    kernel.good(checked(GOOD), cell_id="mended")
    before = shown(kernel)
    kernel.run(checked(BAD), cell_id="mended")
    assert shown(kernel) > before
    kernel.good(checked(GOOD), cell_id="mended")
    assert shown(kernel) == before


def test_another_cell_keeps_its_own(kernel: Kernel) -> None:
    kernel.run(checked(BAD), cell_id="one")
    with_one = shown(kernel)
    kernel.run(checked(BAD_TOO), cell_id="two")
    assert shown(kernel) > with_one


def test_two_checks_in_one_run_keep_both(kernel: Kernel) -> None:
    kernel.good(BAD[: BAD.index("result = ")])
    one = "%pallas_check scaled(jnp.ones((8, 128), jnp.float32))\n"
    before = shown(kernel)
    kernel.run(one, cell_id="both")
    of_one = shown(kernel) - before
    kernel.run(f"try:\n    {one}except Exception: pass\n{one}", cell_id="both")
    assert shown(kernel) - before == 2 * of_one > 0


def test_a_run_that_nobody_watches_gets_none(kernel: Kernel) -> None:
    kernel.good(checked(GOOD))
    before = shown(kernel)
    found = kernel.run(checked(BAD), watched=False)
    assert found.card["diagnostics"]
    assert shown(kernel) == before
    kernel.run(checked(BAD))
    assert shown(kernel) > before


def test_a_page_that_draws_cards_itself_gets_none(kernel: Kernel) -> None:
    kernel.good(checked(GOOD))
    before = shown(kernel)
    assert [kind for kind, _ in kernel.ask("pallas_magic.page", {"version": 1})] == ["comm_close"]
    found = kernel.run(checked(BAD), cell_id="drawn")
    assert found.card["diagnostics"]
    assert shown(kernel) == before


def test_the_extension_loaded_anew_asks_again(kernel: Kernel) -> None:
    kernel.good(checked(GOOD))
    kernel.ask("pallas_magic.page", {"version": 1})
    kernel.good("%reload_ext pallas_magic")
    before = shown(kernel)
    kernel.run(checked(BAD), cell_id="anew")
    assert shown(kernel) > before
