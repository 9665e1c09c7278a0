"""Loads and stores at an index that is no integer.

JAX traces and lowers them, and MLIR's verifier refuses the cast of the index
without a word about where it stands.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax

from pallas_magic.bridge.kernels import Kernel

_REFUSED = "'arith.index_cast' op operand #0 must be signless"
_FLOATS = ("but got 'f", "but got 'bf")
_FIRST_INDEX = {"get": 1, "swap": 2, "addupdate": 2}


def float_index_paths(error: BaseException, kernel: Kernel) -> tuple[tuple[Any, ...], ...]:
    """The paths of all such loads and stores, none if ``error`` is about something else."""
    text = str(error)
    if _REFUSED not in text or not any(kind in text for kind in _FLOATS):
        return ()
    return tuple(path for path in kernel.path_of.values() if _has_float_index(path[-1]))


def _has_float_index(equation: Any) -> bool:
    return any(
        jax.numpy.issubdtype(atom.aval.dtype, jax.numpy.floating)
        for atom in _index_atoms(equation)
        if getattr(atom.aval, "shape", None) == () and hasattr(atom.aval, "dtype")
    )


def _index_atoms(equation: Any) -> Iterator[Any]:
    first = _FIRST_INDEX.get(equation.primitive.name)
    if first is not None:
        yield from equation.invars[first:]
    elif equation.primitive.name in ("load", "store", "masked_load", "masked_swap"):
        parts = jax.tree_util.tree_unflatten(equation.params["args_tree"], equation.invars)
        yield from jax.tree_util.tree_leaves(parts[1])
