"""``check()``: which errors a kernel has, all of them, at their places."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

import pallas_magic
from pallas_magic.engine import CompilerMissing
from pallas_magic.report import Report
from pallas_magic.source.edits import span_text
from pallas_magic.targets import UnknownTarget
from tests.bridge.cells import BAD_KERNEL, NAMES, Cell

_shape: Any = jax.ShapeDtypeStruct
TILE = _shape((8, 128), jnp.float32)
SUMS = _shape((128,), jnp.float32)


def call(kernel: Any, *outputs: Any, **more: Any) -> Any:
    return pl.pallas_call(kernel, out_shape=list(outputs), **more)


def marked(report: Report) -> list[str]:
    """The text under each primary span, in order."""
    texts = []
    for diagnostic in report.diagnostics:
        assert diagnostic.primary is not None
        text = report.sources[diagnostic.primary.source].text
        texts.append(span_text(text, diagnostic.primary))
    return texts


def test_a_clean_kernel() -> None:
    def double(x_ref: Any, o_ref: Any) -> None:
        o_ref[...] = x_ref[...] * 2.0

    report = pallas_magic.check(call(double, TILE), TILE)
    assert report.ok
    assert [(k.name, k.target) for k in report.kernels] == [("double", "tpu:v5e")]
    assert {stage: r.status for stage, r in report.kernels[0].stages.items()} == {
        "trace": "ok",
        "lower": "ok",
        "compile": "skipped",
    }


def test_three_independent_errors_and_one_that_follows_are_three() -> None:
    def three(x_ref: Any, counts_ref: Any, o_ref: Any) -> None:
        counts_ref[...] = jnp.sum(x_ref[...], axis=0)
        ordered = jnp.sort(x_ref[...], axis=0)
        o_ref[...] = ordered + 1.0
        o_ref[0, 0] = jnp.float32(1.0)

    specs = [pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec(memory_space=pltpu.VMEM)]
    report = pallas_magic.check(call(three, SUMS, TILE, out_specs=specs), TILE, verify=False)
    assert marked(report) == ["counts_ref[...]", "jnp.sort(x_ref[...], axis=0)", "o_ref[0, 0]"]


def test_three_stores_to_one_ref_are_one_diagnostic_with_three_marks() -> None:
    def thrice(x_ref: Any, sums_ref: Any) -> None:
        sums_ref[...] = jnp.sum(x_ref[...], axis=0)
        sums_ref[...] = jnp.max(x_ref[...], axis=0)
        sums_ref[...] = jnp.min(x_ref[...], axis=0)

    spec = pl.BlockSpec(memory_space=pltpu.SMEM)
    report = pallas_magic.check(call(thrice, SUMS, out_specs=[spec]), TILE, verify=False)
    [diagnostic] = report.diagnostics
    effects = [label.span for label in diagnostic.labels if label.role == "effect"]
    assert len(effects) == 2
    assert len({diagnostic.primary, *effects}) == 3


def test_errors_in_branches_and_loops_are_all_found() -> None:
    def branches(x_ref: Any, sums_ref: Any, o_ref: Any) -> None:
        @pl.when(pl.program_id(0) == 0)
        def _() -> None:
            sums_ref[...] = jnp.zeros((128,), jnp.float32)

        def body(i: Any, carry: Any) -> Any:
            o_ref[0, 0] = jnp.float32(1.0)
            return carry

        jax.lax.fori_loop(0, 4, body, 0)

    specs = [pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec(memory_space=pltpu.VMEM)]
    report = pallas_magic.check(
        call(branches, SUMS, TILE, out_specs=specs, grid=(2,)), TILE, verify=False
    )
    assert marked(report) == ["sums_ref[...]", "o_ref[0, 0]"]


def test_a_helper_called_twice_is_one_place() -> None:
    def put(ref: Any, value: Any) -> None:
        ref[...] = value

    def kernel(x_ref: Any, sums_ref: Any) -> None:
        put(sums_ref, jnp.sum(x_ref[...], axis=0))
        put(sums_ref, jnp.max(x_ref[...], axis=0))

    spec = pl.BlockSpec(memory_space=pltpu.SMEM)
    report = pallas_magic.check(call(kernel, SUMS, out_specs=[spec]), TILE, verify=False)
    assert marked(report) == ["ref[...]"]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("größe = '🦀'; sums_ref[...] = jnp.sum(x_ref[...], axis=0)", "sums_ref[...]"),
        ("a = 1; sums_ref[...] = jnp.sum(x_ref[...], axis=0); b = 2", "sums_ref[...]"),
    ],
)
def test_columns_are_code_points(line: str, text: str) -> None:
    code = BAD_KERNEL.replace("sums_ref[...] = jnp.sum(x_ref[...], axis=0)", line)
    cell = Cell(code + "jax.eval_shape(sums, jnp.ones((8, 128)))")
    [diagnostic] = cell.report().diagnostics
    assert cell.primary_text(diagnostic) == text


@pytest.mark.parametrize(
    "kernel",
    [
        "lambda x_ref, o_ref: o_ref.__setitem__(..., jnp.sum(x_ref[...], axis=0))",
        "functools.partial(scaled, scale=2.0)",
        "jax.named_call(plain)",
    ],
)
def test_kernels_of_every_shape(kernel: str) -> None:
    import functools

    code = (
        "def scaled(x_ref, o_ref, *, scale):\n"
        "    o_ref[...] = jnp.sum(x_ref[...], axis=0) * scale\n"
        "def plain(x_ref, o_ref):\n"
        "    o_ref[...] = jnp.sum(x_ref[...], axis=0)\n"
        f"kernel = {kernel}\n"
        "out = jax.ShapeDtypeStruct((128,), jnp.float32)\n"
        "spec = pl.BlockSpec(memory_space=pltpu.SMEM)\n"
        "f = pl.pallas_call(kernel, out_shape=out, out_specs=spec)\n"
        "jax.eval_shape(f, jnp.ones((8, 128)))\n"
    )
    cell = Cell(code, {**NAMES, "functools": functools})
    assert cell.raised is None
    [diagnostic] = cell.report().diagnostics
    assert cell.primary_text(diagnostic).startswith("o_ref")


def test_a_kernel_of_another_cell_is_marked_there() -> None:
    names = dict(NAMES)
    first = Cell(BAD_KERNEL, names)
    second = Cell("jax.eval_shape(sums, jnp.ones((8, 128)))", names, library=first.library)
    [diagnostic] = second.report().diagnostics
    assert diagnostic.primary is not None
    assert diagnostic.primary.source == first.key
    assert second.primary_text(diagnostic) == "sums_ref[...]"


def test_several_targets_share_one_diagnostic() -> None:
    def kernel(x_ref: Any, sums_ref: Any) -> None:
        sums_ref[...] = jnp.sum(x_ref[...], axis=0)

    spec = pl.BlockSpec(memory_space=pltpu.SMEM)
    fn = call(kernel, SUMS, out_specs=[spec])
    report = pallas_magic.check(fn, TILE, target="tpu:v5e,v6e,gpu:h100", verify=False)
    [diagnostic] = report.diagnostics
    assert diagnostic.targets == ("tpu:v5e", "tpu:v6e")
    lower = {kernel.target: kernel.stages["lower"] for kernel in report.kernels}
    assert lower["gpu:h100"].status == "skipped"
    assert lower["gpu:h100"].why == "it is written for TPUs"


def test_chip_queries_see_their_own_target() -> None:
    seen = []

    def fn(x: Any) -> Any:
        seen.append(pltpu.get_tpu_info().chip_version)
        return x

    pallas_magic.check(fn, TILE, target="tpu:v4,v6e")
    assert len(set(map(str, seen))) == 2


def test_an_unknown_target_lists_the_known_ones() -> None:
    with pytest.raises(UnknownTarget) as caught:
        pallas_magic.check(lambda: None, target="tpu:v99")
    assert str(caught.value) == (
        "unknown target 'tpu:v99'; known targets: auto, tpu, gpu, tpu:all, "
        "gpu:all, tpu:v4, tpu:v5e, tpu:v5p, tpu:v6e, tpu:v7x, gpu:a100, gpu:h100, gpu:b200"
    )


def test_a_compiler_that_is_not_there_is_an_error_when_asked_for() -> None:
    with pytest.raises(CompilerMissing):
        pallas_magic.check(lambda: None, compile=True)


def test_nothing_is_executed() -> None:
    ran: list[Any] = []

    def fn(x: Any) -> Any:
        return jax.pure_callback(ran.append, TILE, x)

    assert pallas_magic.check(fn, TILE).notes == ("no Pallas call was made",)
    assert ran == []


def test_an_error_of_the_function_s_own_is_raised() -> None:
    def fn(x: Any) -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        pallas_magic.check(fn, TILE)


def test_a_kernel_that_cannot_be_traced_is_a_diagnostic() -> None:
    def kernel(x_ref: Any, o_ref: Any) -> None:
        if x_ref[0, 0] > 0:
            o_ref[...] = x_ref[...]

    report = pallas_magic.check(call(kernel, TILE), TILE)
    [diagnostic] = report.diagnostics
    assert (diagnostic.stage, diagnostic.kernel) == ("trace", "kernel")
    assert marked(report) == ["x_ref[0, 0] > 0"]
    assert diagnostic.original.startswith("TracerBoolConversionError: ")


def test_a_lowering_that_takes_too_long_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    from pallas_magic import findings

    def slow(x_ref: Any, o_ref: Any) -> None:
        value = x_ref[...]
        for _ in range(3000):
            value = value + 1.0
        o_ref[...] = value

    monkeypatch.setattr(findings, "LOWERING_LIMIT_SECONDS", 0.001)
    report = pallas_magic.check(call(slow, TILE), TILE)
    assert report.ok
    lower = report.kernels[0].stages["lower"]
    assert lower.status == "skipped"
    assert lower.why == "lowering it takes more than 0.001 s"


def test_the_payload_round_trips() -> None:
    cell = Cell(BAD_KERNEL + "jax.eval_shape(sums, jnp.ones((8, 128)))")
    report = cell.report()
    assert Report.from_dict(report.to_dict()) == report


SHARED_HELPER = """\
def put(ref, value):
    ref[...] = value

