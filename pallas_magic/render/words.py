"""What the card says in words: its title, its proofs, its quiet lines."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from pallas_magic.render.characters import shortened, shown_line
from pallas_magic.render.chips import chip_list, has_matrix, listed, target_title
from pallas_magic.render.inline import inline, plain
from pallas_magic.render.model import Card, ProofState, ProofWords
from pallas_magic.report import Applicability, Diagnostic, KernelReport, Proof, Report

PROVING = "proving…"
_DOING = {"trace": "tracing", "lower": "lowering", "compile": "compiling"}
_SHOWN_KERNELS = 3
_OPTION = "%%pallas_check --fix"


def count(number: int, noun: str, plural: str = "") -> str:
    """ "1 error", "2 errors"."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def kernel_count(report: Report) -> str:
    """ "3 kernels", however often each is called."""
    return count(len({kernel.name for kernel in report.kernels}), "kernel")


def title(report: Report) -> str:
    """What the report found, counted: "5 errors in 2 kernels"."""
    if not report.diagnostics and not report.kernels:
        return plain(inline(report.notes[0])) if report.notes else "nothing to check"
    if not report.diagnostics:
        checked = any(_reached(kernel) for kernel in report.kernels)
        found = "no errors" if checked else "nothing checked"
        return f"{found} in {kernel_count(report)}"
    severities = [diagnostic.severity for diagnostic in report.diagnostics]
    counts = [
        count(severities.count(severity), severity)
        for severity in ("error", "warning", "note")
        if severity in severities
    ]
    kernels = {diagnostic.kernel for diagnostic in report.diagnostics} - {""}
    return listed(counts) + (f" in {count(len(kernels), 'kernel')}" if kernels else "")


def subtitle(diagnostics: Sequence[Diagnostic]) -> str:
    """Whose diagnostics these are, with backticks: "`histogram` · lowering for TPU v5e"."""
    names = [f"`{name}`" for name in dict.fromkeys(d.kernel for d in diagnostics) if name]
    targets = dict.fromkeys(target for d in diagnostics for target in d.targets)
    stages = {diagnostic.stage for diagnostic in diagnostics}
    parts = []
    if names:
        more = len(names) - _SHOWN_KERNELS
        shown = names if more <= 1 else [*names[:_SHOWN_KERNELS], f"{more} more"]
        parts.append(listed(shown))
    if targets:
        doing = _DOING[stages.pop()] if len(stages) == 1 else "checked"
        parts.append(f"{doing} for {chip_list(targets)}")
    return " · ".join(parts)


def place(diagnostic: Diagnostic, chips: str) -> str:
    """Whose diagnostic this is, told beside it: "`k`, lowering for TPU v4 only; v5e takes it"."""
    if not chips.startswith("on "):
        return subtitle([diagnostic]).replace(" · ", ", ")
    doing = f"{_DOING[diagnostic.stage]} for {chips.removeprefix('on ')}"
    return f"`{diagnostic.kernel}`, {doing}" if diagnostic.kernel else doing


def references(report: Report) -> tuple[str, ...]:
    """What the matrix calls each diagnostic: its code, numbered where several have it."""
    codes = [shown_line(diagnostic.code) for diagnostic in report.diagnostics]
    return tuple(
        f"{code} [{index + 1}]" if codes.count(code) > 1 else code
        for index, code in enumerate(codes)
    )


def head(report: Report) -> str:
    """The subtitle of a whole report; its chips are the matrix's to name, where it has one."""
    if not has_matrix(report):
        return subtitle(report.diagnostics)
    return subtitle([dataclasses.replace(one, targets=()) for one in report.diagnostics])


def proof_words(proof: Proof | None, applicability: Applicability, proving: bool) -> ProofWords:
    """What was shown of a fix; "ok" words take a check mark when drawn."""
    if proof is None:
        if applicability == "display":
            return (("part", "an idea, not proved"),)
        return (("wait", PROVING),) if proving else (("no", "not proved"),)
    why = plain(inline(f": {proof.why}")) if proof.why else ""
    if proof.gone is False:
        return (("no", f"the error remains{why}"),)
    words: list[tuple[ProofState, str]] = []
    if proof.remaining:
        stays = "remains" if proof.remaining == 1 else "remain"
        words.append(("part", f"{count(proof.remaining, 'error')} {stays}"))
    elif proof.lowers is not None:
        words.append(("ok", "lowers") if proof.lowers else ("no", f"does not lower{why}"))
    if proof.compiles is not None:
        words.append(("ok", "compiles") if proof.compiles else ("no", f"does not compile{why}"))
    if not any(state == "no" for state, _ in words):
        words += _value_words(proof, applicability, why)
    return tuple(words)


