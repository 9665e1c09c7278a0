"""Operations that TPU compilers refuse for the types they work on.

The texts are the compilers' own. Measured as :mod:`pallas_magic.bridge.refusals` says, for
products of 16 shapes (transposed, batched, matrix by vector, of one row or column).
"""

from __future__ import annotations

import functools
from typing import Any

from pallas_magic.bridge.kernels import is_variable
from pallas_magic.bridge.reached import Reached
from pallas_magic.matrix_units import (
    FLOAT8,
    FLOATS,
    INTEGERS,
    PASSES_LEFT,
    PASSES_RIGHT,
    refused_product,
)
from pallas_magic.targets import Target

_ARITHMETIC = ("add", "sub", "mul", "max", "min")
_DIVISIONS = ("div", "rem")
# What each type is refused in, both operands being vectors.
_BINARY: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("int8", "int4", "uint4"), (*_ARITHMETIC, *_DIVISIONS)),
    "uint8": _ARITHMETIC,
    "int16": ("max", "min", *_DIVISIONS),
    "uint16": ("max", "min"),
    "bfloat16": ("rem",),
    **dict.fromkeys(FLOAT8, (*_ARITHMETIC, *_DIVISIONS, "pow")),
}
_UNARY: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("int8", "int4"), ("neg", "sign")),
    **dict.fromkeys(
        FLOAT8,
        ("neg", "abs", "exp", "tanh", "sqrt", "rsqrt", "log", "sin", "floor", "round"),
    ),
}
_ALL_ARITHMETIC = {
    name for table in (_BINARY, _UNARY) for names in table.values() for name in names
}
_CALLS = ("pjit", "jit", "closed_call", "core_call", "custom_jvp_call", "custom_vjp_call")
_MLIR_TYPES = {"int8": "i8", "uint8": "i8", "int4": "i4", "uint4": "i4"}


def refused_operation(one: Reached, target: Target) -> str:
    """What the compiler for ``target`` says against an equation, empty if that is not known."""
    equation = one.equation
    name = equation.primitive.name
    if name == "dot_general":
        return _product(equation, target)
    if name in ("get", "swap", "masked_load", "masked_swap", "load", "store"):
        return _access(equation)
    if name == "convert_element_type":
        return _conversion(equation)
    return _arithmetic(one)


def _product(equation: Any, target: Target) -> str:
    left, right = (str(atom.aval.dtype) for atom in equation.invars)
    known = (*FLOATS, *INTEGERS)
    if left not in known or right not in known:
        return ""
    if _asks_for_more_passes(equation) and (left, right) != ("float32", "float32"):
        return PASSES_LEFT if left != "float32" else PASSES_RIGHT
    return refused_product(left, right, str(equation.outvars[0].aval.dtype), target)


def _asks_for_more_passes(equation: Any) -> bool:
    precision = equation.params.get("precision")
    each = precision if isinstance(precision, tuple) else (precision,)
    return all(getattr(one, "name", "") in ("HIGH", "HIGHEST") for one in each)


def _access(equation: Any) -> str:
    """Vectors of float16; a scalar, or a ref that is only copied, fails in another way."""
    ref = equation.invars[0].aval
    if str(getattr(ref, "dtype", "")) != "float16":
        return ""
    is_load = equation.primitive.name in ("get", "masked_load", "load")
    return "Invalid vector type for load" if is_load else "Invalid vector type for store"


def _conversion(equation: Any) -> str:
    (result,) = equation.outvars
    is_half = str(result.aval.dtype) == "float16" and result.aval.shape
    return "failed to legalize operation 'tpu.pack_subelements'" if is_half else ""


def _arithmetic(one: Reached) -> str:
    """Arithmetic on operands that no canonical form makes go away."""
    equation = one.equation
    if equation.primitive.name not in _ALL_ARITHMETIC:
        return ""
    if len(equation.outvars) != 1 or not _is_refused_anywhere(equation.outvars[0].aval):
        return ""
    # A function of JAX, `jnp.floor_divide`, may be given one value twice.
    if any(outer.primitive.name in _CALLS and _repeats(outer) for outer in one.path[:-1]):
        return ""
    name, dtype = equation.primitive.name, str(equation.outvars[0].aval.dtype)
    refused = _BINARY if len(equation.invars) == 2 else _UNARY
    if name not in refused.get(dtype, ()) or not _stays(one):
        return ""
    if dtype in _MLIR_TYPES and name in ("add", "sub", "mul", "neg", "sign"):
        kind = _MLIR_TYPES[dtype]
        return f"Only vector<i16> and vector<i32> are supported, but got '{kind}'."
    return f"failed to legalize operation '{name}'"


def _is_refused_anywhere(aval: Any) -> bool:
    """Whether some arithmetic on vectors of this type is refused."""
    return bool(getattr(aval, "shape", ())) and _is_listed(aval.dtype)


@functools.cache
def _is_listed(dtype: Any) -> bool:
    return str(dtype) in _BINARY or str(dtype) in _UNARY


def _stays(one: Reached) -> bool:
    """Whether each operand varies by itself, or is a number that changes the other."""
    equation = one.equation
    varying = [atom for atom in equation.invars if is_variable(atom) and atom in one.values.varying]
    if len(set(varying)) == len(equation.invars):
        return True
    numbers = [atom.val for atom in equation.invars if hasattr(atom, "val")]
    is_plain = equation.primitive.name in ("add", "sub", "mul") and len(equation.invars) == 2
    return is_plain and len(varying) == len(numbers) == 1 and abs(int(numbers[0])) > 1


def _repeats(equation: Any) -> bool:
    variables = [atom for atom in equation.invars if is_variable(atom)]
    return len(set(variables)) < len(variables)
