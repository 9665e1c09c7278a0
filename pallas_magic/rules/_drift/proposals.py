"""Fixes that write a text's names of Pallas as they are today."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Applicability, TextEdit
from pallas_magic.rules._drift.importing import (
    Import,
    alias_of,
    import_at,
    import_dropped,
    import_renamed,
)
from pallas_magic.rules._drift.mending import Mended, Mender, is_gone
from pallas_magic.rules._drift.names import MOVED, REWRITTEN
from pallas_magic.rules._specs.kernels import kernel_text
from pallas_magic.rules._specs.wording import counted
from pallas_magic.source.absent import is_present
from pallas_magic.source.document import Library
from pallas_magic.source.syntax import Syntax

SAME = "it is the same thing under its present name"
_WRITTEN_OUT = "it does what the call did"


def for_uses(failure: Failure, sources: Library, syntax: Syntax) -> Iterator[Candidate]:
    """Mend the name that failed and all others like it.

    Those of the kernel are put into the recorded call, and shown to lower; else
    those of the whole text are mended, as nothing of it can have run.
    """
    assert failure.absent is not None
    mender = Mender(sources, syntax, failure.target.family == "gpu")
    node = syntax.at(failure.absent.place)
    kernel = kernel_of(failure, sources, syntax, mender, node)
    root: ast.AST = kernel if kernel is not None else syntax.module
    mended = mender.all_mended(root)
    own = [one for one in mended if node in (one.named.node, syntax.parent(one.named.node))]
    own = own or [one for one in mended if syntax.parent(node) is one.named.node] if node else own
    edits = mender.edits(root)
    if own and edits:
        yield candidate(own[0], mended, edits, in_kernel=kernel is not None)


def for_import(failure: Failure, sources: Library, syntax: Syntax) -> Iterator[Candidate]:
    """Import what stands for the name, known as it was; calls that are written anew lose it."""
    assert failure.absent is not None
    statement = import_at(syntax, failure.absent.place)
    if statement is None or alias_of(statement, failure.absent.dotted) is None:
        return
    gone = _gone_names(statement)
    moved = {one: MOVED[dotted].now for one, dotted in gone.items() if dotted in MOVED}
    plain = all(is_present(now) and not _suffix(gone[one]) for one, now in moved.items())
    if len(moved) == len(gone) and plain:
        edits = import_renamed(syntax, statement, moved)
        names = " and ".join(f"`{now.rpartition('.')[2]}`" for now in moved.values())
        if edits:
            yield Candidate(f"import {names}", edits, why=SAME, shown_by="nature")
        return
    mender = Mender(sources, syntax, failure.target.family == "gpu")
    uses, mended = mender.uses(syntax.module), mender.all_mended(syntax.module)
    rewritten = all(dotted in REWRITTEN for dotted in gone.values())
    dropped = import_dropped(syntax, statement, tuple(gone))
    edits = mender.edits(syntax.module)
    if rewritten and len(mended) == len(uses) and dropped and mended and edits:
        yield candidate(mended[0], mended, (*dropped, *edits), in_kernel=False)


def candidate(
    own: Mended, every: list[Mended], edits: tuple[TextEdit, ...], *, in_kernel: bool
) -> Candidate:
    others = len(every) - 1
    more = f", here and in {counted(others, 'more place')}" if others else ""
    why = next((one.why for one in every if one.why), "")
    title = f"{own.title}{more}"
    level: Applicability = "unsafe" if why else "safe"
    if in_kernel:
        return Candidate(title, edits, level, mechanical=not why, why=why)
    known = SAME if own.named.dotted in MOVED else _WRITTEN_OUT
    return Candidate(title, edits, level, why=why or known, shown_by="nature")


def kernel_of(
    failure: Failure, sources: Library, syntax: Syntax, mender: Mender, node: ast.expr | None
) -> ast.AST | None:
    """The kernel, if what failed is in it and it calls nothing that fails the same way."""
    kernel = kernel_text(failure, sources)
    if kernel is None or kernel.syntax is not syntax or node is None:
        return None
    if all(inner is not node for inner in kernel.nodes()):
        return None
    read = {one.id for one in kernel.nodes() if isinstance(one, ast.Name)}
    helpers = [
        one
        for one in ast.walk(syntax.module)
        if isinstance(one, ast.FunctionDef) and one.name in read and one is not kernel.node
    ]
    return None if any(mender.uses(helper) for helper in helpers) else kernel.node


def _gone_names(statement: Import) -> dict[ast.alias, str]:
    module = f"{statement.module}." if isinstance(statement, ast.ImportFrom) else ""
    names = {one: f"{module}{one.name}" for one in statement.names}
    return {one: dotted for one, dotted in names.items() if is_gone(dotted)}


def _suffix(dotted: str) -> str:
    return MOVED[dotted].suffix
