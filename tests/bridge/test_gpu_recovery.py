"""Every independent error of a Mosaic GPU kernel is found in one pass, each in its place."""

from __future__ import annotations

import re
import textwrap

import jax
import pytest
from jax import lax
from jax._src.pallas.mosaic_gpu import lowering as mosaic_gpu_lowering
from jax.experimental.pallas import mosaic_gpu as plgpu

from pallas_magic.report import Diagnostic
from tests.bridge.cells import NAMES, Cell

GPU_NAMES = {**NAMES, "lax": lax, "plgpu": plgpu}
SEMANTICS = ("Lane", "Warpgroup")
FINDS_LAYOUT_OPERATIONS = jax.__version_info__ >= (0, 12)


def check(
    body: str,
    outputs: int = 1,
    *,
    semantics: str = "Warpgroup",
    shape: tuple[int, ...] = (128, 128),
    scratch: str = "",
) -> list[tuple[str, str]]:
    """The primary text and the message of each diagnostic of a kernel with ``body``.

    The kernel has a ref ``x`` and refs ``o0``, ``o1``... of the same shape.
    """
    outs = ", ".join(f"o{number}" for number in range(outputs))
    names = ", ".join(re.findall(r"(\w+)=", scratch))
    code = f"""\
def kernel(x, {outs}{names and ", " + names}):
{textwrap.indent(body, "    ")}
V = jax.ShapeDtypeStruct({shape}, jnp.float32)
semantics = plgpu.LoweringSemantics.{semantics}
call = plgpu.kernel(
    kernel,
    out_type=[V] * {outputs},
    scratch_types=dict({scratch}),
    compiler_params=plgpu.CompilerParams(lowering_semantics=semantics),
)
jax.eval_shape(call, V)
"""
    cell = Cell(code, dict(GPU_NAMES))
    assert cell.raised is None
    return [(cell.primary_text(one), original(one)) for one in cell.report().diagnostics]


def original(diagnostic: Diagnostic) -> str:
    return diagnostic.original.partition(": ")[2].split("\n")[0]


def unimplemented(message: str) -> str:
    found = re.search(r"lowering: (\w+)", message)
    return found[1] if found else message


@pytest.mark.parametrize("semantics", SEMANTICS)
def test_independent_errors_are_all_found_and_what_follows_is_not(semantics: str) -> None:
    found = check(
        """\
        a = jnp.sort(x[...])
        o0[...] = a + 1.0
        o1[...] = lax.rev(x[...], (0,))
        o2[...] = x[...] * 2.0
        o2[...] = jnp.cumsum(x[...], axis=0)
        """.replace("        ", ""),
        3,
        semantics=semantics,
    )
    assert [(text, unimplemented(message)) for text, message in found] == [
        ("jnp.sort(x[...])", "sort"),
        ("lax.rev(x[...], (0,))", "rev"),
        ("jnp.cumsum(x[...], axis=0)", "cumsum"),
    ]


@pytest.mark.parametrize("semantics", SEMANTICS)
@pytest.mark.parametrize(
    "around",
    [
        "@pl.when(lax.axis_index('i') == 0)\ndef _():\n    {}",
        "@pl.loop(0, 3)\ndef _(i):\n    {}",
        "lax.cond(x[0, 0] > 0, lambda: None, lambda: {})",
        "jax.jit(lambda: {})()",
        "lax.while_loop(lambda i: i < 3, lambda i: ({}, i + 1)[1], 0)",
    ],
)
def test_errors_in_inner_code_are_found(semantics: str, around: str) -> None:
    around = around.replace("lax.axis_index('i')", "x[0, 0].astype(jnp.int32)")
    inner = "o0.__setitem__(..., jnp.sort(x[...]))"
    body = around.format(inner) + "\no1[...] = lax.rev(x[...], (0,))\n"
    found = check(body, 2, semantics=semantics)
    assert [unimplemented(message) for _, message in found] == ["sort", "rev"]
    assert [text for text, _ in found] == ["jnp.sort(x[...])", "lax.rev(x[...], (0,))"]


