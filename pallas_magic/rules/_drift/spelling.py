"""How a text can write a name of JAX's, with the import that it needs for that."""

from __future__ import annotations

import ast
import dataclasses

from pallas_magic.report import TextEdit
from pallas_magic.rules._drift.names import PALLAS
from pallas_magic.source.document import Library
from pallas_magic.source.names import imports, namespace, spelled
from pallas_magic.source.syntax import Syntax, end_of

_OF_JAX = ("ref", "numpy", "lax")
_ALIASES = {"tpu": "pltpu", "mosaic_gpu": "plgpu", "triton": "pltriton"}


@dataclasses.dataclass(frozen=True)
class Spelling:
    """The text of a name, and the edit that makes it known where it is not yet."""

    text: str
    imported: TextEdit | None = None


def spelling(sources: Library, syntax: Syntax, dotted: str) -> Spelling | None:
    """``dotted`` as the text of ``syntax`` can write it, ``None`` where it cannot."""
    path = dotted.split(".")
    for cut in range(len(path) - 1, len(_module_of(dotted)) - 1, -1):
        known = spelled(sources, syntax.document, ".".join(path[:cut]), path[cut])
        if known is not None:
            return Spelling(".".join([known, *path[cut + 1 :]]))
    if imports(sources, syntax.document).get("jax") == "jax" and path[1] in _OF_JAX:
        return Spelling(dotted)
    return _with_import(sources, syntax, dotted)


def _module_of(dotted: str) -> list[str]:
    """The module that ``dotted`` is in, as far as it is one of Pallas's."""
    path, pallas = dotted.split("."), PALLAS.split(".")
    if path[: len(pallas)] != pallas:
        return path[:2]
    return path[: len(pallas) + (path[len(pallas)] in _ALIASES)]


def _with_import(sources: Library, syntax: Syntax, dotted: str) -> Spelling | None:
    """A name of one of Pallas's modules, the module imported beside Pallas itself."""
    rest = dotted.removeprefix(f"{PALLAS}.").split(".")
    alias = _ALIASES.get(rest[0])
    beside = _pallas_import(syntax)
    used = {
        node.id
        for one in namespace(sources, syntax.document)
        for node in ast.walk(one.module)
        if isinstance(node, ast.Name)
    }
    if not dotted.startswith(f"{PALLAS}.") or alias is None or beside is None or alias in used:
        return None
    indentation = syntax.indentation(beside.lineno)
    line = f"\n{indentation}from {PALLAS} import {rest[0]} as {alias}"
    edit = syntax.insert(end_of(beside), line)
    return Spelling(".".join([alias, *rest[1:]]), edit) if edit is not None else None


def _pallas_import(syntax: Syntax) -> ast.stmt | None:
    """The last statement at the top of the text that imports something of Pallas."""
    found = [
        node
        for node in syntax.module.body
        if (isinstance(node, ast.ImportFrom) and _is_pallas(node))
        or (isinstance(node, ast.Import) and any(PALLAS in alias.name for alias in node.names))
    ]
    return found[-1] if found else None


def _is_pallas(node: ast.ImportFrom) -> bool:
    module = node.module or ""
    imported = [f"{module}.{alias.name}" for alias in node.names]
    return module.startswith(PALLAS) or PALLAS in imported
