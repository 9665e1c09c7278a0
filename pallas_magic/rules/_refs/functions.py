"""Functions of Python's and of NumPy's that work at once, and so on no traced value."""

from __future__ import annotations

import ast

from pallas_magic.report import TextEdit
from pallas_magic.rules._refs.expressions import Failing, complete, numpy_name
from pallas_magic.source.document import Library
from pallas_magic.source.names import imports
from pallas_magic.source.syntax import end_of

_MODULES = {"numpy": "NumPy's", "math": "Python's"}
_IN_JAX = {"pow": "power", "fabs": "abs"}
# Python's give an integer, NumPy's and JAX's a float.
_GIVES_INTEGER = ("ceil", "floor", "trunc")


def function_of_module(found: Failing | None, sources: Library) -> ast.Attribute | None:
    """What is called, where it is written with its module: `np.sqrt`, `math.exp`."""
    node = found.node if found is not None else None
    if found is None or not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    return node.func if _module(found, node.func, sources) in _MODULES else None


def whose(found: Failing, function: ast.Attribute, sources: Library) -> str:
    """`NumPy's` or `Python's`."""
    return _MODULES[_module(found, function, sources)]


def called_in_jax(
    found: Failing, function: ast.Attribute, sources: Library
) -> tuple[str, tuple[TextEdit, ...]] | None:
    """JAX's function of that name, and edits that call it for what the other would give."""
    name = numpy_name(sources, found.syntax, _IN_JAX.get(function.attr, function.attr))
    integer = numpy_name(sources, found.syntax, "int32")
    if name is None or integer is None:
        return None
    edits: list[TextEdit | None] = [found.syntax.replace(function, name)]
    if _module(found, function, sources) == "math" and function.attr in _GIVES_INTEGER:
        edits.append(found.syntax.insert(end_of(found.node), f".astype({integer})"))
    made = complete(edits)
    return (name, made) if made else None


def _module(found: Failing, function: ast.Attribute, sources: Library) -> str:
    module = function.value
    known = imports(sources, found.syntax.document)
    return known.get(module.id, "") if isinstance(module, ast.Name) else ""
