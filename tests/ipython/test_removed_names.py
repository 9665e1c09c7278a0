"""Names that left Pallas: told wherever a cell asks for them, and nothing else is."""

from __future__ import annotations

import pytest

from tests.ipython.cells import checked
from tests.ipython.kernel import LOAD, Kernel

UNLOAD = "%unload_ext pallas_magic"
# Each with the column range of its mark on the first line, and what its first fix makes of it.
GONE = {
    "import": (
        "from jax.experimental.pallas.tpu import TPUCompilerParams\n",
        (40, 57),
        "from jax.experimental.pallas.tpu import CompilerParams as TPUCompilerParams\n",
    ),
    "module": (
        "from jax.experimental.pallas import gpu as plg\n",
        (36, 39),
        "from jax.experimental.pallas import triton as plg\n",
    ),
    "dotted module": (
        "import jax.experimental.pallas.gpu as plg\n",
        (7, 34),
        "import jax.experimental.pallas.triton as plg\n",
    ),
    "name": (
        "params = pltpu.TPUCompilerParams(dimension_semantics=('parallel',))\n",
        (9, 32),
        "params = pltpu.CompilerParams(dimension_semantics=('parallel',))\n",
    ),
    "member": (
        "space = pltpu.TPUMemorySpace.ANY\n",
        (8, 28),
        "space = pl.ANY\n",
    ),
}
UNRELATED = {
    "another module": "import math\nmath.TPUCompilerParams",
    "an object": "class Params: pass\nParams().load",
    "a name that never was": "pltpu.no_such_name",
    "an import that never was": "from jax.experimental.pallas import no_such_name",
    "tried first": (
        "try:\n    pltpu.TPUCompilerParams\n"
        "except AttributeError:\n    raise ValueError('an older JAX is needed')"
    ),
    "a parameter of the user's": "def kernel(x): pass\nkernel(out_shape=1)",
}


@pytest.mark.parametrize("name", GONE)
def test_a_plain_cell_gets_its_card(kernel: Kernel, name: str) -> None:
    code, columns, mended = GONE[name]
    outcome = kernel.run(code)
    assert outcome.reply["ename"] in ("AttributeError", "ImportError", "ModuleNotFoundError")
    (diagnostic,) = outcome.card["diagnostics"]
    primary = diagnostic["primary"]
    assert diagnostic["code"] == "PM904"
    assert (primary["start_line"], primary["start_col"], primary["end_col"]) == (1, *columns)
    (fix,) = diagnostic["fixes"]
    assert fix["applicability"] == "safe"
    assert edited(code, fix["edits"]) == mended


@pytest.mark.parametrize("name", GONE)
def test_a_checked_cell_gets_its_card(kernel: Kernel, name: str) -> None:
    code, _, _ = GONE[name]
    outcome = kernel.run(checked(code))
    (diagnostic,) = outcome.card["diagnostics"]
    assert (diagnostic["code"], diagnostic["primary"]["start_line"]) == ("PM904", 2)


@pytest.mark.parametrize("name", UNRELATED)
def test_other_errors_get_none(kernel: Kernel, name: str) -> None:
    code = UNRELATED[name]
    with_us = kernel.run(code)
    kernel.good(UNLOAD)
    without_us = kernel.run(code)
    kernel.good(LOAD)
    assert not with_us.ok
    assert not with_us.displays
    assert with_us.reply["evalue"] == without_us.reply["evalue"]


def test_a_name_that_was_tried_and_caught_is_not_told(kernel: Kernel) -> None:
    code = "try:\n    pltpu.TPUCompilerParams\nexcept AttributeError:\n    pass"
    assert not kernel.good(checked(code)).cards[0]["diagnostics"]


def edited(code: str, edits: list[dict[str, object]]) -> str:
    """``code`` with the edits of its first line made."""
    line, rest = code.split("\n", 1)
    (edit,) = edits
    span = edit["span"]
    assert isinstance(span, dict)
    start, end = span["start_col"], span["end_col"]
    return f"{line[:start]}{edit['new_text']}{line[end:]}\n{rest}"
