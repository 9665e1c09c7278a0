"""Index maps that take another number of arguments than they are given."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator, Sequence

from pallas_magic.failure import Failure
from pallas_magic.report import TextEdit
from pallas_magic.rules._specs.blocks import Step, block_counts, covers, steps
from pallas_magic.rules._specs.parameters import (
    GRID_NAMES,
    add_parameters,
    free_names,
    has_plain_parameters,
    remove_parameters,
)
from pallas_magic.rules._specs.texts import IndexMap, SpecText, spec_texts
from pallas_magic.source.document import Library


@dataclasses.dataclass(frozen=True, eq=False)
class Misfit:
    """An index map with the number of arguments that it is given."""

    spec: SpecText
    index_map: IndexMap
    given: int
    grid: tuple[int | None, ...]

    @property
    def taken(self) -> int:
        return len(self.index_map.parameters)

    @property
    def counts(self) -> list[int] | None:
        window = self.spec.ref.window
        return block_counts(window) if window is not None else None

    def covers(self, walked: Sequence[Step]) -> bool:
        """Whether these steps go through the whole operand."""
        return self.counts is not None and covers(self.counts, walked, self.grid)


def given_arguments(failure: Failure) -> int:
    """How many arguments each index map of the call is given."""
    return len(failure.call.grid) + prefetched(failure)


def prefetched(failure: Failure) -> int:
    return sum(ref.role == "prefetch" for ref in failure.refs)


def misfits(failure: Failure, sources: Library) -> list[Misfit]:
    """Every index map of the call that takes another number of arguments, each text once."""
    given = given_arguments(failure)
    found: dict[int, Misfit] = {}
    for spec in spec_texts(failure, sources):
        index_map = spec.index_map
        if index_map is None or not has_plain_parameters(index_map.node):
            continue
        if len(index_map.parameters) != given:
            one = Misfit(spec, index_map, given, failure.call.grid)
            found.setdefault(id(index_map.node), one)
    return list(found.values())


def taking_more(one: Misfit, names: Sequence[str]) -> tuple[TextEdit | None, ...]:
    """The parameters that are missing, added and left unused."""
    return (add_parameters(one.index_map.syntax, one.index_map.node, names),)


def walking_more(one: Misfit, names: Sequence[str]) -> tuple[TextEdit | None, ...]:
    """The parameters that are missing, added and used where the operand needs them.

    Empty unless exactly one way goes through the whole operand.
    """
    walked, results, counts = steps(one.index_map), one.index_map.results, one.counts
    new_axes = list(range(one.taken, len(one.grid)))
    if walked is None or results is None or counts is None or len(walked) != len(counts):
        return ()
    edits: list[TextEdit | None] = []
    for axis, step in enumerate(walked):
        if step.constant != 0 or counts[axis] == 1:
            continue
        fitting = [new for new in new_axes if one.grid[new] == counts[axis]]
        if len(fitting) != 1:
            return ()
        new_axes.remove(fitting[0])
        walked[axis] = Step(parameter=fitting[0])
        name = names[fitting[0] - one.taken]
        edits.append(one.index_map.syntax.replace(results[axis], name))
    if not edits or not one.covers(walked):
        return ()
    return (*taking_more(one, names), *edits)


def taking_fewer(one: Misfit) -> tuple[TextEdit | None, ...]:
    """The parameters that are too many, taken away; where one is used, there is one block."""
    names = [parameter.arg for parameter in one.index_map.parameters[one.given :]]
    edits = [remove_parameters(one.index_map.syntax, one.index_map.node, len(names))]
    walked, results, counts = steps(one.index_map), one.index_map.results, one.counts
    used = [name for name in names if one.index_map.reads(name)]
    if not used:
        return tuple(edits)
    if walked is None or results is None or counts is None or len(walked) != len(counts):
        return ()
    for axis, step in enumerate(walked):
        if step.parameter is not None and step.parameter >= one.given:
            if counts[axis] != 1:
                return ()
            edits.append(one.index_map.syntax.replace(results[axis], "0"))
            used.remove(names[step.parameter - one.given])
    return tuple(edits) if not used else ()


def wanted_grid(found: Sequence[Misfit]) -> tuple[int, ...] | None:
    """The sizes of the grid axes that are missing, if every index map says the same of them."""
    takes = {one.taken for one in found}
    if len(takes) != 1:
        return None
    given, taken = found[0].given, takes.pop()
    sizes: dict[int, set[int]] = {number: set() for number in range(given, taken)}
    for one in found:
        walked, counts = steps(one.index_map), one.counts
        if walked is None or counts is None or len(walked) != len(counts):
            return None
        for step, count in zip(walked, counts, strict=True):
            if step.parameter is not None and step.parameter >= given:
                sizes[step.parameter].add(count)
    if any(len(found_sizes) != 1 for found_sizes in sizes.values()):
        return None
    return tuple(min(sizes[number]) for number in range(given, taken))


def missing_names(one: Misfit, failure: Failure, sources: Library) -> list[str]:
    """Names for the parameters that are missing, as the other index maps have them."""
    count = one.given - one.taken
    grid_names = len(one.grid) - one.taken
    siblings = list(_sibling_names(one, failure, sources))
    names: list[str] = []
    for number in range(one.taken, one.given):
        wanted = [peer[number] for peer in siblings]
        if number < len(one.grid):
            wanted += GRID_NAMES[number:] + GRID_NAMES
        else:
            wanted.append(_prefetched_name(failure, number - len(one.grid)))
            wanted += [f"prefetched_{number}"]
        names += free_names(one.index_map.node, [w for w in wanted if w not in names], 1)
    return names if len(names) == count and grid_names <= count else []


def _sibling_names(one: Misfit, failure: Failure, sources: Library) -> Iterator[list[str]]:
    for spec in spec_texts(failure, sources):
        other = spec.index_map
        if other is not None and len(other.parameters) == one.given:
            yield [parameter.arg for parameter in other.parameters]


def _prefetched_name(failure: Failure, number: int) -> str:
    refs = [ref for ref in failure.refs if ref.role == "prefetch"]
    name = refs[number].name if number < len(refs) else ""
    return name if name.isidentifier() else f"prefetched_{number}"


def is_lambda(one: Misfit) -> bool:
    return isinstance(one.index_map.node, ast.Lambda)
