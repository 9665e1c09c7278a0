"""Loads and stores in steps, `ref[pl.ds(0, 8, stride=2), :]`, that no TPU compiler has.

A load takes rows of a register's 128 lanes in steps, from the first lane on, and a store does
so for types of 32 bits. Compiled for TPU v4, v5e, v5p, v6e and v7x with libtpu 0.0.42.1,
0.0.48.1 and 0.0.50.1, for refs of one to four axes with rows of 8 to 256 elements.
"""

from __future__ import annotations

from typing import Any

from pallas_magic.bridge.kernels import access_operands, is_variable, memory_space_word
from pallas_magic.bridge.reached import Reached

ALONG_LANES = "Stride on last dim is not 1"
ONE_AXIS = "Strided {access} with 1D vector"
WIDE = "The last dim size is not 128 in original base memref"
FROM_A_LANE = "Index on last dim is not 0"
PACKED_STORE = "Strided store with non 32-bit data"
PACKED_AT_RUN_TIME = "Only static indices are supported for packed types"
_LOADS = ("get", "masked_load")
_STORES = ("swap", "masked_swap")
_WORDS = ("float32", "int32", "uint32")
_PACKED = ("bfloat16", "int16", "uint16", "int8", "uint8")
_LANES = 128


def refused_stride(one: Reached) -> str:
    """What the compiler says against a load or store in steps, empty if that is not known."""
    name = one.equation.primitive.name
    if name not in (*_LOADS, *_STORES):
        return ""
    aval = one.equation.invars[0].aval
    transforms, _, _ = access_operands(one.equation)
    indices = getattr(transforms[0], "indices", ()) if len(transforms) == 1 else ()
    if memory_space_word(aval) not in ("", "vmem") or len(indices) != len(aval.shape):
        return ""
    if all(_stride(index) == 1 for index in indices):
        return ""
    dtype = str(aval.dtype)
    if dtype in _PACKED:
        return _refused_packed(name, indices, aval.shape)
    return _refused_words(name, indices, aval.shape) if dtype in _WORDS else ""


def _refused_packed(name: str, indices: Any, shape: Any) -> str:
    if name in _STORES:
        return PACKED_STORE
    if any(is_variable(_start(index)) for index in indices):
        return PACKED_AT_RUN_TIME
    return _refused_words(name, indices, shape)


def _refused_words(name: str, indices: Any, shape: Any) -> str:
    if len(indices) == 1:
        return ONE_AXIS.format(access="load" if name in _LOADS else "store")
    if _stride(indices[-1]) != 1:
        return ALONG_LANES
    if isinstance(shape[-1], int) and shape[-1] > _LANES:
        return WIDE
    start = _start(indices[-1])
    return FROM_A_LANE if not is_variable(start) and _number(start) != 0 else ""


def _stride(index: Any) -> int:
    return int(getattr(index, "stride", 1))


def _start(index: Any) -> Any:
    return getattr(index, "start", index)


def _number(start: Any) -> int:
    return int(getattr(start, "val", start))
