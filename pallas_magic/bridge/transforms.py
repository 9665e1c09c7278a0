"""Do again to a call what vmap or jvp had done to the recorded one."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import jax

from pallas_magic.bridge.capture import Call

_MOST_GUESSES = 8


class Unexplained(Exception):
    """How the call came out of the recorded one is not known; says so."""


def same_transformations(call: Call, again: Call, trace: Callable[..., Call]) -> Call:
    """``again``, which stands for ``call.recorded()``, transformed as ``call`` was."""
    steps: list[tuple[Call, Call]] = []
    while call.built is None and call.parent is not None:
        steps.append((call, call.parent))
        call = call.parent
    for child, parent in reversed(steps):
        again = _transformed(child, parent, again, trace)
    return again


def _transformed(child: Call, parent: Call, again: Call, trace: Callable[..., Call]) -> Call:
    if child.jaxprs[0] is parent.jaxprs[0] and _types(child) == _types(parent):
        return again
    wanted = str(child.jaxprs[0])
    for transform, avals in _guesses(child, parent):
        try:
            check = trace(parent, transform(_bind(parent)), avals, {"built": None})
            if str(check.jaxprs[0]) == wanted and _types(check) == _types(child):
                links = {"built": None, "parent": again}
                return trace(again, transform(_bind(again)), avals, links)
        except Exception:  # a guess that JAX refuses was a wrong one
            continue
    raise Unexplained("it was transformed in a way that cannot be repeated")


def _bind(call: Call) -> Callable[..., Any]:
    return lambda *operands: call.primitive.bind(*operands, **call.params)


def _types(call: Call) -> list[tuple[Any, ...]]:
    return [(tuple(aval.shape), str(aval.dtype)) for aval in call.avals]


def _guesses(child: Call, parent: Call) -> Iterator[tuple[Callable[..., Any], tuple[Any, ...]]]:
    """Ways to get ``child``'s operands out of ``parent``'s, the likeliest first."""
    count = len(parent.avals)
    if len(child.avals) == count:
        for axes in itertools.islice(_batch_axes(child, parent), _MOST_GUESSES):
            if any(axis is not None for axis in axes):
                yield (lambda bind, axes=axes: jax.vmap(bind, in_axes=axes)), child.avals
    elif _types(child)[:count] == _types(parent) and len(child.avals) <= 2 * count:
        yield _jvp(count), (*parent.avals, *parent.avals)


def _batch_axes(child: Call, parent: Call) -> Iterator[tuple[int | None, ...]]:
    choices = [
        _axes(tuple(batched.shape), tuple(plain.shape))
        for batched, plain in zip(child.avals, parent.avals, strict=True)
    ]
    return itertools.product(*choices)


def _axes(batched: tuple[int, ...], plain: tuple[int, ...]) -> list[int | None]:
    if batched == plain:
        return [None]
    return [axis for axis in range(len(batched)) if batched[:axis] + batched[axis + 1 :] == plain]


def _jvp(count: int) -> Callable[..., Any]:
    def transform(bind: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *operands: jax.jvp(bind, operands[:count], operands[count:])

    return transform