def test_loads_and_stores_of_a_warp_level_region_are_found_with_what_follows_it() -> None:
    found = check(
        """\
        @plgpu.warp_map
        def _(warp):
            o0[...] = x[...]
            x[0]
        o1[...] = jnp.sort(x[...])
        """.replace("        ", ""),
        2,
    )
    assert [text for text, _ in found] == ["o0[...]", "x[0]", "jnp.sort(x[...])"]


@pytest.mark.parametrize("semantics", SEMANTICS)
def test_a_kernel_without_errors_has_none(semantics: str) -> None:
    assert check("o0[...] = jnp.exp(x[...]) + x[...]", semantics=semantics) == []


@pytest.mark.parametrize("semantics", SEMANTICS)
def test_a_value_for_which_nothing_can_stand_in_ends_no_process(semantics: str) -> None:
    found = check("o0[...] = jnp.real(x[...].astype(jnp.complex64))", semantics=semantics)
    assert found[0][0] == "x[...].astype(jnp.complex64)"


def test_a_refused_stand_in_is_no_error_of_the_kernel() -> None:
    found = check("o0[...] = jnp.real(x[...].astype(jnp.complex64))")
    assert len(found) == 1


def test_where_layout_inference_fails_the_operation_is_found() -> None:
    found = check(
        """\
        y = plgpu.layout_cast(x[...], plgpu.Layout.WGMMA)
        o0[...] = plgpu.layout_cast(y, plgpu.Layout.TCGEN05)
        """.replace("        ", "")
    )
    (place, message) = found[0]
    assert message.startswith("Failed to infer a possible set of layouts")
    if FINDS_LAYOUT_OPERATIONS:
        assert place == "plgpu.layout_cast(y, plgpu.Layout.TCGEN05)"


def test_where_the_solver_names_no_operation_the_likeliest_is_marked() -> None:
    (found,) = check("o0[...] = jnp.abs(x[...])", shape=(64,))
    assert found[0] == "x[...]"


@pytest.mark.skipif(jax.__version_info__ < (0, 12), reason="takes the solver many seconds")
def test_a_row_reduction_is_likelier_than_what_takes_it() -> None:
    (found,) = check("m = jnp.mean(x[...], axis=-1, keepdims=True)\no0[...] = x[...] - m")
    assert found[0] == "jnp.mean(x[...], axis=-1, keepdims=True)"


@pytest.mark.skipif(jax.__version_info__ < (0, 12), reason="fails in a rule before 0.12")
def test_a_layout_error_is_reported_after_those_of_the_rules() -> None:
    found = check(
        """\
        o0[...] = jnp.sort(x[...])
        y = plgpu.layout_cast(x[...], plgpu.Layout.WGMMA)
        o1[...] = plgpu.layout_cast(y, plgpu.Layout.TCGEN05)
        """.replace("        ", ""),
        2,
    )
    assert [text for text, _ in found] == [
        "jnp.sort(x[...])",
        "plgpu.layout_cast(y, plgpu.Layout.TCGEN05)",
    ]


@pytest.mark.skipif(jax.__version_info__ < (0, 12), reason="fails in a rule before 0.12")
def test_a_layout_error_of_what_took_a_failed_value_is_not_reported() -> None:
    found = check(
        """\
        y = plgpu.layout_cast(jnp.sort(x[...]), plgpu.Layout.WGMMA)
        o0[...] = plgpu.layout_cast(y, plgpu.Layout.TCGEN05)
        """.replace("        ", "")
    )
    assert [text for text, _ in found] == ["jnp.sort(x[...])"]


@pytest.mark.parametrize("semantics", SEMANTICS)
def test_full_shared_memory_is_told_at_its_largest_allocation(semantics: str) -> None:
    code = "small=plgpu.SMEM((8, 128), jnp.float32), large=plgpu.SMEM((512, 128), jnp.float32)"
    (found,) = check("large[0, 0] = x[0, 0]", semantics=semantics, scratch=code)
    assert found[0] == "plgpu.SMEM((512, 128), jnp.float32)"


def test_the_tables_of_jax_are_what_they_were() -> None:
    tables = mosaic_gpu_lowering.mosaic_lowering_rules
    before = {key: (id(table), len(table)) for key, table in tables.items()}
    check("o0[...] = jnp.sort(x[...])")
    assert {key: (id(table), len(table)) for key, table in tables.items()} == before
    assert all(type(table) is dict for table in tables.values())
