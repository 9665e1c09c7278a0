"""What is not known of the indices of an operation: whether they lie within the array."""

from __future__ import annotations

from collections.abc import Iterator

from pallas_magic.failure import Failure, Value

_TO_A_REF = "an index that is negative or past the end, which JAX moves into range, reads elsewhere"
_TO_A_MASK = "an index past the end, which JAX moves into range, sets nothing"
_FROM_THE_END = "a negative index, which JAX counts from the end, sets nothing"


def doubt_of_ref_index(failure: Failure) -> str:
    """Why the index of a slice may mean something else on a ref; "" where it cannot."""
    return "" if _lie_within(_indices(failure)) else _TO_A_REF


def doubt_of_mask(failure: Failure) -> str:
    """Why an update may mean something else under a mask; "" where it cannot.

    A scatter drops what is past the end, as a mask does.
    """
    indices = list(_indices(failure))
    if failure.primitive == "dynamic_update_slice":
        return "" if _lie_within(iter(indices)) else _TO_A_MASK
    known = bool(indices) and all(value.range and value.range[0] >= 0 for value, _ in indices)
    return "" if known else _FROM_THE_END


def _lie_within(indices: Iterator[tuple[Value, int]]) -> bool:
    found = [
        value.range is not None and value.range[0] >= 0 and value.range[1] <= last
        for value, last in indices
    ]
    return bool(found) and all(found)


def _indices(failure: Failure) -> Iterator[tuple[Value, int]]:
    """Each operand that is an index, with the last number that it may be."""
    inputs = failure.operation.inputs
    if len(inputs) < 2:
        return
    operand, second, *rest = inputs
    taken = failure.operation.parameter("slice_sizes")
    match failure.primitive:
        case "dynamic_slice" if isinstance(taken, tuple):
            starts = (second, *rest)
        case "dynamic_update_slice":
            starts, taken = tuple(rest), second.shape
        case "gather" if isinstance(taken, tuple):
            parts = [w for w, size in zip(operand.shape, taken, strict=True) if size < w]
            yield second, min(parts or operand.shape) - 1
            return
        case _:
            yield second, min(operand.shape, default=1) - 1
            return
    for value, whole, size in zip(starts, operand.shape, taken, strict=True):
        yield value, whole - size
