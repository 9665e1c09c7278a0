"""What a fix imports."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from pallas_magic.prove.texts import EditedText
from pallas_magic.prove.unprovable import NotProvable


def imported_names(texts: Iterable[EditedText]) -> dict[str, Any]:
    """What new import statements of the edited texts bind; they may be JAX's own only."""
    names: dict[str, Any] = {}
    for text in texts:
        for node in text.alignment.imports:
            _only_jax(node)
            module = ast.Module([node], [])
            exec(compile(module, text.filename, "exec", dont_inherit=True), names)
    names.pop("__builtins__", None)
    return names


def _only_jax(node: ast.stmt) -> None:
    modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
    if isinstance(node, ast.ImportFrom):
        modules = [node.module or ""] if not node.level else [""]
    if any(name.partition(".")[0] != "jax" for name in modules):
        raise NotProvable("the fix imports a module that is not JAX's")
