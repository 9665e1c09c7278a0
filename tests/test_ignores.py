"""``# pallas: ignore``: which comments leave a diagnostic out, and which do not."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

import pallas_magic
from pallas_magic.ignores import Ignored, ignored_by, ignored_notes
from pallas_magic.report import Diagnostic, Report, Source, Span


def diagnostic(code: str = "PM101", span: Span | None = None) -> Diagnostic:
    found = span or Span("In[1]", 2, 0, 2, 5)
    return Diagnostic(code, "smem-vector-store", "error", "lower", (), "k", "m", found)


def left_out(line: str, codes: tuple[str, ...] = ()) -> str:
    sources = {"In[1]": Source("cell", "In[1]", f"first\n{line}\nlast  # pallas: ignore")}
    return ignored_by(diagnostic(), sources, codes)


@pytest.mark.parametrize(
    "line",
    [
        "o_ref[...] = x  # pallas: ignore",
        "o_ref[...] = x  # pallas: ignore[PM101]",
        "o_ref[...] = x  # pallas:ignore[PM999, PM101]",
        "o_ref[...] = x  # pallas: ignore [pm101]",
        "o_ref[...] = x  # pallas: ignore[smem-vector-store]",
        "o_ref[...] = x  # noqa: E501  # pallas: ignore[PM101]",
        "o_ref['#', \"it's\"] = x  # pallas: ignore",
        "o_ref[...] = x  # pallas: ignore, for v6e takes it",
    ],
)
def test_a_comment_on_the_line_leaves_it_out(line: str) -> None:
    assert left_out(line) == "comment"


@pytest.mark.parametrize(
    "line",
    [
        "o_ref[...] = x",
        "o_ref[...] = x  # pallas: ignore[PM102]",
        "o_ref[...] = x  # pallas: ignore[PM10]",
        "o_ref[...] = x  # pallas: ignore[]",
        "o_ref[...] = x  # pallas: ignored",
        "o_ref[...] = x  # pallas: ignore-not",
        "o_ref[...] = x  # notpallas: ignore",
        "o_ref[...] = x  # type: ignore",
        "o_ref['# pallas: ignore'] = x",
        'o_ref["# pallas: ignore"] = x',
        r"o_ref['\'# pallas: ignore'] = x",
        "o_ref[...] = pallas[ignore]",
    ],
)
def test_nothing_else_does(line: str) -> None:
    assert left_out(line) == ""


def test_every_line_of_the_span_counts_and_no_other() -> None:
    text = "f(  # pallas: ignore\n    x,\n    y,  # pallas: ignore[PM101]\n)"
    sources = {"In[1]": Source("cell", "In[1]", text)}
    assert ignored_by(diagnostic(span=Span("In[1]", 2, 0, 3, 4)), sources) == "comment"
    assert ignored_by(diagnostic(span=Span("In[1]", 2, 0, 2, 4)), sources) == ""


def test_codes_that_are_set_leave_out_everywhere() -> None:
    assert left_out("x", ("PM101",)) == "setting"
    assert left_out("x", ("smem-vector-store",)) == "setting"
    assert left_out("x", ("PM1", "PM999")) == ""


def test_a_place_that_is_not_known_has_no_comment() -> None:
    nowhere = Diagnostic("PM101", "n", "error", "lower", (), "k", "m", None)
    assert ignored_by(nowhere, {}) == ""
    assert ignored_by(diagnostic(), {}) == ""


def test_a_note_says_how_many() -> None:
    one, two = diagnostic(), diagnostic("PM999")
    assert ignored_notes([]) == ()
    assert ignored_notes([Ignored(one, "comment")]) == (
        "`# pallas: ignore` leaves out 1 diagnostic: PM101",
    )
    found = [Ignored(two, "setting"), Ignored(one, "setting"), Ignored(one, "comment")]
    assert ignored_notes(found) == (
        "`PallasMagic.ignore` leaves out 2 diagnostics: PM101, PM999",
        "`# pallas: ignore` leaves out 1 diagnostic: PM101",
    )


_shape: Any = jax.ShapeDtypeStruct


def checked(kernel: Any) -> Report:
    shape = _shape((8, 128), jnp.float32)
    call = pl.pallas_call(kernel, out_shape=shape, out_specs=pl.BlockSpec(memory_space=pltpu.SMEM))
    return pallas_magic.check(call, shape)


def test_a_check_leaves_it_out_and_keeps_the_others() -> None:
    def bad(x_ref: Any, o_ref: Any) -> None:
        o_ref[...] = jnp.sort(x_ref[...], axis=0)  # pallas: ignore[PM101]

    report = checked(bad)
    assert [found.code for found in report.diagnostics] == ["PM301"]
    assert "`# pallas: ignore` leaves out 1 diagnostic: PM101" in report.notes


def test_a_check_whose_only_diagnostic_is_left_out_still_says_that_the_kernel_fails() -> None:
    def bad(x_ref: Any, o_ref: Any) -> None:
        o_ref[...] = x_ref[...]  # pallas: ignore

    report = checked(bad)
    assert (report.ok, report.diagnostics, report.proving) == (True, (), False)
    assert report.kernels[0].stages["lower"].status == "failed"
    assert str(report) == (
        "bad  ✗ fails in lowering for TPU v5e\n`# pallas: ignore` leaves out 1 diagnostic: PM101"
    )
