"""A scan over arrays, as a loop that loads from a ref and stores to one."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator

from pallas_magic.failure import Candidate
from pallas_magic.rules._memory.assignment import all_or_none
from pallas_magic.rules._memory.layout import as_lines
from pallas_magic.rules._operations.called import Called, is_ref_name
from pallas_magic.rules._operations.lines import (
    Edits,
    free_name,
    parenthesised,
    statement_of,
    step_of,
    without_statement,
)
from pallas_magic.rules._operations.sliced_refs import Load, load_of
from pallas_magic.source.syntax import end_of, start_of

_LONGEST_LINE = 96


@dataclasses.dataclass(frozen=True, eq=False)
class _Scan:
    """What is looped: ``body`` is called with ``first`` and each element of ``load``.

    ``carry`` is the name of what comes of it, ``ref`` the one that the stacked
    results are stored to; "" for what is not used.
    """

    body: str
    first: ast.expr | None
    load: Load | None
    carry: str
    ref: str
    statement: ast.Assign
    store: ast.Assign | None


def scan_fixes(one: Called) -> Iterator[Candidate]:
    """The same body called from `lax.fori_loop`."""
    scan = _scan(one) if one.name == "scan" else _map(one)
    loop, length = one.lax("fori_loop"), one.operation.parameter("length")
    if scan is None or loop is None or not isinstance(length, int):
        return
    lines = _lines(one, scan, loop, length)
    if edits := _edits(one, scan, lines):
        loads = [f"load from `{scan.load.ref}`"] if scan.load is not None else []
        stores = [f"store to `{scan.ref}`"] if scan.ref else []
        yield Candidate(f"{' and '.join(loads + stores)} in a `fori_loop`", edits)


def _scan(one: Called) -> _Scan | None:
    """`carry, stacked = lax.scan(body, first, elements)`."""
    statement = statement_of(one)
    body, first, elements = (one.argument(name, at) for at, name in enumerate(("f", "init", "xs")))
    if body is None or first is None or not isinstance(statement, ast.Assign):
        return None
    if not one.has_only(3, "f", "init", "xs", "length", "reverse"):
        return None
    names = _two_names(statement, one.node)
    load = load_of(one, elements)
    if names is None or (load is None and not _is_none(elements)):
        return None
    carry, stacked = names
    store = _only_store(one, statement, stacked) if stacked else None
    if stacked and store is None:
        return None
    text = parenthesised(one, body)
    return _Scan(text, first, load, carry, _ref_of(store), statement, store)


def _map(one: Called) -> _Scan | None:
    """`o_ref[...] = lax.map(body, elements)`."""
    statement = statement_of(one)
    body, elements = one.argument("f", 0), one.argument("xs", 1)
    if one.name != "map" or body is None or not isinstance(statement, ast.Assign):
        return None
    load, ref = load_of(one, elements), _ref_of(statement)
    if load is None or not one.has_only(2, "f", "xs") or not ref or statement.value is not one.node:
        return None
    if not is_ref_name(one, ref):
        return None
    return _Scan(parenthesised(one, body), None, load, "", ref, statement, None)


def _lines(one: Called, scan: _Scan, loop: str, length: int) -> list[str]:
    counter = free_name(one, "i", "j", "step")
    backwards = one.operation.parameter("reverse") is True
    place = f"{length - 1} - {counter}" if backwards else counter
    element = scan.load.at(place) if scan.load is not None else "None"
    step = step_of(one)
    name = free_name(one, "step", "one_step", "loop_body")
    if scan.first is None:
        return [
            f"def {name}({counter}, _):",
            f"{step}{scan.ref}[{place}] = {scan.body}({element})",
            f"{loop}(0, {length}, {name}, None)",
        ]
    carry, out = free_name(one, "carry", "state"), free_name(one, "y", "out")
    result = f"{scan.carry} = " if scan.carry else ""
    first = one.text(scan.first)
    if not scan.ref:
        called = f"{scan.body}({carry}, {element})[0]"
        line = f"{result}{loop}(0, {length}, lambda {counter}, {carry}: {called}, {first})"
        if scan.statement.col_offset + len(line) <= _LONGEST_LINE:
            return [line]
        return [
            f"def {name}({counter}, {carry}):",
            f"{step}return {called}",
            f"{result}{loop}(0, {length}, {name}, {first})",
        ]
    return [
        f"def {name}({counter}, {carry}):",
        f"{step}{carry}, {out} = {scan.body}({carry}, {element})",
        f"{step}{scan.ref}[{place}] = {out}",
        f"{step}return {carry}",
        f"{result}{loop}(0, {length}, {name}, {first})",
    ]


def _edits(one: Called, scan: _Scan, lines: list[str]) -> Edits:
    """The loop in the place of the scan, and the store of what it stacked taken away."""
    syntax, store = one.syntax, scan.store
    if store is None:
        return all_or_none((as_lines(syntax, scan.statement, lines),))
    between = syntax.text_between(end_of(scan.statement), start_of(store))
    if not between.strip() and between.count("\n") == 1:
        indentation = "\n" + syntax.indentation(scan.statement.lineno)
        text = indentation.join(lines)
        edit = syntax.replace_between(start_of(scan.statement), end_of(store), text)
        return all_or_none((edit,))
    removed = without_statement(syntax, store)
    return all_or_none((as_lines(syntax, scan.statement, lines), removed))


def _two_names(statement: ast.Assign, node: ast.expr) -> tuple[str, str] | None:
    """The names of the last carry and of the stacked results, "" for an underscore."""
    target = statement.targets[0]
    if statement.value is not node or len(statement.targets) != 1:
        return None
    if not isinstance(target, ast.Tuple) or len(target.elts) != 2:
        return None
    names = [part.id if isinstance(part, ast.Name) else "" for part in target.elts]
    if not all(names):
        return None
    carry, stacked = ("" if name.startswith("_") else name for name in names)
    return carry, stacked


def _only_store(one: Called, statement: ast.Assign, name: str) -> ast.Assign | None:
    """The statement `o_ref[...] = name` that is all the use that is made of ``name``."""
    function = one.syntax.function(one.node)
    if function is None:
        return None
    reads = [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
    ]
    store = one.syntax.parent(reads[0]) if len(reads) == 1 else None
    if not isinstance(store, ast.Assign) or store.value is not reads[0]:
        return None
    if one.syntax.parent(store) is not one.syntax.parent(statement):
        return None
    ref = _ref_of(store)
    return store if ref and is_ref_name(one, ref) else None


def _ref_of(store: ast.Assign | None) -> str:
    """The ref that all of a value is stored to."""
    target = store.targets[0] if store is not None and len(store.targets) == 1 else None
    if not isinstance(target, ast.Subscript) or not isinstance(target.value, ast.Name):
        return ""
    index = target.slice
    whole = isinstance(index, ast.Constant) and index.value is Ellipsis
    return target.value.id if whole else ""


def _is_none(node: ast.expr | None) -> bool:
    return node is None or (isinstance(node, ast.Constant) and node.value is None)
