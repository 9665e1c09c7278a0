"""What XLA has to be told of a GPU that it compiles for without having one.

NVIDIA's published figures of each chip, as XLA's ``GpuTargetConfigProto`` names them.
"""

from __future__ import annotations

import dataclasses

from pallas_magic.targets import Target

_FORMAT = """
gpu_device_info {{
  name: "{target.device_kind}"
  device_vendor: "NVIDIA Corporation"
  cuda_compute_capability {{ major: {major} minor: {minor} feature_extension: {features} }}
  core_count: {chip.cores}
  fpus_per_core: {chip.units_per_core}
  clock_rate_ghz: {chip.clock}
  memory_bandwidth: {chip.bandwidth}
  device_memory_size: {chip.memory}
  l2_cache_size: {chip.cache}
  shared_memory_per_core: {chip.shared_memory}
  shared_memory_per_block: 49152
  shared_memory_per_block_optin: {block_memory}
  threads_per_warp: 32
  threads_per_block_limit: 1024
  threads_per_core_limit: 2048
  registers_per_core_limit: 65536
  registers_per_block_limit: 65536
  block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535
  block_dim_limit_z: 65535
  thread_dim_limit_x: 1024
  thread_dim_limit_y: 1024
  thread_dim_limit_z: 64
  device_address_bits: 64
  driver_version: "{cuda}"
  runtime_version: "{cuda}"
  compile_time_toolkit_version: "{cuda}"
  dnn_version: "9.10.0"
}}
platform_name: "CUDA"
dnn_version_info {{ major: 9 minor: 10 }}
device_description_str: "{target.device_kind}"
"""
_CUDA = "12.8.0"


@dataclasses.dataclass(frozen=True)
class _Chip:
    """``shared_memory`` is what a multiprocessor has; a block may take 1 KiB less."""

    cores: int
    units_per_core: int
    clock: float
    bandwidth: int
    memory: int
    cache: int
    shared_memory: int


_CHIPS = {
    "gpu:a100": _Chip(108, 64, 1.41, 1_555_200_000_000, 42_331_013_120, 40 << 20, 164 << 10),
    "gpu:h100": _Chip(132, 128, 1.98, 3_352_320_000_000, 84_942_979_072, 50 << 20, 228 << 10),
    "gpu:b200": _Chip(148, 128, 1.965, 7_672_320_000_000, 191_514_411_008, 126 << 20, 228 << 10),
}


def gpu_target_config(target: Target) -> str:
    """XLA's ``GpuTargetConfigProto`` of ``target`` as text."""
    chip = _CHIPS[target.name]
    major, minor = target.compute_capability.split(".")
    return _FORMAT.format(
        target=target,
        chip=chip,
        major=major,
        minor=minor,
        features="ACCELERATED_FEATURES" if int(major) >= _ACCELERATED_FROM else "NONE",
        block_memory=block_memory(target),
        cuda=_CUDA,
    )


def block_memory(target: Target) -> int:
    """The bytes of shared memory that one block of threads can have."""
    return _CHIPS[target.name].shared_memory - 1024


# Hopper is the first with instructions of its own architecture only, as in "sm_90a".
_ACCELERATED_FROM = 9
