"""What MLIR's verifier refuses when all rules have run, told equation by equation.

The verifier stops at its first operation. The equation that made it is found by
its location and refused in the next pass, as if its rule had raised, until a
pass comes to its end.
"""

from __future__ import annotations

from typing import Any

from jax._src.state.types import AbstractRef

from pallas_magic.bridge.capture import Call
from pallas_magic.bridge.copies import uneven_copies
from pallas_magic.bridge.dataflow import flows
from pallas_magic.bridge.kernels import Kernel
from pallas_magic.bridge.locations import error_locations, paths_at
from pallas_magic.bridge.recovery import Backend, Raised, Recovered, recover
from pallas_magic.targets import Target

MAX_PASSES = 8


def recover_verified(call: Call, target: Target, backend: Backend, kernel: Kernel) -> Recovered:
    """:func:`recover`, and past what a verifier refuses."""
    refused: dict[int, Exception] = {}
    while True:
        recovered = recover(call, target, backend, refused=refused)
        ending = recovered.ending
        if ending is None or not is_verification(ending) or len(refused) >= MAX_PASSES:
            return recovered
        paths = paths_at(error_locations(ending), kernel) or uneven_copies(ending, kernel)
        new = [path for path in paths if id(path[-1]) not in refused]
        if not new or not all(_is_own(ending, path, recovered.raised, call) for path in new):
            return recovered
        refused |= {id(path[-1]): ending for path in new}


def is_verification(error: BaseException) -> bool:
    """Whether MLIR refused what the rules had made."""
    return type(error).__name__ == "VerificationError"


def _is_own(
    error: Exception, path: tuple[Any, ...], earlier: tuple[Raised, ...], call: Call
) -> bool:
    """Whether the kernel has the error too, although stand-ins were in the place of failures.

    A verifier sees types, and stand-ins have the right ones; those of refs are mere casts.
    """
    takes_refs = any(isinstance(atom.aval, AbstractRef) for atom in path[-1].invars)
    return not takes_refs or is_independent(Raised(error, path), earlier, call)


def is_independent(last: Raised, earlier: tuple[Raised, ...], call: Call) -> bool:
    """Whether the equation of ``last`` neither failed before nor takes what did."""
    if not last.equations:
        return False
    failed = [raised.equations[-1] for raised in earlier if raised.equations]
    reached = {*flows(call.jaxprs[0], failed), *(id(equation) for equation in failed)}
    return all(id(equation) not in reached for equation in last.equations)