def sums(x_ref, o_ref):
    put(o_ref, jnp.sum(x_ref[...], axis=0))

def doubles(x_ref, o_ref):
    put(o_ref, x_ref[...] * 2.0)

x = jnp.ones((8, 128))
space = pltpu.SMEM
flat = jax.ShapeDtypeStruct((128,), jnp.float32)
jax.eval_shape(
    pl.pallas_call(sums, out_shape=flat, out_specs=pl.BlockSpec(memory_space=space)), x
)
"""
OTHER_CALL = "jax.eval_shape(pl.pallas_call(doubles, out_shape=x), x)\n"


def test_a_fix_that_harms_another_kernel_is_dropped() -> None:
    alone, beside = Cell(SHARED_HELPER), Cell(SHARED_HELPER + OTHER_CALL)
    alone.report()
    beside.report()
    loop = "store the 128 values one scalar at a time"
    assert loop in [fix.title for fix in alone.watch.prove().fixes()]
    assert loop not in [fix.title for fix in beside.watch.prove().fixes()]


def test_a_helper_that_fails_for_two_refs_is_told_for_each() -> None:
    def put(ref: Any, value: Any) -> None:
        ref[...] = value

    def kernel(x_ref: Any, sums_ref: Any, tops_ref: Any) -> None:
        put(sums_ref, jnp.sum(x_ref[...], axis=0))
        put(tops_ref, jnp.max(x_ref[...], axis=0))

    specs = [pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec(memory_space=pltpu.SMEM)]
    report = pallas_magic.check(call(kernel, SUMS, SUMS, out_specs=specs), TILE, verify=False)
    assert [one.message.split(" ")[0] for one in report.diagnostics] == ["`sums_ref`", "`tops_ref`"]
    assert marked(report) == ["ref[...]", "ref[...]"]
