"""Between which numbers the integers of a kernel lie, where its jaxpr tells that."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pallas_magic.bridge.kernels import inner_jaxprs, is_variable, operand_pairs

Range = tuple[int, int]

_KEPT = ("broadcast_in_dim", "reshape", "squeeze", "expand_dims", "copy", "stop_gradient")
_CALLS = ("pjit", "jit", "closed_call", "custom_jvp_call", "custom_vjp_call")
_LARGEST = {"int8": 2**7 - 1, "int16": 2**15 - 1, "int32": 2**31 - 1, "int64": 2**63 - 1}


def operand_ranges(
    jaxpr: Any, path: Sequence[Any], grid: Sequence[int | None] = ()
) -> tuple[Range | None, ...]:
    """The range of each operand of the last equation of ``path``, ``None`` where it is not known.

    ``path`` leads from an equation of ``jaxpr`` through inner jaxprs, and ``grid``
    has the sizes that ``program_id`` counts to. A choice made by a condition that
    is not known counts as not known: JAX turns a negative index into one from the
    end by such a choice.
    """
    known: dict[Any, Range] = {}
    for position, equation in enumerate(path):
        if not any(one is equation for one in jaxpr.eqns):
            return ()
        _follow(jaxpr, equation, known, grid)
        if position + 1 == len(path):
            return tuple(_told(_range_of(atom, known), atom) for atom in equation.invars)
        jaxpr = _around(path[position + 1], equation)
        if jaxpr is None:
            return ()
        known = _entered(equation, jaxpr, known)
    return ()


def _told(found: Range | None, atom: Any) -> Range | None:
    return None if found == _any(atom.aval) else found


def _around(wanted: Any, equation: Any) -> Any:
    """The inner jaxpr of ``equation`` that ``wanted`` is in."""
    for inner in inner_jaxprs(equation):
        if any(one is wanted for one in inner.eqns):
            return inner
    return None


def _follow(jaxpr: Any, end: Any, known: dict[Any, Range], grid: Sequence[int | None]) -> None:
    """Find what the equations before ``end`` give."""
    for equation in jaxpr.eqns:
        if equation is end:
            return
        if len(equation.outvars) == 1 and (found := _given(equation, known, grid)):
            known[equation.outvars[0]] = found


def _given(equation: Any, known: Mapping[Any, Range], grid: Sequence[int | None]) -> Range | None:
    name = equation.primitive.name
    if name in _CALLS:
        return _of_call(equation, known, grid)
    if name == "program_id":
        axis = equation.params["axis"]
        size = grid[axis] if axis < len(grid) else None
        return (0, size - 1) if size else None
    if name == "iota":
        return 0, max(equation.params["shape"][equation.params["dimension"]] - 1, 0)
    ranges = [_range_of(atom, known) for atom in equation.invars]
    if name == "select_n":
        return ranges[1] if ranges[0] == (0, 0) else None
    if None in ranges:
        return None
    calculated = _calculated(name, [one for one in ranges if one is not None])
    return _held(calculated, equation.outvars[0].aval)


def _calculated(name: str, ranges: Sequence[Range]) -> Range | None:
    if name in _KEPT or name == "convert_element_type":
        return ranges[0]
    if name == "concatenate":
        return min(low for low, _ in ranges), max(high for _, high in ranges)
    if name == "neg":
        return -ranges[0][1], -ranges[0][0]
    if name == "clamp":
        least, one, most = ranges
        return _smaller(_greater(one, least), most)
    operation = _OPERATIONS.get(name)
    return operation(*ranges) if operation is not None and len(ranges) == 2 else None


def _held(found: Range | None, aval: Any) -> Range | None:
    """``found`` if a number of the type can hold it: beyond that it would wrap around."""
    dtype = str(aval.dtype)
    if found is None or dtype == "bool":
        return found
    largest = _LARGEST.get(dtype, -1)
    return found if -largest <= found[0] and found[1] <= largest else None


def _product(one: Range, other: Range) -> Range:
    ends = [a * b for a in one for b in other]
    return min(ends), max(ends)


def _greater(one: Range, other: Range) -> Range:
    return max(one[0], other[0]), max(one[1], other[1])


def _smaller(one: Range, other: Range) -> Range:
    return min(one[0], other[0]), min(one[1], other[1])


def _remainder(one: Range, other: Range) -> Range | None:
    """For what JAX and Python agree on: a number that is not negative, by a positive one."""
    if one[0] < 0 or other[0] <= 0:
        return None
    return 0, min(one[1], other[1] - 1)


def _quotient(one: Range, other: Range) -> Range | None:
    if one[0] < 0 or other[0] <= 0:
        return None
    return one[0] // other[1], one[1] // other[0]


def _less(one: Range, other: Range) -> Range:
    return int(one[1] < other[0]), int(one[0] < other[1])


def _at_most(one: Range, other: Range) -> Range:
    return int(one[1] <= other[0]), int(one[0] <= other[1])


_OPERATIONS: Mapping[str, Callable[[Range, Range], Range | None]] = {
    "add": lambda one, other: (one[0] + other[0], one[1] + other[1]),
    "sub": lambda one, other: (one[0] - other[1], one[1] - other[0]),
    "mul": _product,
    "max": _greater,
    "min": _smaller,
    "rem": _remainder,
    "div": _quotient,
    "lt": _less,
    "le": _at_most,
    "gt": lambda one, other: _less(other, one),
    "ge": lambda one, other: _at_most(other, one),
}


def _any(aval: Any) -> Range | None:
    """All that a number of the type can be."""
    largest = _LARGEST.get(str(getattr(aval, "dtype", "")))
    return (-largest - 1, largest) if largest is not None else None


def _range_of(atom: Any, known: Mapping[Any, Range]) -> Range | None:
    if is_variable(atom):
        return known.get(atom) or _any(atom.aval)
    value: Any = getattr(atom, "val", None)
    try:
        number = int(value)
    except (TypeError, ValueError):
        return None
    return (number, number) if number == value else None


def _of_call(equation: Any, known: Mapping[Any, Range], grid: Sequence[int | None]) -> Range | None:
    inner = next(iter(inner_jaxprs(equation)), None)
    if inner is None or len(inner.outvars) != 1:
        return None
    inside = _passed(equation, inner, known)
    _follow(inner, None, inside, grid)
    return _range_of(inner.outvars[0], inside)


def _passed(equation: Any, inner: Any, known: Mapping[Any, Range]) -> dict[Any, Range]:
    passed = {}
    for atom, variable in operand_pairs(equation, inner):
        if (found := _range_of(atom, known)) is not None:
            passed[variable] = found
    return passed


def _entered(equation: Any, inner: Any, known: Mapping[Any, Range]) -> dict[Any, Range]:
    """What is known at the start of ``inner``, at every turn where it is a loop."""
    passed = _passed(equation, inner, known)
    name = equation.primitive.name
    if name == "while":
        return {}
    if name != "scan":
        return passed
    loop = _Loop.of(equation, inner)
    changed = inner.invars[loop.constants :]
    stays = {variable: found for variable, found in passed.items() if variable not in changed}
    return stays | loop.counted(passed)


@dataclasses.dataclass(frozen=True, eq=False)
class _Loop:
    """A scan: how many of its operands stay the same, and how many turns it takes."""

    inner: Any
    constants: int
    carried: int
    turns: int

    @staticmethod
    def of(equation: Any, inner: Any) -> _Loop:
        params = equation.params
        if "num_consts" in params:
            constants, carried = params["num_consts"], params["num_carry"]
        else:
            constants, carried = (len(list(part)) for part in params["ft_in"].elts[:2])
        return _Loop(inner, constants, carried, params["length"])

    def counted(self, passed: Mapping[Any, Range]) -> dict[Any, Range]:
        """The carried numbers that go up by one at each turn."""
        found = {}
        for position in range(self.carried):
            variable = self.inner.invars[self.constants + position]
            start = passed.get(variable)
            if start is not None and self._counts(variable, self.inner.outvars[position]):
                found[variable] = start[0], start[1] + max(self.turns - 1, 0)
        return found

    def _counts(self, variable: Any, result: Any) -> bool:
        return any(
            equation.primitive.name == "add"
            and equation.outvars[0] is result
            and _is_next(equation.invars, variable)
            for equation in self.inner.eqns
        )


def _is_next(operands: Sequence[Any], variable: Any) -> bool:
    one, other = operands
    if one is not variable:
        one, other = other, one
    return one is variable and not is_variable(other) and _range_of(other, {}) == (1, 1)
