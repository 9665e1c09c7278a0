"""A stretch of rows set to an array, `x.at[0:4].set(v)`: the parts put together anew."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pallas_magic.failure import Candidate
from pallas_magic.rules._operations.called import Called
from pallas_magic.rules._operations.lines import named, parenthesised
from pallas_magic.rules._operations.masked_updates import Update, bound, is_whole, update_of


def joined_fixes(one: Called) -> Iterator[Candidate]:
    """For one stretch of constant bounds, and a value of exactly its shape."""
    update, concatenate = update_of(one), one.numpy("concatenate")
    inputs = one.operation.inputs
    if update is None or concatenate is None or len(inputs) < 3:
        return
    stretch = _stretch(update, one.shape)
    if stretch is None or update.method not in ("set", "add", "multiply", "mul"):
        return
    axis, lower, upper = stretch
    cut = tuple(upper - lower if at == axis else size for at, size in enumerate(one.shape))
    if inputs[2].shape != cut:
        return

    def use(name: str) -> str:
        lead = ":, " * axis
        middle = _middle(one, update, f"{name}[{lead}{lower}:{upper}]")
        parts = [f"{name}[{lead}:{lower}]"] if lower > 0 else []
        parts.append(middle)
        parts += [f"{name}[{lead}{upper}:]"] if upper < one.shape[axis] else []
        return f"{concatenate}([{', '.join(parts)}]{f', axis={axis}' if axis else ''})"

    if edits := named(one, update.operand, use, "x", "value", "before"):
        yield Candidate("put the parts together", edits)


def _stretch(update: Update, shape: tuple[int, ...]) -> tuple[int, int, int] | None:
    """The axis that is cut, and between which constants, where it is one."""
    cut = [at for at, part in enumerate(update.index) if not is_whole(part)]
    if len(cut) != 1 or len(update.index) > len(shape):
        return None
    part, size = update.index[cut[0]], shape[cut[0]]
    if not isinstance(part, ast.Slice) or part.step is not None:
        return None
    lower, upper = bound(part.lower, 0, size), bound(part.upper, size, size)
    if lower is None or upper is None or not lower < upper or upper - lower == size:
        return None
    return cut[0], lower, upper


def _middle(one: Called, update: Update, before: str) -> str:
    match update.method:
        case "add":
            return f"{before} + {parenthesised(one, update.value)}"
        case "multiply" | "mul":
            return f"{before} * {parenthesised(one, update.value)}"
    return one.text(update.value)
