"""``pallas_magic.check`` called in a notebook knows its cells."""

from __future__ import annotations

import pytest

from pallas_magic.source.document import Library
from pallas_magic.source.host import current_library, offer_library, withdraw_library
from tests.ipython.kernel import IMPORTS, LOAD, Kernel

SCALED = """\
def scale(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0

def scaled(x):
    return pl.pallas_call(
        scale, out_shape=x, out_specs=pl.BlockSpec(memory_space=pltpu.SMEM)
    )(x)
"""
CHECK = """\
import pallas_magic
report = pallas_magic.check(scaled, jnp.ones((8, 128)), target={target!r})
print([(source.kind, source.label, source.cell_id) for source in report.sources.values()])
print([fix.applicability for fix in report.fixes()][:1], report.diagnostics[0].primary.start_line)
"""
FOUND = "[('cell', 'In[{}]', 'kernel')]\n['safe'] 2\n"


@pytest.mark.parametrize("target", ["auto", "tpu:v5e,tpu:v6e"])
def test_sources_are_cells(kernel: Kernel, target: str) -> None:
    number = kernel.good(SCALED, cell_id="kernel").reply["execution_count"]
    assert kernel.good(CHECK.format(target=target)).printed == FOUND.format(number)


def test_only_while_the_extension_is_loaded(fresh: Kernel) -> None:
    fresh.good(IMPORTS)
    fresh.good(SCALED, cell_id="kernel")
    check = CHECK.format(target="auto")
    assert "('file', " in fresh.good(check).printed
    fresh.good(LOAD)
    assert fresh.good(check).printed.startswith("[('cell', 'In[2]', None)]\n")
    fresh.good("%unload_ext pallas_magic")
    assert "('file', " in fresh.good(check).printed


def test_the_last_library_that_is_still_offered_is_taken() -> None:
    first, second = Library(), Library()

    def give_first() -> Library:
        return first

    def give_second() -> Library:
        return second

    offer_library(give_first)
    offer_library(give_second)
    assert current_library() is second
    withdraw_library(give_first)
    assert current_library() is second
    withdraw_library(give_second)
    withdraw_library(give_second)
    assert current_library() is not second
