"""The fix that stores a vector one scalar at a time, inside the region."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Mapping

from pallas_magic.failure import Candidate, Failure, VectorAccess
from pallas_magic.rules._warp.indexing import element_index
from pallas_magic.rules._warp.regions import copies_from, find_region, is_shared_store
from pallas_magic.rules._warp.stores import Store, stores
from pallas_magic.source.document import Library
from pallas_magic.source.names import spelled
from pallas_magic.source.syntax import identifier, start_of

PALLAS = "jax.experimental.pallas"
MAX_UNROLLED = 16
MAX_ELEMENTS = 1024

_COUNTERS = ("i", "j", "k", "row", "column", "index", "element")
_FILLED = {"zeros": 0, "zeros_like": 0, "ones": 1, "ones_like": 1}


def scalar_loop(failure: Failure, sources: Library) -> Candidate | None:
    """Every store of the diagnosis as a loop of scalar stores, ``None`` where one cannot be."""
    found = stores(failure, sources)
    edits = []
    for store in found:
        lines = _loop(store, sources)
        edit = store.replaced_by(lines) if lines is not None else None
        if edit is None:
            return None
        edits.append(edit)
    if not found or _is_copied(failure, found, sources):
        return None
    name = found[0].told.ref.name
    return Candidate(f"store `{name}` one scalar at a time", tuple(edits), mechanical=True)


def _is_copied(failure: Failure, found: tuple[Store, ...], sources: Library) -> bool:
    """Whether the region copies what it stores: nothing inside can commit it in between."""
    region = find_region(failure, sources)
    names = {store.told.ref.name for store in found if is_shared_store(store.told)}
    return region is not None and copies_from(region.function.body, names)


def _loop(store: Store, sources: Library) -> list[str] | None:
    shape = store.told.access.shape
    if not 0 < math.prod(shape) <= MAX_ELEMENTS:
        return None
    counters = list(_free_names(store, len(shape)))
    if len(counters) < len(shape):
        return None
    index = element_index(store.syntax, store.target, len(store.told.ref.shape), counters)
    value = _element(store, store.value, counters)
    if index is None or value is None:
        return None
    return _nested(store, sources, counters, f"{store.told.ref.name}[{index}] = {value}")


def _nested(store: Store, sources: Library, counters: list[str], body: str) -> list[str] | None:
    shape = store.told.access.shape
    unrolled = math.prod(shape) <= MAX_UNROLLED
    loop = spelled(sources, store.syntax.document, PALLAS, "loop")
    if not unrolled and loop is None:
        return None
    lines: list[str] = []
    for depth, (counter, size) in enumerate(zip(counters, shape, strict=True)):
        margin = "    " * depth
        if unrolled:
            lines.append(f"{margin}for {counter} in range({size}):")
        else:
            lines += [f"{margin}@{loop}(0, {size})", f"{margin}def _({counter}):"]
    return [*lines, "    " * len(shape) + body]


def _free_names(store: Store, count: int) -> Iterator[str]:
    """Names for loop counters that nothing around the store uses."""
    scopes = list(store.syntax.functions(store.statement))
    taken = {node.id for scope in scopes for node in ast.walk(scope) if isinstance(node, ast.Name)}
    taken |= {node.arg for scope in scopes for node in ast.walk(scope) if isinstance(node, ast.arg)}
    free = [name for name in _COUNTERS if name not in taken]
    yield from free[:count]


def _element(store: Store, node: ast.expr, counters: list[str]) -> str | None:
    """The text of one element of a value, ``None`` where the value is not element by element."""
    loads: Mapping[tuple[int, int], VectorAccess] = {
        start_of(subscript): told for subscript, told in store.loads
    }
    if isinstance(node, ast.Subscript):
        return _loaded(store, node, loads.get(start_of(node)), counters)
    if isinstance(node, ast.Constant):
        return store.syntax.text(node) if isinstance(node.value, (bool, int, float)) else None
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.UnaryOp):
        inner = _element(store, node.operand, counters)
        sign = store.syntax.text_between(start_of(node), start_of(node.operand))
        return f"{sign}{inner}" if inner is not None and sign.strip() == "-" else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub, ast.Mult)):
        return _joined(store, node, counters)
    return _filled(store, node) if isinstance(node, ast.Call) else None


def _loaded(
    store: Store, node: ast.Subscript, told: VectorAccess | None, counters: list[str]
) -> str | None:
    if told is None or told.access.shape != store.told.access.shape:
        return None
    index = element_index(store.syntax, node, len(told.ref.shape), counters)
    if told.ref == store.told.ref and _text(store, node) != _text(store, store.target):
        # One scalar after the other would read what was just written.
        return None
    return f"{told.ref.name}[{index}]" if index is not None else None


def _text(store: Store, subscript: ast.Subscript) -> str:
    return store.syntax.text(subscript)


def _joined(store: Store, node: ast.BinOp, counters: list[str]) -> str | None:
    left, right = _element(store, node.left, counters), _element(store, node.right, counters)
    if left is None or right is None:
        return None
    if isinstance(node.left, ast.BinOp):
        left = f"({left})" if isinstance(node.op, ast.Mult) else left
    if isinstance(node.right, ast.BinOp):
        right = f"({right})"
    sign = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}[type(node.op)]
    return f"{left} {sign} {right}"


def _filled(store: Store, call: ast.Call) -> str | None:
    """The scalar that ``jnp.zeros``, ``jnp.ones`` or ``jnp.full`` repeats."""
    name = identifier(call.func)
    if name in ("full", "full_like") and len(call.args) >= 2:
        inside = call.args[1]
        plain = isinstance(inside, (ast.Constant, ast.Name, ast.UnaryOp))
        return store.syntax.text(inside) if plain else None
    if name not in _FILLED:
        return None
    value = _FILLED[name]
    dtype = store.told.access.dtype
    if dtype == "bool":
        return str(bool(value))
    return str(float(value)) if "float" in dtype else str(value)
