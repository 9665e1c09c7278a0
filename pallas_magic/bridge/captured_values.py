"""The arrays that a kernel or an index map took from outside, by the user's names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import CodeType, FrameType
from typing import Any

import jax
import numpy as np
from jax._src.state.types import AbstractRef

from pallas_magic.failure import Captured

_MOST_ELEMENTS = 1 << 20
_RAISED_IN = ("_trace_kernel_to_jaxpr", "to_block_mapping", "_error_if_non_ref_consts")


def captured_arrays(frames: Sequence[FrameType], kernel: Any) -> tuple[Captured, ...]:
    """What was captured, where that is what JAX raised about; else nothing."""
    last = frames[-1] if frames else None
    if last is None or last.f_code.co_name not in _RAISED_IN:
        return ()
    function = kernel
    if last.f_code.co_name == "to_block_mapping":
        index_map = getattr(last.f_locals.get("self"), "index_map", None)
        function = getattr(index_map, "index_map", index_map)
    arrays = [one for one in _constants(last.f_locals) if not _is_ref(one)]
    if last.f_code.co_name == "_error_if_non_ref_consts":
        # A kernel on a mesh may close over scalars.
        arrays = [one for one in arrays if jax.typeof(one).shape]
    names = dict(_outer_names(function))
    return tuple(_captured(array, names) for array in arrays)


def _constants(names: Mapping[str, Any]) -> Sequence[Any]:
    traced = names.get("closed_jaxpr")
    found = names.get("consts", getattr(traced, "consts", ()))
    return tuple(found)


def _is_ref(value: Any) -> bool:
    return isinstance(jax.typeof(value), AbstractRef)


def _outer_names(function: Any) -> Iterator[tuple[str, Any]]:
    """The names that a function takes from outside, each with its value."""
    code = getattr(function, "__code__", None)
    if code is None:
        return
    cells = zip(code.co_freevars, function.__closure__ or (), strict=False)
    for name in _global_names(code):
        if name in function.__globals__:
            yield name, function.__globals__[name]
    for name, cell in cells:
        try:
            yield name, cell.cell_contents
        except ValueError:  # not assigned yet
            continue


def _global_names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _global_names(constant)


def _captured(array: Any, names: Mapping[str, Any]) -> Captured:
    aval = jax.typeof(array)
    values = _values(array)
    return Captured(
        name=next((name for name, value in names.items() if _is_same(value, array, values)), ""),
        shape=tuple(aval.shape),
        dtype=str(aval.dtype),
        fill=_fill(values),
        steps=_steps(values),
    )


def _is_same(value: Any, array: Any, values: np.ndarray[Any, Any] | None) -> bool:
    if value is array:
        return True
    if values is None or not isinstance(value, (np.ndarray, np.generic, jax.Array)):
        return False
    other = _values(value)
    # JAX takes a NumPy array of 64-bit numbers for one of 32-bit numbers.
    return (
        other is not None
        and other.shape == values.shape
        and other.dtype.kind == values.dtype.kind
        and np.array_equal(other.astype(values.dtype), values, equal_nan=values.dtype.kind == "f")
    )


def _values(array: Any) -> np.ndarray[Any, Any] | None:
    """The elements of an array that is known before the kernel runs, if there are not too many."""
    if isinstance(array, jax.core.Tracer) or getattr(array, "size", _MOST_ELEMENTS) == 0:
        return None
    if getattr(array, "size", 0) > _MOST_ELEMENTS:
        return None
    try:
        return np.asarray(array)
    except Exception:  # an array of another device, or a type NumPy has no word for
        return None


def _fill(values: np.ndarray[Any, Any] | None) -> str:
    if values is None or values.dtype.kind not in "fiub":
        return ""
    first = values.flat[0]
    if not np.isfinite(first) or not (values == first).all():
        return ""
    return repr(first.item())


def _steps(values: np.ndarray[Any, Any] | None) -> tuple[int, int] | None:
    if values is None or values.dtype.kind not in "fiu" or values.ndim < 1:
        return None
    if values.shape[-1] < 2 or not np.isfinite(values).all():
        return None
    row = values.reshape(-1, values.shape[-1])[0].astype(np.float64)
    first, step = row[0], row[1] - row[0]
    counted = first + step * np.arange(row.size)
    whole = first.is_integer() and step.is_integer() and abs(counted).max() < 1 << 23
    if not whole or not (values == counted).all():
        return None
    return int(first), int(step)
