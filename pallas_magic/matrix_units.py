"""What the matrix units of TPUs multiply.

Compiled for every pair of these types and both kinds of sums, for TPU v4, v5e, v5p, v6e and
v7x, with libtpu 0.0.42.1, 0.0.50.1 and 0.0.52: all three say the same. The texts are theirs.
"""

from __future__ import annotations

from pallas_magic.targets import TARGETS, Target

FLOAT8 = ("float8_e4m3fn", "float8_e5m2")
FLOATS = ("float32", "bfloat16", *FLOAT8)
INTEGERS = ("int4", "int8", "int16", "int32")
PASSES_LEFT = "Bad lhs type"
PASSES_RIGHT = "Bad rhs type"
NO_SUCH_TYPE = "Unsupported matmul RHS type on target"
_SHORT_INTEGER = "Integer inputs with bitwidth 16 are not supported as matmul/accumulator inputs."
_FLOAT_SUM = "float acc with int lhs. Expected float lhs."
_INTEGER_SUM = "acc is int in mixed matmul. Expected float."
_MIXED = "Mix int/int - NYI"
_WIDE = "Bad lhs/rhs type"
PRODUCT_TEXTS = (_SHORT_INTEGER, _FLOAT_SUM, _INTEGER_SUM, _MIXED, _WIDE)


def refused_product(left: str, right: str, total: str, target: Target) -> str:
    """What the compiler for ``target`` says against a product, empty if it takes it.

    It is for types that stand above only; of others nothing is known.
    """
    known = (*FLOATS, *INTEGERS)
    if target.family != "tpu" or left not in known or right not in known:
        return ""
    if target.name == "tpu:v7x":
        return _refused_by_v7x(left, right)
    is_float, is_integer = _floats(left, right), "int" in total
    if is_float == 0:
        return _refused_integers(left, right, is_integer, target)
    if is_float == 1 and is_integer:
        return _INTEGER_SUM
    has_float8 = left in FLOAT8 or right in FLOAT8
    return NO_SUCH_TYPE if has_float8 and target.name == "tpu:v4" else ""


def chips_that_multiply(left: str, right: str, total: str) -> tuple[str, ...]:
    """The titles of the chips that take such a product, "v5e"."""
    return tuple(
        target.name.partition(":")[2]
        for target in TARGETS
        if target.family == "tpu" and not refused_product(left, right, total, target)
    )


def _floats(left: str, right: str) -> int:
    return (left in FLOATS) + (right in FLOATS)


def _refused_integers(left: str, right: str, is_integer: bool, target: Target) -> str:
    if left != right:
        return _MIXED
    if not is_integer:
        return _FLOAT_SUM
    if left in ("int16", "int32"):
        return _WIDE
    return NO_SUCH_TYPE if target.name == "tpu:v4" else ""


def _refused_by_v7x(left: str, right: str) -> str:
    if "int16" in (left, right):
        return _SHORT_INTEGER
    return _FLOAT_SUM if left == right == "int32" else ""
