"""Which equations of a kernel a value flows into."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pallas_magic.bridge.kernels import inner_jaxprs, is_variable, operand_pairs

NOTHING: frozenset[int] = frozenset()


def flows(
    jaxpr: Any,
    sources: Iterable[Any] = (),
    variables: Iterable[Any] = (),
    carries: Callable[[Any], bool] = lambda variable: True,
) -> Mapping[int, frozenset[int]]:
    """For each equation that takes a value of a source, which sources those are.

    Sources are equations, and ``variables`` that hold a value from the start;
    both ends are told by identity. A value is followed through ``carries``
    variables only, into and out of inner jaxprs, but not through memory and
    not into the next turn of a loop.
    """
    follower = _Follower(
        {id(equation) for equation in sources},
        {variable: frozenset((id(variable),)) for variable in variables},
        carries,
    )
    follower.walk(jaxpr)
    return follower.taken


class _Follower:
    def __init__(
        self,
        sources: set[int],
        held: dict[Any, frozenset[int]],
        carries: Callable[[Any], bool],
    ) -> None:
        self._sources = sources
        self._held = held
        self._carries = carries
        self.taken: dict[int, frozenset[int]] = {}

    def walk(self, jaxpr: Any) -> None:
        for equation in jaxpr.eqns:
            takes = self._union(equation.invars)
            if takes:
                self.taken[id(equation)] = takes
            gives = self._inner(equation) if any(inner_jaxprs(equation)) else takes
            if id(equation) in self._sources:
                gives |= {id(equation)}
            self._hold(equation.outvars, gives)

    def _inner(self, equation: Any) -> frozenset[int]:
        """Follow into inner jaxprs; what comes out of them."""
        gives = NOTHING
        for inner in inner_jaxprs(equation):
            for atom, variable in operand_pairs(equation, inner):
                self._hold((variable,), self._union((atom,)))
            self.walk(inner)
            gives |= self._union(inner.outvars)
        return gives

    def _union(self, atoms: Iterable[Any]) -> frozenset[int]:
        held = (self._held.get(atom, NOTHING) for atom in atoms if is_variable(atom))
        return NOTHING.union(*held)

    def _hold(self, variables: Iterable[Any], sources: frozenset[int]) -> None:
        if sources:
            for variable in variables:
                if self._carries(variable):
                    self._held[variable] = self._held.get(variable, NOTHING) | sources
