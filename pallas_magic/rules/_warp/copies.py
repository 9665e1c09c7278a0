"""The fix that makes a plain store from shared to global memory an asynchronous copy."""

from __future__ import annotations

import ast

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import TextEdit
from pallas_magic.rules._warp.hoisting import PALLAS_GPU
from pallas_magic.rules._warp.indexing import is_whole
from pallas_magic.rules._warp.lines import first_line
from pallas_magic.rules._warp.regions import Region, find_region
from pallas_magic.rules._warp.stores import Store, stores
from pallas_magic.source.document import Library
from pallas_magic.source.names import spelled
from pallas_magic.source.syntax import identifier, start_of


def async_copy(failure: Failure, sources: Library) -> Candidate | None:
    """``o_gmem[...] = buf[...]`` as a copy by the TMA unit; ``None`` for any other store."""
    region = find_region(failure, sources)
    found = stores(failure, sources)
    if region is None or len(found) != 1:
        return None
    store = found[0]
    names = {
        name: spelled(sources, store.syntax.document, PALLAS_GPU, name)
        for name in ("copy_smem_to_gmem", "wait_smem_to_gmem", "commit_smem")
    }
    if None in names.values() or not _is_plain(store):
        return None
    source, told = store.loads[0]
    start = _ref(store, source, told.ref.shape)
    end = _ref(store, store.target, store.told.ref.shape)
    lines = [f"{names['copy_smem_to_gmem']}({start}, {end})", f"{names['wait_smem_to_gmem']}(0)"]
    edits = [store.replaced_by(lines)]
    if not _is_committed(region):
        edits.append(_commit(region, f"{names['commit_smem']}()"))
    made = tuple(edit for edit in edits if edit is not None)
    if len(made) < len(edits):
        return None
    title = f"copy `{told.ref.name}` to `{store.told.ref.name}` with `copy_smem_to_gmem`"
    return Candidate(title, made, mechanical=True)


def _is_plain(store: Store) -> bool:
    if len(store.loads) != 1:
        return False
    source, told = store.loads[0]
    same = told.ref.dtype == store.told.ref.dtype
    same = same and told.access.shape == store.told.access.shape
    spaces = (told.ref.memory_space, store.told.ref.memory_space)
    return store.value is source and same and spaces == ("smem", "gmem")


def _ref(store: Store, subscript: ast.Subscript, shape: tuple[int, ...]) -> str:
    name = store.syntax.text(subscript.value)
    if is_whole(subscript, len(shape)):
        return name
    return f"{name}.at[{store.syntax.text(subscript.slice)}]"


def _is_committed(region: Region) -> bool:
    """Whether the function around the region commits shared memory before it."""
    scope = region.syntax.function(region.opening) or region.syntax.module
    calls = [
        node
        for node in ast.walk(scope)
        if isinstance(node, ast.Call) and identifier(node.func) == "commit_smem"
    ]
    return any(start_of(call) < (first_line(region.opening), 0) for call in calls)


def _commit(region: Region, call: str) -> TextEdit | None:
    syntax, opening = region.syntax, region.opening
    margin = syntax.indentation(first_line(opening))
    return syntax.insert((first_line(opening), opening.col_offset), f"{call}\n{margin}")
