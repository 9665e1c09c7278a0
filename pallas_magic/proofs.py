"""Reports before and after their fixes are proved."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from pallas_magic.findings import Finding
from pallas_magic.report import Diagnostic, Fix, FixSet, KernelReport, Report, Source
from pallas_magic.source.document import Library

if TYPE_CHECKING:
    from pallas_magic.bridge.objects import ObjectRecorder


def unproved_report(
    kernels: tuple[KernelReport, ...],
    found: tuple[Finding, ...],
    library: Library,
    notes: tuple[str, ...],
) -> Report:
    """The report whose fixes are all still ideas; ``proving`` if there are any."""
    numbers = itertools.count(1)
    diagnostics = []
    for finding in found:
        fixes = tuple(
            Fix(next(numbers), candidate.title, "display", candidate.edits)
            for candidate in finding.candidates
        )
        diagnostics.append(dataclasses.replace(finding.diagnostic, fixes=fixes))
    proving = any(diagnostic.fixes for diagnostic in diagnostics)
    sources = used_sources(diagnostics, library)
    return Report(kernels, tuple(diagnostics), sources, None, notes, proving)


def used_sources(diagnostics: list[Diagnostic], library: Library) -> Mapping[str, Source]:
    """The sources that some span of the report points into."""
    keys = dict.fromkeys(key for diagnostic in diagnostics for key in _keys(diagnostic))
    return {key: library[key].source for key in keys if key in library}


def _keys(diagnostic: Diagnostic) -> Iterator[str]:
    if diagnostic.primary is not None:
        yield diagnostic.primary.source
    yield from (label.span.source for label in diagnostic.labels)
    yield from (key for fix in diagnostic.fixes for key in fix.sources())


def proved_report(
    unproved: Report, found: tuple[Finding, ...], objects: ObjectRecorder, library: Library
) -> Report:
    """The report with each fix proved or dropped, numbered anew, and all of them as one."""
    return dataclasses.replace(unproved, proving=False)
