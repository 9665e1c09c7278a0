"""From recorded calls to findings: lower each for its targets, ask the rules, group."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING

from pallas_magic.compile_stage import (
    COMPILING,
    NOT_ASKED,
    Compiled,
    Pending,
    Progress,
    compile_pending,
    install_note,
    why_not_compiled,
)
from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic, KernelReport, Stage, StageResult
from pallas_magic.rules import FALLBACK_CODE, Rule, fallback, rule_for
from pallas_magic.source.document import Library
from pallas_magic.targets import DEFAULT_NAMES, TARGETS, Family, Target, parse_targets

if TYPE_CHECKING:
    from pallas_magic.bridge.capture import Call
    from pallas_magic.bridge.objects import ObjectRecorder

LOWERING_LIMIT_SECONDS = 30.0


@dataclasses.dataclass(frozen=True, eq=False)
class Finding:
    """One diagnostic with what its proof needs.

    ``occurrences`` are the failures that it stands for, each with its call
    (``None`` where it was not recorded): one for each target and each kernel
    that shares the text.
    """

    rule: Rule
    occurrences: tuple[tuple[Call | None, Failure], ...]
    diagnostic: Diagnostic
    candidates: tuple[Candidate, ...]

    @property
    def call(self) -> Call | None:
        return self.occurrences[0][0]


@dataclasses.dataclass(frozen=True, eq=False)
class Checked:
    """All that was said: a report for each kernel and target, and the failures.

    ``pending`` is the one kernel's compilation, where it is still to be done.
    """

    kernels: tuple[KernelReport, ...]
    failures: tuple[tuple[Call | None, Failure], ...]
    notes: tuple[str, ...] = ()
    pending: Pending | None = None


def check_call(
    call: Call, target: Target, objects: ObjectRecorder, compiling: bool = True
) -> Checked:
    """Lower one call for one target; with ``compiling``, note what is to be compiled.

    What a compiler is known to refuse is told without one.
    """
    from pallas_magic.bridge.failures import find_failures
    from pallas_magic.bridge.lowering import lower

    lowered = lower(call, target, LOWERING_LIMIT_SECONDS)
    if lowered.skipped:
        return Checked((skipped(call.name, target, lowered.skipped),), ())
    found = find_failures(call, lowered, target, objects)
    why = why_not_compiled(target.family) if compiling else NOT_ASKED
    pending = None
    if lowered.error is not None:
        compiled = StageResult("skipped", why="the kernel does not lower")
    elif found.failures:
        compiled = StageResult("failed")
    elif why:
        compiled = StageResult("skipped", why=why)
    else:
        compiled = StageResult("skipped", why=COMPILING)
        pending = Pending(call, target, lowered, objects)
    kernel = KernelReport(
        call.name,
        target.name,
        {
            "trace": StageResult("ok"),
            "lower": StageResult("failed" if lowered.error else "ok", lowered.seconds),
            "compile": compiled,
        },
    )
    notes = (f"`{call.name}` has more errors than are shown",) if found.more else ()
    if compiling and why and not found.failures:
        notes = (*notes, install_note(target.family))
    failures = tuple((call, failure) for failure in found.failures)
    return Checked((kernel,), failures, notes, pending)


def compiled(parts: Sequence[Checked], progress: Progress | None = None) -> list[Checked]:
    """``parts`` with what was pending compiled."""
    pending = [(part.kernels[0], part.pending) for part in parts if part.pending is not None]
    results = iter(compile_pending(pending, progress) if pending else ())
    return [part if part.pending is None else _with_result(part, next(results)) for part in parts]


def _with_result(part: Checked, result: Compiled) -> Checked:
    assert part.pending is not None
    found = [(part.pending.call, result.failure)] if result.failure is not None else []
    notes = (*part.notes, result.note) if result.note else part.notes
    return Checked((result.kernel,), (*part.failures, *found), notes)


def check_call_or_say(
    call: Call, target: Target, objects: ObjectRecorder, compiling: bool = True
) -> Checked:
    """:func:`check_call`, and on a fault of ours the kernel as skipped, with one line."""
    try:
        return check_call(call, target, objects, compiling)
    except Exception as fault:
        why = f"pallas_magic failed on it: {type(fault).__name__}: {fault}"
        return Checked((skipped(call.name, target, why),), ())


def unpartitioned(call: Call, target: Target, objects: ObjectRecorder) -> tuple[Checked, ...]:
    """What is said of a call in a program for several devices, nothing if it is divided."""
    from pallas_magic.bridge.partitioning import partition_failure

    failure = partition_failure(call, target, objects)
    return (Checked((), ((call, failure),)),) if failure is not None else ()


def skipped(name: str, target: Target, why: str) -> KernelReport:
    """A kernel that was traced and no more."""
    result = StageResult("skipped", 0.0, why)
    stages: dict[Stage, StageResult] = {
        "trace": StageResult("ok"),
        "lower": result,
        "compile": result,
    }
    return KernelReport(name, target.name, stages)


def targets_for(
    call: Call, wanted: tuple[Target, ...] | None, here: Target | None
) -> tuple[Target, ...]:
    """The targets to lower ``call`` for: those wanted, or this machine's, or a default."""
    from pallas_magic.bridge.gpu_refusals import needs_tensor_memory
    from pallas_magic.bridge.lowering import call_family

    family: Family = call_family(call) or (here.family if here is not None else "tpu")
    if wanted is not None:
        return wanted
    if here is not None and here.family == family:
        return (here,)
    if family == "gpu" and needs_tensor_memory(call):
        return parse_targets("gpu:b200")
    return parse_targets(DEFAULT_NAMES[family])


