"""Fixes of kernels that stand in cells: other lines, other columns, several cells."""

from __future__ import annotations

import textwrap
from typing import Any

from pallas_magic.engine import Watch
from pallas_magic.report import Report
from pallas_magic.source.document import Document
from pallas_magic.source.edits import span_text
from tests.source.cells import cell, indented_cell, library

IMPORTS = """\
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

x = jnp.zeros((8, 256), jnp.float32)
"""
KERNEL = """\
def sums(x_ref, o_ref):
    o_ref[...] = jnp.sum(x_ref[...], axis=1)
"""
KERNEL_OF_TWO = """\
def sums(n_ref, x_ref, o_ref):
    o_ref[...] = jnp.sum(x_ref[...], axis=1) * n_ref[0]
"""
CALL = """\
y = pl.pallas_call(
    sums,
    out_shape=jax.ShapeDtypeStruct((8,), jnp.float32),
    out_specs=pl.BlockSpec(memory_space=pltpu.SMEM),
)(x)
"""


def report_on(*cells: Document, unseen: int = 0) -> Report:
    """The report on cells run in one namespace, the first ``unseen`` of them before the watch."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for document in cells[:unseen]:
        run(document, names)
    watch = Watch("tpu", library=library(*cells))
    with watch:
        for document in cells[unseen:]:
            run(document, names)
    return watch.report()


def run(document: Document, names: dict[str, Any]) -> None:
    exec(compile(document.executed, document.filename, "exec"), names)


def titles(report: Report) -> list[str]:
    return [fix.title for fix in report.fixes()]


def test_indented_cell_below_a_magic() -> None:
    document = indented_cell(textwrap.indent(IMPORTS + KERNEL + CALL, "    "))
    report = report_on(document)
    (diagnostic,) = report.diagnostics
    assert diagnostic.primary is not None
    assert span_text(document.source.text, diagnostic.primary) == "o_ref[...]"
    move, loop = diagnostic.fixes
    fixed = move.apply(document.source.text)
    assert "        out_specs=pl.BlockSpec(memory_space=pltpu.VMEM),\n" in fixed
    assert loop.apply(document.source.text) == document.source.text.replace(
        "        o_ref[...] = jnp.sum(x_ref[...], axis=1)\n",
        "        values = jnp.sum(x_ref[...], axis=1)\n"
        "        for i in range(8):\n"
        "            o_ref[i] = values[i]\n",
    )


def test_kernel_in_one_cell_and_call_in_another() -> None:
    cells = cell(IMPORTS, "first"), cell(KERNEL, "second"), cell(CALL, "third")
    report = report_on(*cells)
    (diagnostic,) = report.diagnostics
    assert diagnostic.primary is not None
    assert diagnostic.primary.source == "second"
    assert [label.span.source for label in diagnostic.labels] == ["third"]
    move, loop = diagnostic.fixes
    assert (move.sources(), loop.sources()) == (("third",), ("second",))
    assert move.apply(CALL) == CALL.replace("SMEM", "VMEM")


def test_kernel_and_specs_in_cells_that_were_not_watched() -> None:
    specs = "smem = pl.BlockSpec(memory_space=pltpu.SMEM)\n"
    call = CALL.replace("pl.BlockSpec(memory_space=pltpu.SMEM)", "smem")
    cells = cell(IMPORTS + KERNEL, "first"), cell(specs, "second"), cell(call, "third")
    report = report_on(*cells, unseen=2)
    (diagnostic,) = report.diagnostics
    assert [label.span.source for label in diagnostic.labels] == ["second"]
    assert diagnostic.fixes[0].apply(specs) == specs.replace("SMEM", "VMEM")


def test_spec_that_another_cell_uses_too_is_left_alone() -> None:
    specs = "smem = pl.BlockSpec(memory_space=pltpu.SMEM)\n"
    call = CALL.replace("pl.BlockSpec(memory_space=pltpu.SMEM)", "smem")
    cells = cell(IMPORTS + KERNEL, "first"), cell(specs, "second"), cell(call, "third")
    report = report_on(*cells, cell("other = smem\n", "fourth"))
    (diagnostic,) = report.diagnostics
    assert diagnostic.fixes[0].apply(call) == call.replace(
        "out_specs=smem", "out_specs=pl.BlockSpec(memory_space=pltpu.VMEM)"
    )


def test_space_given_to_the_helper_that_builds_the_specs() -> None:
    helper = "def block(space):\n    return pl.BlockSpec(memory_space=space)\n"
    call = CALL.replace("pl.BlockSpec(memory_space=pltpu.SMEM)", "block(pltpu.SMEM)").replace(
        "    out_specs", "    in_specs=[block(pltpu.VMEM)],\n    out_specs"
    )
    text = IMPORTS + KERNEL + helper + call
    report = report_on(cell(text))
    (diagnostic,) = report.diagnostics
    (cause,) = diagnostic.labels
    assert span_text(text, cause.span) == "pltpu.SMEM"
    assert diagnostic.fixes[0].apply(text) == text.replace("block(pltpu.SMEM)", "block(pltpu.VMEM)")


def test_specs_that_one_expression_builds_are_told_apart_where_they_are_used() -> None:
    call = """\
specs = [pl.BlockSpec(memory_space=pltpu.SMEM) for _ in range(2)]
y = pl.pallas_call(
    sums,
    out_shape=jax.ShapeDtypeStruct((8,), jnp.float32),
    in_specs=[specs[0], pl.BlockSpec()],
    out_specs=specs[1],
)(jnp.ones((1,)), x)
"""
    (diagnostic,) = report_on(cell(IMPORTS + KERNEL_OF_TWO + call)).diagnostics
    text = IMPORTS + KERNEL_OF_TWO + call
    assert diagnostic.fixes[0].apply(text) == text.replace(
        "out_specs=specs[1]", "out_specs=pl.BlockSpec(memory_space=pltpu.VMEM)"
    )


def test_specs_that_cannot_be_told_apart_are_not_moved() -> None:
    call = """\
y = pl.pallas_call(
    sums,
    out_shape=[jax.ShapeDtypeStruct((8,), jnp.float32)] * 2,
    in_specs=[pl.BlockSpec()],
    out_specs=[pl.BlockSpec(memory_space=pltpu.SMEM) for _ in range(2)],
)(x)
"""
    kernel = KERNEL.replace("o_ref)", "o_ref, p_ref)")
    report = report_on(cell(IMPORTS + kernel + call))
    assert titles(report) == ["store the 8 values one scalar at a time"]


def test_spec_that_depends_on_a_loop_is_not_copied() -> None:
    call = """\
specs = [pl.BlockSpec((8 // n,), lambda i: (0,), memory_space=pltpu.SMEM) for n in (8, 1)]
y = pl.pallas_call(
    sums,
    grid=(1,),
    out_shape=jax.ShapeDtypeStruct((8,), jnp.float32),
    in_specs=[specs[0], pl.BlockSpec()],
    out_specs=specs[1],
)(jnp.ones((1,)), x)
"""
    text = IMPORTS + KERNEL_OF_TWO + call
    (diagnostic,) = report_on(cell(text)).diagnostics
    assert diagnostic.fixes[0].apply(text) == text.replace(
        "out_specs=specs[1]", "out_specs=specs[1].replace(memory_space=pltpu.VMEM)"
    )
