"""Which function makes a call, told from what it closes over."""

from __future__ import annotations

import functools
from types import FunctionType
from typing import Any

from pallas_magic.bridge.capture import Built

# Where JAX and Python keep the function that an object of theirs stands for.
_INNER = ("__wrapped__", "fun", "func")
_DEEPEST = 6


def makes(value: Any, built: Built) -> bool:
    """Whether calling ``value`` runs the inner function that ``built`` was seen in."""
    name, wanted = _mark(built)
    for _ in range(_DEEPEST):
        if value is None or wanted is None:
            return False
        if isinstance(value, FunctionType) and _closes_over(value, name, wanted):
            return True
        value = _inner(value)
    return False


def _mark(built: Built) -> tuple[str, Any]:
    """What only the inner function of this one call has, and its name there."""
    if built.gpu is not None:
        return "mesh", built.gpu.get("mesh")
    for name in ("grid_spec", "meshes_and_fns"):
        if name in built.locals:
            return name, built.locals[name]
    return "", None


def _closes_over(function: FunctionType, name: str, wanted: Any) -> bool:
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    for own, cell in cells:
        if own == name:
            try:
                return cell.cell_contents is wanted
            except ValueError:
                return False
    return False


def _inner(value: Any) -> Any:
    kind = type(value)
    known = kind is FunctionType or kind is functools.partial
    if not known and kind.__module__.partition(".")[0] not in ("jax", "jaxlib"):
        return None
    return next((getattr(value, name) for name in _INNER if hasattr(value, name)), None)
