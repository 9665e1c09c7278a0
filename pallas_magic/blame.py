"""Which kernel an exception came from."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from pallas_magic.findings import Checked
from pallas_magic.targets import Family, Target, default_target

if TYPE_CHECKING:
    from pallas_magic.bridge.capture import Call, Recorder
    from pallas_magic.bridge.objects import ObjectRecorder


@dataclasses.dataclass(frozen=True, eq=False)
class Blamed:
    """A kernel that an exception came from.

    ``told`` is what the exception itself tells; ``calls`` are to be lowered
    once more, ``objects`` knowing where their specs were built.
    """

    told: tuple[Checked, ...] = ()
    calls: tuple[Call, ...] = ()
    objects: ObjectRecorder | None = None


def blamed_for(
    error: BaseException,
    recorder: Recorder | None,
    wanted: tuple[Target, ...] | None,
    running: bool,
) -> Blamed | None:
    """The kernel that ``error`` came from, ``None`` if it came from none.

    What the user's own line raised in ``running`` code is theirs to see as it is.
    """
    from pallas_magic.bridge.trace_errors import is_users_own, trace_failure, trace_family

    if running and is_users_own(error):
        return None
    target = _target_of(trace_family(error), wanted)
    untraced = trace_failure(error, target, recorder)
    if untraced is not None:
        return Blamed((Checked((), ((untraced.call, untraced.failure),)),))
    return _blamed_lowering(error, recorder, wanted)


def _blamed_lowering(
    error: BaseException, recorder: Recorder | None, wanted: tuple[Target, ...] | None
) -> Blamed | None:
    from pallas_magic.bridge.failures import error_as_it_is
    from pallas_magic.bridge.lowering import call_family
    from pallas_magic.bridge.reconstruct import reconstruct_call

    found = reconstruct_call(error)
    if found is None:
        return None
    call, objects = found.call, found.objects
    if recorder is not None:
        # The recorder saw the call when it was bound, and tells it better.
        return Blamed()
    if not _is_refusal_of_the_cpu(error):
        return Blamed(calls=(call,), objects=objects)
    failure = error_as_it_is(error, call, _target_of(call_family(call) or "tpu", wanted), objects)
    return Blamed((Checked((), ((call, failure),)),), objects=objects)


def _is_refusal_of_the_cpu(error: BaseException) -> bool:
    return str(error).startswith("Only interpret mode is supported on CPU backend")


def _target_of(family: Family, wanted: tuple[Target, ...] | None) -> Target:
    matching = [target for target in wanted or () if target.family == family]
    return matching[0] if matching else default_target(family)
