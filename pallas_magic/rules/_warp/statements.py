"""Which vector load or store of a warp-level region a failure is told at.

JAX refuses the load, the arithmetic and the store of one statement one after
the other. They are one mistake: told at the store, or at the load where that
stands in a statement of its own.
"""

from __future__ import annotations

import ast
import functools
import linecache

from pallas_magic.failure import Failure, VectorAccess
from pallas_magic.source.document import Place


def head(failure: Failure) -> VectorAccess | None:
    """The access to mark, ``None`` where the failure is not about vectors in a region."""
    if failure.warp is None:
        return None
    stores, loads = failure.warp.stores, failure.warp.loads
    if not stores:
        return loads[0] if loads else None
    stored_in = {_statement(store.access.place) for store in stores}
    apart = [load for load in loads if _statement(load.access.place) not in stored_in]
    return apart[0] if apart else stores[0]


def accesses(failure: Failure) -> tuple[VectorAccess, ...]:
    """The accesses that one diagnosis is about: its head's ref, and what flows from it."""
    first = head(failure)
    if first is None:
        return ()
    found = []
    for one in (failure, *failure.also):
        assert one.warp is not None
        if first.access.kind == "load":
            found += [*one.warp.loads, *one.warp.stores]
        else:
            found += [store for store in one.warp.stores if store.ref == first.ref]
    return tuple(dict.fromkeys(found))


def _statement(place: Place | None) -> tuple[str, int]:
    if place is None:
        return "", 0
    text = "".join(linecache.getlines(place.filename))
    starts = _statement_starts(text)
    return place.filename, starts.get(place.line, place.line)


@functools.lru_cache(maxsize=16)
def _statement_starts(text: str) -> dict[int, int]:
    """The first line of the innermost statement on each line."""
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return {}
    # A statement is walked after the one around it and takes its lines from it.
    statements = [node for node in ast.walk(module) if isinstance(node, ast.stmt)]
    return {
        line: node.lineno
        for node in statements
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
