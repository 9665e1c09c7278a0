"""The chip matrix of a report in which kernels were checked for several chips.

A stage of a kernel has a row where it decided for a chip: the last that went
well, or the one that failed. What came before it there went well too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterator, Mapping, Sequence

from pallas_magic.compile_stage import COMPILING
from pallas_magic.render.calls import Calls, kernel_calls
from pallas_magic.render.characters import shortened, shown_line
from pallas_magic.render.chips import chip_list, has_matrix, listed, report_chips, target_title
from pallas_magic.render.inline import inline
from pallas_magic.render.model import ChipCell, ChipMatrix, ChipRow, KernelRows
from pallas_magic.render.words import count, duration, kernel_count, title
from pallas_magic.report import STAGES, Diagnostic, KernelReport, Report, Stage

_DOES = {"trace": "traces", "lower": "lowers", "compile": "compiles"}
_DOES_NOT = {"trace": "does not trace", "lower": "does not lower", "compile": "does not compile"}
_MISSING = {"trace": "not traced", "lower": "not lowered", "compile": "not compiled"}
SKIPPED = "skipped"
_ORDER = {"ok": 0, "failed": 1, "skipped": 2}


@dataclasses.dataclass(frozen=True)
class _Verdict:
    """What one kernel came to on one chip; ``stage`` decided, ``None`` if none was reached."""

    kernel: KernelReport
    stage: Stage | None
    status: str
    found: tuple[int, ...]
    why: str


def chip_matrix(report: Report, references: Sequence[str]) -> ChipMatrix | None:
    """The matrix of ``report``, ``None`` where each kernel has one chip.

    ``references`` are what the diagnostics are called, "PM302".
    """
    if not has_matrix(report):
        return None
    chips = report_chips(report)
    calls = kernel_calls(report, _key)
    verdicts = [_verdicts(one, report.diagnostics) for one in calls]
    kernels = tuple(
        _kernel_rows(one, told, chips, references)
        for one, told in zip(calls, verdicts, strict=True)
    )
    about = kernel_count(report) if report.diagnostics else title(report)
    titles = tuple(shown_line(target_title(chip)) for chip in chips)
    return ChipMatrix(
        caption=f"{about} on {count(len(chips), 'chip')}",
        chips=titles,
        kernels=kernels,
        reasons=tuple(map(inline, _reasons(calls, verdicts))),
    )


def _key(kernel: KernelReport) -> Hashable:
    return tuple((stage, found.status, found.why) for stage, found in kernel.stages.items())


def _verdicts(calls: Calls, diagnostics: Sequence[Diagnostic]) -> dict[str, _Verdict]:
    own = [
        (index, diagnostic)
        for index, diagnostic in enumerate(diagnostics)
        if diagnostic.kernel == calls.name and _may_be_of(calls, diagnostic)
    ]
    return {
        target: _verdict(kernel, [(index, one) for index, one in own if target in one.targets])
        for target, kernel in calls.by_target.items()
    }


def _may_be_of(calls: Calls, diagnostic: Diagnostic) -> bool:
    """Whether an error is not for certain of another call: one that fails where these do not."""
    kernels = [calls.by_target[one] for one in diagnostic.targets if one in calls.by_target]
    return diagnostic.severity != "error" or all(not kernel.ok for kernel in kernels)


def _verdict(kernel: KernelReport, found: Sequence[tuple[int, Diagnostic]]) -> _Verdict:
    numbers = [index for index, diagnostic in found if diagnostic.severity != "error"]
    failed = next((s for s, result in kernel.stages.items() if result.status == "failed"), None)
    if failed is not None:
        numbers += [index for index, diagnostic in found if diagnostic.severity == "error"]
        why = shortened(kernel.stages[failed].why)
        return _Verdict(kernel, failed, "failed", tuple(sorted(numbers)), why)
    reached = [
        stage
        for stage, result in kernel.stages.items()
        if stage != "trace" and result.status == "ok"
    ]
    told = [d.stage for _, d in found if d.severity != "error" and d.stage in kernel.stages]
    stage = max([*reached, *told], key=STAGES.index, default=None)
    if stage is None:
        why = next((result.why for result in kernel.stages.values() if result.why), "")
        return _Verdict(kernel, None, "skipped", tuple(numbers), shortened(why))
    after = [kernel.stages[s].why for s in STAGES[STAGES.index(stage) + 1 :] if s in kernel.stages]
    result = kernel.stages[stage]
    return _Verdict(kernel, stage, result.status, tuple(numbers), shortened(next(iter(after), "")))


def _kernel_rows(
    calls: Calls, verdicts: Mapping[str, _Verdict], chips: Sequence[str], references: Sequence[str]
) -> KernelRows:
    decided = {verdict.stage for verdict in verdicts.values()}
    stages = [stage for stage in STAGES if stage in decided] or ["lower"]
    rows = tuple(
        ChipRow(stage, tuple(_cell(stage, verdicts.get(chip)) for chip in chips))
        for stage in stages
    )
    return KernelRows(
        name=shown_line(calls.name or "kernel"),
        calls=calls.label,
        rows=rows,
        lines=tuple(map(inline, _lines(calls, verdicts, references, len(stages) > 1))),
    )


def _cell(stage: str, verdict: _Verdict | None) -> ChipCell:
    if verdict is None:
        return ChipCell("none", (), "")
    about = shown_line(", ".join(_stages_told(verdict.kernel)))
    if stage == verdict.stage:
        return ChipCell(verdict.status, verdict.found, about)  # type: ignore[arg-type]
    result = {str(name): result for name, result in verdict.kernel.stages.items()}.get(stage)
    if result is None or verdict.stage is None:
        return ChipCell("skipped" if result is not None else "none", (), about)
    if result.why == COMPILING:
        return ChipCell("waiting", (), about)
    return ChipCell(result.status, (), about)


def _stages_told(kernel: KernelReport) -> Iterator[str]:
    said = ""
    for stage, result in kernel.stages.items():
        if result.why and result.why == said:
            continue
        said = result.why
        spent = f" ({duration(result.seconds)})" if result.seconds else ""
        why = f": {shortened(result.why)}" if result.why else ""
        yield f"{stage} {result.status}{spent}{why}"


def _lines(
    calls: Calls, verdicts: Mapping[str, _Verdict], references: Sequence[str], uneven: bool
) -> list[str]:
    """ "✓ compiles for TPU v5e and v6e (1.2 s)": chips of one outcome together."""
    groups: dict[tuple[int, str, tuple[int, ...], str], list[str]] = {}
    for target, verdict in verdicts.items():
        key = (_ORDER[verdict.status], _does(verdict), verdict.found, _told_why(verdict, uneven))
        groups.setdefault(key, []).append(target)
    lines = []
    for (order, does, found, why), targets in sorted(groups.items(), key=lambda item: item[0][0]):
        aside = [references[index] for index in found]
        if order == _ORDER["ok"]:
            aside.append(duration(sum(calls.seconds[target] for target in targets)))
        told = f" ({', '.join(aside)})" if aside else ""
        lines.append(f"{does} for {chip_list(targets)}{told}" + (f": {why}" if why else ""))
    return lines


def _does(verdict: _Verdict) -> str:
    if verdict.stage is None:
        return SKIPPED
    if verdict.status == "ok":
        return f"✓ {_DOES[verdict.stage]}"
    if verdict.status == "failed":
        return f"✗ {_DOES_NOT[verdict.stage]}"
    return _MISSING[verdict.stage]


def _told_why(verdict: _Verdict, uneven: bool) -> str:
    """Why no more was done, where no diagnostic says it: of all chips alike, a note tells it."""
    if verdict.found and verdict.status != "ok":
        return ""
    if verdict.status == "ok":
        told = uneven and verdict.why not in ("", COMPILING)
        return f"not compiled, {verdict.why}" if told else ""
    return verdict.why


def _reasons(calls: Sequence[Calls], verdicts: Sequence[Mapping[str, _Verdict]]) -> Iterator[str]:
    """Why cells are empty, or failed without a diagnostic, each reason once."""
    groups: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for one, told in zip(calls, verdicts, strict=True):
        uneven = len({verdict.stage for verdict in told.values()} - {None}) > 1
        reasons: dict[str, list[str]] = {}
        for target, verdict in told.items():
            if why := _told_why(verdict, uneven):
                reasons.setdefault(why, []).append(target)
        for why, chips in reasons.items():
            name = f"`{one.name or 'kernel'}`" + (f" ({one.label})" if one.label else "")
            groups.setdefault((why, tuple(chips)), []).append(name)
    for (why, targets), names in groups.items():
        whose = "" if len(names) == len(calls) else f"{listed(names)} on "
        yield f"{whose}{chip_list(targets)}: {why}"
