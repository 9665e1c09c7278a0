"""Every independent error of a Triton kernel is found in one pass, each in its place."""

from __future__ import annotations

import textwrap

import pytest
from jax import lax
from jax._src.pallas.triton import lowering as triton_lowering
from jax.experimental.pallas import triton as plt

from tests.bridge.cells import NAMES, Cell

TRITON_NAMES = {**NAMES, "lax": lax, "plt": plt}


def check(body: str, outputs: int = 1, *, shape: tuple[int, ...] = (16, 16)) -> list[str]:
    """The text at each diagnostic of a kernel with ``body``.

    The kernel has a ref ``x`` and refs ``o0``, ``o1``... of the same shape.
    """
    code = f"""\
def kernel(x, {", ".join(f"o{number}" for number in range(outputs))}):
{textwrap.indent(textwrap.dedent(body), "    ")}
V = jax.ShapeDtypeStruct({shape}, jnp.float32)
call = pl.pallas_call(kernel, out_shape=[V] * {outputs}, compiler_params=plt.CompilerParams())
jax.eval_shape(call, V)
"""
    cell = Cell(code, dict(TRITON_NAMES))
    assert cell.raised is None
    return [cell.primary_text(one) for one in cell.report().diagnostics]


def test_independent_errors_are_all_found_and_what_follows_is_not() -> None:
    found = check(
        """\
        a = jnp.sort(x[...], axis=1)
        o0[...] = a + 1.0
        o1[...] = lax.rev(x[...], (0,))
        o2[...] = x[...] * 2.0
        o2[...] = lax.cumsum(x[...], axis=0, reverse=True)
        """,
        3,
    )
    assert found == [
        "jnp.sort(x[...], axis=1)",
        "lax.rev(x[...], (0,))",
        "lax.cumsum(x[...], axis=0, reverse=True)",
    ]


@pytest.mark.parametrize(
    "around",
    [
        "@pl.when(x[0, 0] > 0)\ndef _():\n    {}",
        "@pl.loop(0, 3)\ndef _(i):\n    {}",
        "lax.cond(x[0, 0] > 0, lambda: None, lambda: {})",
        "jax.jit(lambda: {})()",
        "lax.while_loop(lambda i: i < 3, lambda i: ({}, i + 1)[1], 0)",
    ],
)
def test_errors_in_inner_code_are_found(around: str) -> None:
    inner = "o0.__setitem__(..., jnp.sort(x[...], axis=1))"
    body = around.format(inner) + "\no1[...] = lax.rev(x[...], (0,))\n"
    assert check(body, 2) == ["jnp.sort(x[...], axis=1)", "lax.rev(x[...], (0,))"]


def test_what_takes_an_array_of_a_wrong_size_says_nothing_of_its_own() -> None:
    assert check("o0[0, 0] = jnp.sum(jnp.cumsum(x[0:3] * 2.0, axis=0))") == ["x[0:3]"]


def test_every_ref_of_a_wrong_size_is_told() -> None:
    assert check("o0[...] = x[...] * 2.0", shape=(12, 8)) == ["x[...]", "o0[...]"]


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "bfloat16", "float8_e5m2"])
def test_what_stands_in_for_a_value_has_its_type(dtype: str) -> None:
    found = check(
        f"""\
        a = lax.rev(x[...].astype(jnp.{dtype}), (0,))
        o0[...] = jnp.where(a == a, a, a).astype(jnp.float32)
        """
    )
    assert found == [f"lax.rev(x[...].astype(jnp.{dtype}), (0,))"]


def test_a_kernel_without_errors_has_none() -> None:
    assert check("o0[...] = jnp.exp(x[...]) + x[...]") == []


def test_a_value_for_which_nothing_can_stand_in_ends_no_process() -> None:
    found = check("o0[...] = jnp.real(x[...].astype(jnp.complex64))")
    assert found == ["x[...].astype(jnp.complex64)"]


def test_the_table_of_jax_is_what_it_was() -> None:
    table = triton_lowering.triton_lowering_rules
    before = dict(table)
    assert check("o0[...] = lax.rev(x[...], (0,))")
    assert triton_lowering.triton_lowering_rules is table
    assert table == before