def wrong_family(call: Call, target: Target) -> str:
    """Why ``call`` is not for ``target``, empty when it is."""
    from pallas_magic.bridge.lowering import call_family

    family = call_family(call)
    if family is None or family == target.family:
        return ""
    return f"it is written for {family.upper()}s"


def findings(
    failures: Iterable[tuple[Call | None, Failure]], sources: Library
) -> tuple[Finding, ...]:
    """One finding for each rule and ref, common to all its targets."""
    groups: dict[Hashable, list[tuple[Rule, Call | None, Failure]]] = {}
    for call, failure in failures:
        _learn_modules(call, sources)
        rule = rule_for(failure)
        groups.setdefault(_key(rule, failure), []).append((rule, call, failure))
    made = [_finding(group, sources) for group in groups.values()]
    return _without_echoes(_merged(made))


def _learn_modules(call: Call | None, sources: Library) -> None:
    from pallas_magic.bridge.names import module_names

    if call is None:
        return
    filename, names = module_names(call)
    if filename and sources.find(filename) is not None:
        sources.learn_modules(filename, names)


def _key(rule: Rule, failure: Failure) -> Hashable:
    own = getattr(rule, "key", None)
    if own is not None:
        found = own(failure)
    elif failure.ref is not None and rule.code != FALLBACK_CODE:
        found = (failure.ref.position, failure.ref.role)
    else:
        found = (failure.place, failure.text)
    return (rule.code, failure.target.name, failure.kernel, failure.call.build, found)


def _finding(group: list[tuple[Rule, Call | None, Failure]], sources: Library) -> Finding:
    rule, call, first = group[0]
    failure = dataclasses.replace(first, also=tuple(later for _, _, later in group[1:]))
    try:
        diagnostic = rule.diagnose(failure, sources)
        candidates = tuple(rule.fixes(failure, sources))
    except Exception as fault:
        # JAX's own error must reach the user whatever becomes of our rule.
        diagnostic = fallback().diagnose(first, sources)
        note = f"pallas_magic's rule {rule.code} failed on this: {type(fault).__name__}: {fault}"
        diagnostic = dataclasses.replace(diagnostic, notes=(*diagnostic.notes, note))
        candidates = ()
    return Finding(rule, ((call, failure),), diagnostic, candidates)


def _without_chip(diagnostic: Diagnostic) -> str:
    """Its message without the one chip that it names, where it comes to stand for several."""
    titles = [target.title for target in TARGETS if target.name in diagnostic.targets[:1]]
    message = diagnostic.message
    for phrase in (f" {word} {title}" for title in titles for word in ("for", "on")):
        message = message.replace(phrase, "", 1)
    return message


def _merged(found: list[Finding]) -> tuple[Finding, ...]:
    """Equal diagnostics of several targets as one that names them all."""
    merged: dict[Hashable, Finding] = {}
    for finding in found:
        one = finding.diagnostic
        original, message = one.original, _without_chip(one)
        if one.stage == "compile":
            # Compilers print an operation with the tiles of their own chip.
            original, message = original.split("\n")[0], ""
        key = (one.code, one.kernel, one.primary, one.labels, original, message)
        earlier = merged.get(key)
        if earlier is None:
            merged[key] = finding
            continue
        targets = tuple(dict.fromkeys((*earlier.diagnostic.targets, *one.targets)))
        message = _without_chip(earlier.diagnostic)
        both = dataclasses.replace(earlier.diagnostic, targets=targets, message=message)
        occurrences = (*earlier.occurrences, *finding.occurrences)
        merged[key] = dataclasses.replace(earlier, occurrences=occurrences, diagnostic=both)
    return _unbatched(tuple(merged.values()))


def _unbatched(found: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """What ``vmap`` of a GPU kernel says again of JAX's function around it left out."""
    own = [one for one in found if not _is_batched(one)]
    said = {(one.diagnostic.code, one.diagnostic.primary) for one in own}
    return tuple(
        one
        for one in found
        if not _is_batched(one) or (one.diagnostic.code, one.diagnostic.primary) not in said
    )


def _is_batched(finding: Finding) -> bool:
    kernel = finding.occurrences[0][1].call.kernel
    return kernel is not None and kernel.function.endswith("_vmap_rule.<locals>.batched_body")


def _without_echoes(found: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Without what no rule knows of an expression that a rule has told the error of.

    One call of JAX's can be many operations, each of which a back end refuses.
    """
    told = {
        (finding.diagnostic.kernel, finding.diagnostic.primary, target)
        for finding in found
        for target in finding.diagnostic.targets
        if finding.rule.code != FALLBACK_CODE and finding.diagnostic.severity == "error"
    }
    return tuple(
        finding
        for finding in found
        if finding.rule.code != FALLBACK_CODE
        or finding.diagnostic.primary is None
        or not all(
            (finding.diagnostic.kernel, finding.diagnostic.primary, target) in told
            for target in finding.diagnostic.targets
        )
    )
