"""What XLA has to know of a GPU that it compiles for without having one."""

from __future__ import annotations

from pallas_magic.targets import Target


def gpu_target_config(target: Target) -> str:
    """XLA's ``GpuTargetConfigProto`` of ``target`` as text."""
    raise NotImplementedError(target.name)
