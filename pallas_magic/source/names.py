"""Under which names the user's text imported things, and how to write one of them."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator

from pallas_magic.source.document import Document, Library
from pallas_magic.source.syntax import Syntax, parse

# What ``import jax`` alone makes reachable by attribute.
_REACHABLE_FROM = {"jax": ("jax.numpy", "jax.lax")}


def spelled(sources: Library, document: Document, module: str, name: str) -> str | None:
    """``module.name`` as the text of ``document`` can write it, ``None`` if it cannot."""
    imported = imports(sources, document)
    whole = f"{module}.{name}"
    for alias, dotted in imported.items():
        if dotted == whole:
            return alias
    for alias, dotted in imported.items():
        if dotted == module:
            return f"{alias}.{name}"
    for alias, dotted in imported.items():
        if module in _REACHABLE_FROM.get(dotted, ()):
            return f"{alias}{module.removeprefix(dotted)}.{name}"
    return None


def imports(sources: Library, document: Document) -> dict[str, str]:
    """Name to dotted origin, for every import that ``document`` can see.

    Cells share one namespace; a file has its own. The document's own imports
    come first, what was seen in the running namespace last.
    """
    found: dict[str, str] = {}
    for syntax in namespace(sources, document):
        found = {**found, **{k: v for k, v in _imported(syntax).items() if k not in found}}
    seen = sources.modules(document).items()
    return {**found, **{name: module for name, module in seen if name not in found}}


def namespace(sources: Library, document: Document) -> Iterator[Syntax]:
    """The syntax of all documents that share a namespace with ``document``, itself first."""
    shared = [document]
    if document.source.kind == "cell":
        shared += [other for other in sources.cells() if other is not document]
    for one in shared:
        if (syntax := parse(one)) is not None:
            yield syntax


@functools.lru_cache(maxsize=1024)
def _imported(syntax: Syntax) -> dict[str, str]:
    found: dict[str, str] = {}
    for node in ast.walk(syntax.module):
        if isinstance(node, ast.Import):
            found |= {alias.asname or alias.name: alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
    return found
