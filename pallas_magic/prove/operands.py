"""Operands that a fix adds to the call of a kernel."""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from types import CodeType, FunctionType
from typing import Any

import jax
import numpy as np

from pallas_magic.prove.specs import Rebuilder
from pallas_magic.prove.unprovable import NotProvable


def more_operands(
    rebuilder: Rebuilder, old: ast.Call, new: ast.Call, kernels: Sequence[Callable[..., Any]]
) -> tuple[Any, ...]:
    """The types of the arrays that ``new`` gives to the kernel behind those of ``old``.

    An array that the kernel knew by the same name must be the same one.
    """
    kept = [*zip(old.args, new.args, strict=False)]
    same = all(rebuilder.alignment.same(*two) for two in kept)
    keywords = [ast.dump(one) for one in old.keywords] == [ast.dump(one) for one in new.keywords]
    added = new.args[len(old.args) :]
    if not same or not keywords or not added:
        raise NotProvable("the kernel is called with other operands")
    return tuple(_type_of(rebuilder, node, kernels) for node in added)


def _type_of(rebuilder: Rebuilder, node: ast.expr, kernels: Sequence[Any]) -> Any:
    value = rebuilder.value(None, node)
    if not isinstance(value, (jax.Array, np.ndarray, np.generic)):
        raise NotProvable(f"`{ast.unparse(node)}` is no array where the kernel is called")
    if isinstance(node, ast.Name):
        seen = [one for kernel in kernels for one in _seen_as(node.id, kernel)]
        if any(one is not value for one in seen):
            raise NotProvable(f"`{node.id}` is another array where the kernel is called")
    return jax.typeof(value)


def _seen_as(name: str, kernel: Any) -> Iterator[Any]:
    """What ``kernel`` gets from outside under ``name``."""
    while isinstance(kernel, functools.partial):
        kernel = kernel.func
    function = inspect.unwrap(kernel)
    if not isinstance(function, FunctionType):
        return
    code = function.__code__
    if name in code.co_freevars:
        assert function.__closure__ is not None
        yield function.__closure__[code.co_freevars.index(name)].cell_contents
    elif name in _names(code) and name in function.__globals__:
        yield function.__globals__[name]


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
