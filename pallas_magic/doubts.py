"""Warnings of certain mistakes that no compiler tells, for kernels that have no error."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from pallas_magic.findings import Checked
from pallas_magic.targets import Target

if TYPE_CHECKING:
    from pallas_magic.bridge.capture import Call
    from pallas_magic.bridge.objects import ObjectRecorder


def with_doubts(checked: Checked, call: Call, target: Target, objects: ObjectRecorder) -> Checked:
    """``checked`` with what is certainly not meant, where nothing else was found.

    A fault of ours costs the warning and nothing else.
    """
    from pallas_magic.bridge.doubtful import doubtful

    lowered = all(kernel.stages["lower"].status == "ok" for kernel in checked.kernels)
    if checked.failures or not lowered:
        return checked
    try:
        found = doubtful(call, target, objects)
    except Exception:
        return checked
    return dataclasses.replace(checked, failures=tuple((call, one) for one in found))
