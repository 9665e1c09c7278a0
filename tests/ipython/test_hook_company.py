"""The hook beside others who show, replace or wrap tracebacks, whoever came first."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.ipython.kernel import IMPORTS, LOAD, Kernel
from tests.ipython.test_hook import appearance
from tests.ipython.test_hook_arrivals import CUT, KERNELS, LOWER

UNLOAD = "%unload_ext pallas_magic"
HANDLER = """\
def handle(self, kind, error, tb, tb_offset=None):
    print('foreign', kind.__name__)
get_ipython().set_custom_exc(({kind},), handle)
"""
WRAPPER = """\
shell = get_ipython()
inner = shell.showtraceback
def foreign(*args, **options):
    print('foreign')
    return inner(*args, **options)
shell.showtraceback = foreign
"""
RICH = "from rich.traceback import install; install()"


@pytest.fixture
def defined(kernel: Kernel) -> Iterator[Kernel]:
    """The shared kernel with the extension, left as it was."""
    kernel.good(KERNELS)
    yield kernel
    kernel.good("get_ipython().set_custom_exc((), None)")
    kernel.good("vars(get_ipython()).pop('showtraceback', None)")
    kernel.good("%reload_ext pallas_magic")
    kernel.good("%xmode Context")


def in_order(kernel: Kernel, code: str, before: bool) -> None:
    """Run ``code`` before or after the extension is loaded."""
    kernel.good(UNLOAD)
    for step in (code, LOAD) if before else (LOAD, code):
        kernel.good(step)


@pytest.mark.parametrize("mode", ["Plain", "Context", "Verbose"])
def test_every_mode_is_cut_and_explained(defined: Kernel, mode: str) -> None:
    defined.good(f"%xmode {mode}")
    outcome = defined.run(LOWER)
    assert len(outcome.cards) == 1
    assert CUT in outcome.errors[0]
    assert "/jax/" not in outcome.errors[0]


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("kind", ["ValueError", "Exception"])
def test_what_a_foreign_handler_shows_is_explained(
    defined: Kernel, kind: str, before: bool
) -> None:
    in_order(defined, HANDLER.format(kind=kind), before)
    outcome = defined.run(LOWER)
    assert outcome.printed == "foreign ValueError\n"
    assert [one["code"] for one in outcome.card["diagnostics"]] == ["PM101"]
    other = defined.run("raise ValueError('mine')")
    assert (other.printed, other.cards) == ("foreign ValueError\n", [])


@pytest.mark.parametrize("before", [True, False])
def test_a_foreign_wrapper_keeps_working(defined: Kernel, before: bool) -> None:
    in_order(defined, WRAPPER, before)
    outcome = defined.run(LOWER)
    assert (outcome.printed, len(outcome.cards)) == ("foreign\n", 1)
    assert CUT in outcome.errors[0]
    defined.good(UNLOAD)
    after = defined.run(LOWER)
    assert (after.printed, after.cards) == ("foreign\n", [])
    assert CUT not in after.errors[0]
    defined.good(LOAD)


def test_three_loads_explain_once(defined: Kernel) -> None:
    for _ in range(3):
        defined.good(UNLOAD)
        assert not defined.run(LOWER).cards
        defined.good(LOAD)
        assert len(defined.run(LOWER).cards) == 1
        defined.good("%reload_ext pallas_magic")
        assert len(defined.run(LOWER).cards) == 1


@pytest.fixture
def with_rich(fresh: Kernel) -> Kernel:
    pytest.importorskip("rich")
    fresh.good(IMPORTS + KERNELS)
    return fresh


@pytest.mark.parametrize("before", [True, False])
def test_rich_shows_the_traceback_and_the_card_follows(with_rich: Kernel, before: bool) -> None:
    for step in (RICH, LOAD) if before else (LOAD, RICH):
        with_rich.good(step)
    outcome = with_rich.run(LOWER)
    assert outcome.failure == "ValueError: Can only store scalars to SMEM"
    (panel, *_) = outcome.displays
    assert "╭" in panel["text/plain"]
    assert len(outcome.cards) == 1
    checked = with_rich.run("%%pallas_check\nscaled(x);")
    assert len(checked.cards) == 1
    assert "PallasCheckError: " in str(checked.displays[-1]["text/plain"])


def test_rich_shows_other_errors_as_without_us(with_rich: Kernel) -> None:
    with_rich.good(RICH)
    with_rich.good(LOAD)
    with_us = with_rich.run("1 / 0")
    with_rich.good(UNLOAD)
    without_us = with_rich.run("1 / 0")
    count = "0"
    shown = [
        str(appearance(one)[4]).replace(f"In[{one.reply['execution_count']}]", count)
        for one in (with_us, without_us)
    ]
    assert shown[0].count("ZeroDivisionError") == shown[1].count("ZeroDivisionError") > 0
    assert len(with_us.displays) == len(without_us.displays) == 1
