"""`jax.checkpoint(f)(x)` in a kernel, which nothing differentiates through."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pallas_magic.failure import Candidate
from pallas_magic.rules._operations.called import Called
from pallas_magic.rules._operations.lines import parenthesised
from pallas_magic.source.syntax import identifier

_NAMES = ("checkpoint", "remat")


def checkpoint_fixes(one: Called) -> Iterator[Candidate]:
    """The function called as it is, where it is wrapped in the call itself."""
    wrapped = one.node.func if isinstance(one.node, ast.Call) else None
    if not isinstance(wrapped, ast.Call) or identifier(wrapped.func) not in _NAMES:
        return
    if len(wrapped.args) != 1 or wrapped.keywords:
        return
    edit = one.syntax.replace(wrapped, parenthesised(one, wrapped.args[0]))
    if edit is not None:
        yield Candidate("call the function without `jax.checkpoint`", (edit,))
