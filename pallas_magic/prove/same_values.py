"""Whether two kernels give the same values, tried on two random draws."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import jax.numpy as jnp
import numpy as np

from pallas_magic.bridge.capture import Call
from pallas_magic.bridge.interpret import (
    InterpretedCall,
    NotInterpretable,
    Patience,
    inputs_are_read,
)
from pallas_magic.bridge.retrace import output_types

Array = np.ndarray[Any, Any]

_SEEDS = (20_231, 77_003)
_LEAST_DEFINED = 0.5
# How many rounding steps of the dtype a reordered sum may be off, of its largest value.
_ROUNDINGS = {1: 2, 2: 4, 4: 64, 8: 64}


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Whether the values are the same; ``None`` with the reason where that was not shown."""

    same: bool | None
    why: str = ""


class Samples:
    """What calls give on the random draws; a call is run once, however often it is asked."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Call, list[list[Array]]]] = {}

    def of(self, call: Call, patience: Patience) -> list[list[Array]]:
        """The outputs for each draw; raises :class:`NotInterpretable`."""
        if id(call) not in self._known:
            ready = InterpretedCall(call)
            outputs = [ready.run(draw(call, seed), patience) for seed in _SEEDS]
            self._known[id(call)] = call, outputs
        return self._known[id(call)][1]


def same_values(
    before: Call, after: Call, exact: bool, seconds: float, samples: Samples
) -> Comparison:
    """Run both calls on equal operands and compare all their outputs."""
    patience = Patience(seconds)
    if output_types(before) != output_types(after):
        return Comparison(None, "the caller gets another shape or dtype")
    if _inputs(before) != _inputs(after):
        return Comparison(None, "the kernel gets other operands")
    try:
        expected, found = samples.of(before, patience), Samples().of(after, patience)
    except NotInterpretable as reason:
        return Comparison(None, str(reason))
    for first, second in zip(expected, found, strict=True):
        for pair in zip(first, second, strict=True):
            verdict = compare(*pair, exact)
            if verdict.same is not True:
                return verdict
    return _telling(list(zip(*expected, strict=True)), inputs_are_read(before))


def _inputs(call: Call) -> list[tuple[tuple[int, ...], str]]:
    return [(tuple(aval.shape), str(aval.dtype)) for aval in call.avals]


def draw(call: Call, seed: int) -> list[Array]:
    """Operands of ``call``: small integers, normal floats, booleans.

    Integers stay below three because they may be indices or loop bounds.
    """
    generator = np.random.default_rng(seed)
    bounds = _dynamic_bounds(call)
    return [
        np.asarray(generator.integers(1, 3, aval.shape), aval.dtype)
        if position < bounds
        else _draw_one(generator, tuple(aval.shape), aval.dtype)
        for position, aval in enumerate(call.avals)
    ]


def _dynamic_bounds(call: Call) -> int:
    mapping = call.params.get("grid_mapping")
    return int(mapping.num_dynamic_grid_bounds) if mapping is not None else 0


def _draw_one(generator: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> Array:
    if jnp.issubdtype(dtype, jnp.bool_):
        return np.asarray(generator.integers(0, 2, shape), bool)
    if jnp.issubdtype(dtype, jnp.integer):
        return np.asarray(generator.integers(0, 3, shape)).astype(dtype)
    if jnp.issubdtype(dtype, jnp.complexfloating):
        parts = generator.standard_normal((2, *shape))
        return np.asarray(parts[0] + 1j * parts[1]).astype(dtype)
    if jnp.issubdtype(dtype, jnp.floating):
        return np.asarray(generator.standard_normal(shape)).astype(dtype)
    raise NotInterpretable(f"no random {dtype} values can be drawn")


def compare(expected: Array, found: Array, exact: bool) -> Comparison:
    """Whether one output is the same; unwritten elements must be the same ones."""
    mask, written = _defined(expected), _defined(found)
    if (mask & ~written).any():
        return Comparison(False, "other elements of the output are written")
    first, second = expected[mask], found[mask]
    if not np.array_equal(first, second):
        if not _close(first, second):
            return Comparison(False, "the values differ")
        if exact:
            return Comparison(None, "the values differ in their last digits")
    if (written & ~mask).any():
        return Comparison(None, "more elements of the output are written")
    return Comparison(True)


def _close(first: Array, second: Array) -> bool:
    if not jnp.issubdtype(first.dtype, jnp.inexact):
        return False
    kind = first.dtype if jnp.issubdtype(first.dtype, jnp.floating) else first.real.dtype
    roundings = _ROUNDINGS.get(np.dtype(kind).itemsize, 4)
    epsilon = float(jnp.finfo(kind).eps) * roundings  # type: ignore[no-untyped-call]
    wide = np.complex128 if jnp.issubdtype(first.dtype, jnp.complexfloating) else np.float64
    one, other = first.astype(wide), second.astype(wide)
    finite = np.isfinite(one)
    if not np.array_equal(finite, np.isfinite(other)) or not np.array_equal(
        one[~finite], other[~finite]
    ):
        return False
    if not finite.any():
        return True
    scale = float(np.max(np.abs(one[finite])))
    return bool(np.max(np.abs(one[finite] - other[finite])) <= epsilon * scale)


def _defined(values: Array) -> Array:
    """Which elements interpret mode shows as written."""
    if jnp.issubdtype(values.dtype, jnp.inexact):
        return np.asarray(~np.isnan(values))
    if jnp.issubdtype(values.dtype, jnp.signedinteger):
        return np.asarray(values != jnp.iinfo(values.dtype).min)  # type: ignore[no-untyped-call]
    return np.ones(values.shape, bool)


def _telling(outputs: list[tuple[Array, ...]], inputs_are_read: bool) -> Comparison:
    """Whether values that agree say anything: enough of them, and not all alike."""
    for draws in outputs:
        usable = [_usable(values) for values in draws]
        size = sum(values.size for values in draws)
        if size and sum(map(len, usable)) < math.ceil(size * _LEAST_DEFINED):
            return Comparison(None, "most values are undefined in interpret mode")
        if inputs_are_read and size and len(np.unique(np.concatenate(usable))) < 2:
            return Comparison(None, "the outputs do not vary with the inputs")
    return Comparison(True)


def _usable(values: Array) -> Array:
    kept = values[_defined(values)]
    if jnp.issubdtype(values.dtype, jnp.inexact):
        kept = kept[np.isfinite(kept)]
        wide = np.complex128 if jnp.issubdtype(kept.dtype, jnp.complexfloating) else np.float64
        return np.asarray(kept.astype(wide))
    return np.asarray(kept)
