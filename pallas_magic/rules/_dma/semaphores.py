"""How a kernel uses one semaphore, and the type that its scratch asks for."""

from __future__ import annotations

import ast
import dataclasses
import re

from pallas_magic.failure import Failure, Ref
from pallas_magic.report import TextEdit
from pallas_magic.rules._dma.calls import (
    COPIES,
    USES,
    RefCall,
    base_name,
    ref_type,
)
from pallas_magic.rules._specs.kernels import kernel_text
from pallas_magic.source.document import Library
from pallas_magic.source.syntax import Syntax, end_of, identifier

_COUNT = re.compile(r"\((\d+),\)")


@dataclasses.dataclass(frozen=True, eq=False)
class Semaphore:
    """A semaphore of the kernel's, as it is called there, and every call it is given to."""

    node: ast.expr
    name: str
    ref: Ref | None
    copies: int
    counts: int
    other: int
    bare: tuple[ast.Name, ...]
    """Where it is given to a call as a whole."""

    syntax: Syntax

    @property
    def is_only_copied(self) -> bool:
        return self.copies > 0 and not self.counts and not self.other

    @property
    def is_only_counted(self) -> bool:
        return self.counts > 0 and not self.copies and not self.other

    def first_of_each(self) -> tuple[TextEdit, ...]:
        """Edits that give the first of an array of semaphores wherever all of them are given."""
        edits = [self.syntax.insert(end_of(one), ".at[0]") for one in self.bare]
        known = tuple(edit for edit in edits if edit is not None)
        return known if len(known) == len(edits) else ()


def semaphore_of(call: RefCall, failure: Failure, sources: Library) -> Semaphore | None:
    """The semaphore that ``call`` is given, ``None`` where there is no one such."""
    given = call.semaphores()
    kernel = kernel_text(failure, sources)
    if len(given) != 1 or kernel is None or kernel.syntax is not call.syntax:
        return None
    name = base_name(given[0])
    reads = kernel.reads(name) if name else []
    if not reads or all(one is not base for one in reads for base in (_base(given[0]),)):
        return None
    kinds = [_kind(call.syntax, one) for one in reads]
    return Semaphore(
        given[0],
        name,
        call.ref(given[0]),
        copies=kinds.count("copy"),
        counts=kinds.count("count"),
        other=kinds.count(""),
        bare=tuple(one for one in reads if _is_whole(call.syntax, one)),
        syntax=call.syntax,
    )


def length_in(text: str) -> int:
    """The number of semaphores that JAX counts in an array of them, 0 if it is no plain one."""
    found = _COUNT.search(text)
    return int(found[1]) if found is not None else 0


def with_type(
    failure: Failure, sources: Library, semaphore: Semaphore, word: str
) -> TextEdit | None:
    """An edit that asks for a semaphore of another type: ``DMA``, ``REGULAR``."""
    found = ref_type(failure, sources, semaphore.ref)
    if found is None:
        return None
    node = found.node.func if isinstance(found.node, ast.Call) else found.node
    if not isinstance(node, ast.Attribute) or identifier(node.value) != "SemaphoreType":
        return None
    return found.syntax.replace(node, f"{found.syntax.text(node.value)}.{word}")


def _base(node: ast.expr) -> ast.expr:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node


def _kind(syntax: Syntax, name: ast.Name) -> str:
    """What the call is that a semaphore is given to: a copy, or one that counts."""
    call = next(syntax.around(name, ast.Call), None)
    if call is None or all(_base(one) is not name for one in _arguments(call)):
        return ""
    function = identifier(call.func)
    return "copy" if function in COPIES else "count" if function in USES else ""


def _is_whole(syntax: Syntax, name: ast.Name) -> bool:
    parent = syntax.parent(name)
    if isinstance(parent, ast.keyword):
        parent = syntax.parent(parent)
    return isinstance(parent, ast.Call) and any(one is name for one in _arguments(parent))


def _arguments(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(one.value for one in call.keywords)]