def _value_words(proof: Proof, applicability: Applicability, why: str) -> ProofWords:
    if proof.same_values:
        return (("ok", "same values"),)
    if proof.same_values is False:
        return (("no", f"gives other values{why}"),)
    if applicability == "safe" or (proof.gone and proof.lowers is None):
        # Nothing to compare: no original program, or the fix asks for something else.
        return (("part", why.removeprefix(": ")),) if why else ()
    return (("no", f"not shown to give the same values{why}"),)


def kernel_lines(report: Report) -> tuple[str, ...]:
    """One line for each kernel and target that no diagnostic tells of, with backticks.

    None where the chip matrix tells of all.
    """
    if has_matrix(report):
        return ()
    told = {
        (diagnostic.kernel, target)
        for diagnostic in report.diagnostics
        if diagnostic.severity == "error"
        for target in diagnostic.targets
    }
    grouped: dict[tuple[str, str, str], list[float]] = {}
    for kernel in report.kernels:
        if (kernel.name, kernel.target) in told and not kernel.ok:
            continue
        key = (kernel.name, kernel.target, verdict(kernel))
        seconds = sum(result.seconds for result in kernel.stages.values())
        grouped.setdefault(key, []).append(seconds)
    return tuple(
        f"`{name or 'kernel'}` {words}{_cost(seconds, words)}"
        for (name, _, words), seconds in grouped.items()
    )


def verdict(kernel: KernelReport) -> str:
    """How a kernel ended: "✓ lowers for TPU v5e", "skipped: <why>"."""
    target = target_title(kernel.target)
    for stage, result in kernel.stages.items():
        if result.status == "failed":
            why = f": {shortened(result.why)}" if result.why else ""
            return f"✗ fails in {_DOING[stage]} for {target}{why}"
    reached = _reached(kernel)
    if reached:
        return f"✓ {reached} for {target}"
    why = shortened(next((result.why for result in kernel.stages.values() if result.why), ""))
    return f"skipped for {target}: {why}" if why else f"skipped for {target}"


def _reached(kernel: KernelReport) -> str:
    done = {stage for stage, result in kernel.stages.items() if result.status == "ok"}
    if "compile" in done:
        return "compiles"
    return "lowers" if "lower" in done else ""


def _cost(seconds: Sequence[float], words: str) -> str:
    parts = [f"{len(seconds)} calls"] if len(seconds) > 1 else []
    if words.startswith("✓"):
        parts.append(duration(sum(seconds)))
    return f" ({', '.join(parts)})" if parts else ""


def duration(seconds: float) -> str:
    """ "14 ms", "2.3 s"."""
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def progress(doing: str, proving: bool) -> str:
    """What is going on: "compiling 3 of 9…", "" where nothing is."""
    if doing:
        return f"{shown_line(doing).rstrip('.…')}…"
    return PROVING if proving else ""


def together(ids: Iterable[int]) -> str:
    """ "fixes 1 and 3 together"."""
    return f"fixes {listed([str(number) for number in ids])} together"


def _hint_elsewhere(card: Card) -> str:
    """The same for the first fix of one other cell or file, which a prompt can make too."""
    for fix in (fix for found in card.diagnostics for fix in found.fixes):
        if fix.diff and fix.applicability != "display" and " and " not in fix.elsewhere:
            return f"`%pallas_fix {fix.id}` puts fix {fix.id} into {fix.elsewhere}"
    return ""


def insertion_hint(card: Card, at_prompt: bool = False) -> str:
    """How to insert without a button, with backticks; "" where nothing can be inserted.

    ``at_prompt`` is for a terminal, where the next prompt can hold the cell.
    """
    ids = [fix.id for found in card.diagnostics for fix in found.fixes if fix.insertable]
    if not ids:
        return _hint_elsewhere(card) if at_prompt else ""
    one, several = ("%pallas_fix", "%pallas_fix all") if at_prompt else (_OPTION, _OPTION)
    hint = f"`{one} {ids[0]}` puts fix {ids[0]} into the cell"
    if card.combined is None or not card.combined.insertable:
        return hint
    return f"{hint}, `{several}` puts in {together(card.combined.ids)}"
