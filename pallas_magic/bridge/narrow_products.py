"""Products whose sums are kept in 16 or 8 bits.

JAX lowers them, and MLIR's verifier refuses the operation without a word about where it stands.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pallas_magic.bridge.kernels import Kernel

_REFUSED = "Expected matmul acc to be 32-bit"


def narrow_product_paths(error: BaseException, kernel: Kernel) -> tuple[tuple[Any, ...], ...]:
    """The paths of all such products, none if ``error`` is about something else."""
    if _REFUSED not in str(error):
        return ()
    return tuple(path for path in kernel.path_of.values() if _is_narrow(path[-1]))


def _is_narrow(equation: Any) -> bool:
    if equation.primitive.name != "dot_general":
        return False
    return bool(np.dtype(equation.outvars[0].aval.dtype).itemsize < np.dtype("int32").itemsize)
