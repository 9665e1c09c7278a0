"""Evaluate one expression of an edited text, if that runs none of the user's code."""

from __future__ import annotations

import ast
import enum
import functools
from collections.abc import Mapping
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from jax.experimental import pallas as pl

from pallas_magic.prove.unprovable import NotProvable

_PLAIN = (
    ast.Attribute,
    ast.BinOp,
    ast.Constant,
    ast.Dict,
    ast.List,
    ast.Name,
    ast.Subscript,
    ast.Slice,
    ast.Tuple,
    ast.UnaryOp,
    ast.keyword,
    ast.expr_context,
    ast.operator,
    ast.unaryop,
)


def evaluate(node: ast.expr, names: Mapping[str, Any], filename: str) -> Any:
    """The value of ``node`` where ``names`` are known; raises :class:`NotProvable`.

    Calls are limited to JAX's own descriptions of memory (specs, memory spaces,
    shapes). A lambda is made, not called.
    """
    _check(node, names, filename)
    return _value(node, names, filename)


def _value(node: ast.expr, names: Mapping[str, Any], filename: str) -> Any:
    code = compile(ast.Expression(node), filename, "eval", dont_inherit=True)
    try:
        return eval(code, dict(names))
    except Exception as error:
        text = ast.unparse(node)
        raise NotProvable(f"`{text}` fails: {type(error).__name__}: {error}") from error


def _check(node: ast.AST, names: Mapping[str, Any], filename: str) -> None:
    if isinstance(node, ast.Lambda):
        return
    if isinstance(node, ast.Call):
        _check(node.func, names, filename)
        if not describes_memory(_value(node.func, names, filename)):
            raise NotProvable(f"`{ast.unparse(node.func)}(...)` would have to be called again")
    elif not isinstance(node, _PLAIN):
        raise NotProvable(f"`{ast.unparse(node)}` would have to be evaluated again")
    for child in ast.iter_child_nodes(node):
        _check(child, names, filename)


def read_names(node: ast.expr) -> frozenset[str]:
    """The names that evaluating ``node`` reads; those of a lambda's parameters are its own."""
    inside = list(ast.walk(node))
    own = {one.arg for one in inside if isinstance(one, ast.arg)}
    return frozenset(one.id for one in inside if isinstance(one, ast.Name)) - own


def is_lasting(value: Any) -> bool:
    """Whether a name with this value is one that nobody assigns anew: a module, JAX's own."""
    if isinstance(value, ModuleType):
        return True
    if isinstance(value, type | FunctionType | BuiltinFunctionType | enum.Enum):
        kind = value if not isinstance(value, enum.Enum) else type(value)
        return str(kind.__module__).partition(".")[0] in ("jax", "jaxlib", "numpy", "builtins")
    return False


def describes_memory(function: Any) -> bool:
    """Whether calling ``function`` only builds a spec, a shape or the like."""
    if function is pl.cdiv:
        return True
    if isinstance(function, functools.partial):
        return describes_memory(function.func)
    kind = function if isinstance(function, type) else type(function)
    if kind.__module__.partition(".")[0] != "jax":
        return False
    return isinstance(function, type | enum.Enum)
