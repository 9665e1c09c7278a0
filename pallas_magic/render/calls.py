"""The calls of each kernel: those that say the same as one."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Mapping

from pallas_magic.render.chips import listed
from pallas_magic.report import KernelReport, Report

Key = Callable[[KernelReport], Hashable]


@dataclasses.dataclass(frozen=True)
class Calls:
    """One or more calls of one kernel: the reports of the first, by target.

    ``label`` tells which calls they are, "" where there is but one: "3 calls", "call 2".
    """

    name: str
    label: str
    by_target: Mapping[str, KernelReport]
    seconds: Mapping[str, float]


def kernel_calls(report: Report, key: Key) -> tuple[Calls, ...]:
    """The calls of each kernel of ``report``, those together for whose reports ``key`` is equal.

    A call is checked for one target after another, or all calls for one and
    then for the next: the first of each target are those of the first call.
    """
    named: dict[str, list[dict[str, KernelReport]]] = {}
    for kernel in report.kernels:
        calls = named.setdefault(kernel.name, [])
        call = next((one for one in calls if kernel.target not in one), None)
        if call is None:
            calls.append(call := {})
        call[kernel.target] = kernel
    return tuple(found for name, calls in named.items() for found in _grouped(name, calls, key))


def _grouped(name: str, calls: list[dict[str, KernelReport]], key: Key) -> list[Calls]:
    groups: dict[Hashable, list[int]] = {}
    for index, call in enumerate(calls):
        same = frozenset((target, key(kernel)) for target, kernel in call.items())
        groups.setdefault(same, []).append(index)
    return [
        Calls(
            name,
            _label([index + 1 for index in indices], len(calls)),
            calls[indices[0]],
            _seconds([calls[index] for index in indices]),
        )
        for indices in groups.values()
    ]


def _label(numbers: list[int], every: int) -> str:
    if every == 1:
        return ""
    if len(numbers) == every:
        return f"{every} calls"
    if len(numbers) == 1:
        return f"call {numbers[0]}"
    if len(numbers) > _SHOWN:
        return f"{len(numbers)} of {every} calls"
    return f"calls {listed([str(number) for number in numbers])}"


_SHOWN = 4


def _seconds(calls: list[dict[str, KernelReport]]) -> dict[str, float]:
    total: dict[str, float] = {}
    for call in calls:
        for target, kernel in call.items():
            spent = sum(result.seconds for result in kernel.stages.values())
            total[target] = total.get(target, 0.0) + spent
    return total
