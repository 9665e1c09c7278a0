"""Which equations of a kernel are certain to reach its compiler, and what it can know there.

An unused value is dropped on the way, and so is a branch whose condition is a constant or
the body of a loop of no turns. Where it is not certain, an equation is left out.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from pallas_magic.bridge.kernels import inner_jaxprs, is_variable, operand_pairs
from pallas_magic.bridge.lanes import lies_along_lanes

_LOADS = ("get", "load", "masked_load")
# Compiled: not even a grid of one step makes a constant of the first.
_KNOWN_WHEN_RUN = ("program_id", *_LOADS)
_SHIFTS = ("add", "sub")
_CANCELLING = ("sub", "xor", "div", "rem")
_CANCELLED = (*_CANCELLING, "mul", "and")
_NONE: frozenset[Any] = frozenset()


@dataclasses.dataclass(frozen=True, eq=False)
class Values:
    """What is known of variables.

    Which vary, which of those may be any number, and which are rows of numbers.
    """

    varying: frozenset[Any] = frozenset()
    any_number: frozenset[Any] = frozenset()
    lanes: frozenset[Any] = frozenset()


@dataclasses.dataclass(frozen=True, eq=False)
class Reached:
    """An equation that reaches a compiler: the last of ``path``, which leads from the kernel to it.

    ``values`` is about its operands.
    """

    path: tuple[Any, ...]
    values: Values

    @property
    def equation(self) -> Any:
        return self.path[-1]


def reached(jaxpr: Any) -> Iterator[Reached]:
    """The equations of ``jaxpr`` and of what is inside it that reach a compiler."""
    yield from _walk(jaxpr, set(jaxpr.outvars), Values(), ())


def _walk(jaxpr: Any, used: set[Any], values: Values, path: tuple[Any, ...]) -> Iterator[Reached]:
    live = _live(jaxpr, used)
    varying, any_number, lanes = (
        set(known) for known in (values.varying, values.any_number, values.lanes)
    )
    for equation in jaxpr.eqns:
        takes = {atom for atom in equation.invars if is_variable(atom)}
        varies = not takes.isdisjoint(varying) and not _cancels(equation)
        if equation.primitive.name in _KNOWN_WHEN_RUN or varies:
            varying.update(equation.outvars)
        if _gives_any_number(equation, any_number):
            any_number.update(equation.outvars)
        if lies_along_lanes(equation, lanes):
            lanes.update(equation.outvars[:1])
        if id(equation) not in live:
            continue
        here = (*path, equation)
        known = [frozenset(takes & one) if one else _NONE for one in (varying, any_number, lanes)]
        yield Reached(here, Values(*known))
        if _may_be_dropped(equation, varying):
            continue
        for inner in inner_jaxprs(equation):
            inside = _inside(equation, inner, varying, any_number)
            yield from _walk(inner, _used_results(equation, inner, live), inside, here)


def _cancels(equation: Any) -> bool:
    """Whether canonical forms make a constant of it: `x - x`, `x * 0`."""
    atoms = equation.invars
    name = equation.primitive.name
    if len(atoms) != 2 or name not in _CANCELLED:
        return False
    if name in _CANCELLING and is_variable(atoms[0]) and atoms[0] is atoms[1]:
        return True
    return name in ("mul", "and") and any(_is_zero(atom) for atom in atoms)


def _is_zero(atom: Any) -> bool:
    value = getattr(atom, "val", None)
    return not is_variable(atom) and not getattr(value, "shape", ()) and bool(value == 0)


def _gives_any_number(equation: Any, any_number: set[Any]) -> bool:
    """Whether nothing is known of a scalar: where it comes from, or a shift of such a one."""
    name = equation.primitive.name
    if name in _KNOWN_WHEN_RUN:
        return not equation.outvars[0].aval.shape
    plain = name == "convert_element_type" or (name in _SHIFTS and len(equation.invars) == 2)
    if not plain or not any_number:
        return False
    taken = [atom for atom in equation.invars if is_variable(atom)]
    return len(taken) == 1 and taken[0] in any_number


def _inside(equation: Any, inner: Any, varying: set[Any], any_number: set[Any]) -> Values:
    pairs = [(atom, var) for atom, var in operand_pairs(equation, inner) if is_variable(atom)]
    counters = _counters(equation, inner)
    return Values(
        frozenset({var for atom, var in pairs if atom in varying} | counters),
        frozenset({var for atom, var in pairs if atom in any_number} | counters)
        if equation.primitive.name != "scan"
        else frozenset(counters | _kept(equation, inner, any_number)),
    )


def _kept(equation: Any, inner: Any, any_number: set[Any]) -> set[Any]:
    """The loop's constants that may be any number."""
    count = _constants(equation, inner)
    pairs = zip(equation.invars[:count], inner.invars[:count], strict=True)
    return {var for atom, var in pairs if is_variable(atom) and atom in any_number}


def _constants(equation: Any, inner: Any) -> int:
    """How many operands a loop hands to each turn as they are; Pallas has no scanned ones."""
    return max(len(equation.invars) - len(inner.outvars), 0)


def _counters(equation: Any, inner: Any) -> set[Any]:
    """The carries of a loop that go up by one each turn and are not unrolled."""
    turns, unroll = equation.params.get("length", 0), equation.params.get("unroll", 1)
    if equation.primitive.name != "scan" or turns < 2 or int(unroll) != 1:
        return set()
    first = _constants(equation, inner)
    by_result = {one.outvars[0]: one for one in inner.eqns if one.primitive.name == "add"}
    found = set()
    for position, result in enumerate(inner.outvars):
        step = by_result.get(result) if is_variable(result) else None
        if step is None or first + position >= len(inner.invars):
            continue
        carry = inner.invars[first + position]
        ones = [getattr(atom, "val", None) == 1 for atom in step.invars if not is_variable(atom)]
        if carry in step.invars and ones == [True] and not carry.aval.shape:
            found.add(carry)
    return found


def _live(jaxpr: Any, used: set[Any]) -> dict[int, set[Any]]:
    """By the identity of each equation that matters, which of its results do."""
    wanted = {atom for atom in used if is_variable(atom)}
    found: dict[int, set[Any]] = {}
    for equation in reversed(jaxpr.eqns):
        results = {one for one in equation.outvars if one in wanted}
        if not results and (not equation.effects or equation.primitive.name in _LOADS):
            continue
        found[id(equation)] = results
        wanted.update(atom for atom in equation.invars if is_variable(atom))
    return found


def _used_results(equation: Any, inner: Any, live: dict[int, set[Any]]) -> set[Any]:
    """The results of ``inner`` that the used results of ``equation`` are."""
    if len(inner.outvars) != len(equation.outvars):
        return set()
    wanted = live[id(equation)]
    pairs = zip(inner.outvars, equation.outvars, strict=True)
    return {own for own, outer in pairs if outer in wanted and is_variable(own)}


def _may_be_dropped(equation: Any, varying: set[Any]) -> bool:
    name = equation.primitive.name
    if name == "cond":
        return not is_variable(equation.invars[0]) or equation.invars[0] not in varying
    return name == "while" or (name == "scan" and bool(equation.params.get("length") == 0))
