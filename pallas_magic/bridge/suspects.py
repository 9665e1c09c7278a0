"""The one operation of a TPU kernel that a compiler's text without a location can mean.

Each text was seen for one kind of operation only. Where a kernel has it at one
place the text means that place, where it has it at several nothing is said.
"""

from __future__ import annotations

from typing import Any

from pallas_magic.bridge.kernels import Kernel, equation_places

_RESHAPING = ("broadcast_in_dim", "expand_dims", "reshape", "squeeze")


def suspect(text: str, kernel: Kernel) -> tuple[Any, ...]:
    """The equations down to the one that ``text`` can mean, empty if there are several or none."""
    # libtpu 0.0.50 ends itself over the layout of booleans that get more or fewer axes.
    if "Check failed: rem == 0" not in text:
        return ()
    found = [path for path in kernel.path_of.values() if _reshapes_booleans(path[-1])]
    places = {places[-1] for path in found if (places := equation_places(path))}
    return found[0] if len(places) == 1 else ()


def _reshapes_booleans(equation: Any) -> bool:
    if equation.primitive.name not in _RESHAPING:
        return False
    before, after = equation.invars[0].aval, equation.outvars[0].aval
    ranks = len(before.shape), len(after.shape)
    return str(after.dtype) == "bool" and ranks[0] not in (0, ranks[1])
