"""A product over an axis, by halves."""

from __future__ import annotations

from collections.abc import Iterator

from pallas_magic.failure import Candidate
from pallas_magic.rules._operations.called import Called, axis_of
from pallas_magic.rules._operations.lines import built_up, free_name, step_of

_LONGEST = 4096


def product_fixes(one: Called) -> Iterator[Candidate]:
    """`jnp.prod(x, axis=1)` over a number of elements that is a power of two."""
    operand, axis = one.operand(), axis_of(one, one.argument("axis", 1))
    if (
        one.name != "prod"
        or operand is None
        or axis is None
        or not one.has_only(2, "axis", "keepdims")
    ):
        return
    size, keep = one.shape[axis], one.argument("keepdims", 5)
    if size & (size - 1) or not 1 < size <= _LONGEST or len(one.shape) > 2:
        return
    if keep is not None and one.text(keep) not in ("True", "False"):
        return
    halves = [2**power for power in range(size.bit_length() - 2, -1, -1)]
    counter = free_name(one, "half", "middle")
    lead = ":, " * axis

    def lines(name: str) -> list[str]:
        pair = f"{name}[{lead}:{counter}] * {name}[{lead}{counter}:]"
        listed = ", ".join(map(str, halves)) + ("," if len(halves) == 1 else "")
        return [f"for {counter} in ({listed}):", f"{step_of(one)}{name} = {pair}"]

    def result(name: str) -> str:
        kept = keep is not None and one.text(keep) == "True"
        return name if kept else f"{name}[{lead}0]"

    order = "; multiplies in another order" if one.is_float else ""
    if edits := built_up(one, operand, lines, result, "product", "factors"):
        yield Candidate(f"multiply the halves together{order}", edits, exact=not one.is_float)
