"""Names that are gone, and what stands for them, in the text's own spelling."""

from __future__ import annotations

import dataclasses

from pallas_magic.failure import Failure
from pallas_magic.report import Diagnostic
from pallas_magic.rules._drift.names import GPU, MOVED, PALLAS, REMOVED, REWRITTEN, TPU, TRITON
from pallas_magic.rules._drift.spelling import spelling
from pallas_magic.source.document import Library
from pallas_magic.source.syntax import Syntax, last_name, syntax_of

# How the documentation of JAX calls the modules, for a text that has no name for one.
_USUAL = {TPU: "pltpu", GPU: "plgpu", TRITON: "pltriton", PALLAS: "pl"}


def told(failure: Failure, diagnostic: Diagnostic) -> Diagnostic:
    """``diagnostic``, of no chip in particular where no kernel asked for what is not there."""
    return diagnostic if failure.kernel else dataclasses.replace(diagnostic, targets=())


def name_in_text(failure: Failure, sources: Library) -> str:
    """What is gone as the text has it, an import as `pl.name`."""
    absent = failure.absent
    assert absent is not None
    syntax = syntax_of(sources, absent.place)
    node = syntax.at(absent.place) if syntax is not None else None
    if syntax is not None and node is not None and last_name(node) is not None:
        return syntax.text(node)
    return absent.dotted if absent.kind == "module" else usual(absent.dotted)


def usual(dotted: str) -> str:
    """A name as JAX's documentation writes it."""
    for module, alias in _USUAL.items():
        if dotted.startswith(f"{module}."):
            return f"{alias}.{dotted.removeprefix(f'{module}.')}"
    return dotted


def instead(dotted: str, syntax: Syntax | None, sources: Library) -> str:
    """What to use now."""
    moved = MOVED.get(dotted)
    if moved is not None:
        known = spelling(sources, syntax, moved.now) if syntax is not None else None
        text = known.text if known is not None and known.imported is None else usual(moved.now)
        return f"it is `{text}{moved.suffix}` now"
    return (REWRITTEN.get(dotted) or REMOVED[dotted]).instead
