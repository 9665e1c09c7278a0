"""Chips in words: several at once, and which of them take what another refuses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pallas_magic.report import Diagnostic, KernelReport, Report
from pallas_magic.targets import TARGETS

_TITLES = {target.name: target.title for target in TARGETS}
_FAMILY = "TPU "


def target_title(name: str) -> str:
    """What people call the target ``name``: "TPU v5e"."""
    return _TITLES.get(name, name)


def listed(words: Sequence[str]) -> str:
    """ "1, 3 and 4"."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def chip_list(names: Iterable[str], after: str = "") -> str:
    """ "TPU v4, v5e and v7x": what TPUs are is told once, or not at all ``after`` one of them."""
    words = []
    before = target_title(after)
    for title in map(target_title, names):
        told = before.startswith(_FAMILY) and title.startswith(_FAMILY)
        words.append(title.removeprefix(_FAMILY) if told else title)
        before = title
    return listed(words)


def report_chips(report: Report) -> tuple[str, ...]:
    """The targets of the kernels of ``report``, each once."""
    return tuple(dict.fromkeys(kernel.target for kernel in report.kernels))


def has_matrix(report: Report) -> bool:
    """Whether a kernel was checked for several chips."""
    pairs = {(kernel.name, kernel.target) for kernel in report.kernels}
    return len({name for name, _ in pairs}) < len(pairs)


def chips_of(diagnostic: Diagnostic, report: Report) -> str:
    """ "on TPU v4 only; v5e, v6e and v7x take it", "" where all is of the same chips."""
    own = diagnostic.targets
    if not own:
        return ""
    if not has_matrix(report):
        several = len({other.targets for other in report.diagnostics}) > 1
        return chip_list(own) if several else ""
    others = _without_it(diagnostic, report) if diagnostic.severity == "error" else []
    if not others:
        return f"on {chip_list(own)}"
    compiled = all(_status(kernel, "compile") == "ok" for kernel in others)
    verb = ("take" if compiled else "lower") + ("s" if len(others) == 1 else "")
    chips = chip_list(dict.fromkeys(kernel.target for kernel in others), own[-1])
    return f"on {chip_list(own)} only; {chips} {verb} it"


def _without_it(diagnostic: Diagnostic, report: Report) -> list[KernelReport]:
    """The diagnostic's kernel on the chips that have no error of it, one report for each."""
    bad = {
        target
        for other in report.diagnostics
        if other.kernel == diagnostic.kernel and other.severity == "error"
        for target in other.targets
    }
    found: dict[str, KernelReport] = {}
    for kernel in report.kernels:
        if kernel.name != diagnostic.kernel or kernel.target in bad:
            continue
        if not kernel.ok or _status(kernel, diagnostic.stage) != "ok":
            bad.add(kernel.target)
            found.pop(kernel.target, None)
            continue
        earlier = found.get(kernel.target)
        if earlier is None or _status(kernel, "compile") != "ok":
            found[kernel.target] = kernel
    return list(found.values())


def _status(kernel: KernelReport, stage: str) -> str:
    result = {str(name): result for name, result in kernel.stages.items()}.get(stage)
    return result.status if result is not None else ""
