"""On-chip memory that the specs of a call ask for, without a compiler's padding."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from pallas_magic.bridge.capture import Call
from pallas_magic.bridge.gpu_configs import block_memory
from pallas_magic.failure import Buffer, Ref
from pallas_magic.targets import Target

_SMALL = re.compile(r"^u?(?:int|float)([124])(?:_|$)")


def memory_limit(target: Target, space: str) -> int:
    """The bytes of ``space`` that one core or block of ``target`` has, 0 if not known."""
    if target.family == "gpu":
        return block_memory(target) if space == "smem" else 0
    from jax._src.pallas.mosaic import tpu_info

    version = tpu_info.chip_version_from_device_kind(target.device_kind)
    if version is None:
        return 0
    chip = tpu_info.get_tpu_info_for_chip(version, target.num_cores)
    return int(getattr(chip, f"{space}_capacity_bytes", 0))


def spec_buffers(call: Call, refs: tuple[Ref, ...], space: str) -> list[Buffer]:
    """What the specs of ``call`` ask for in ``space``, without a compiler's padding."""
    found = []
    for ref in refs:
        own = ref.memory_space or ("vmem" if ref.role in ("input", "output") else "")
        if own != space or min(ref.shape, default=0) < 0 or not element_bits(ref.dtype):
            continue
        copies = _copies(call, ref) if ref.role in ("input", "output") else 1
        size = math.prod(ref.shape) * element_bits(ref.dtype) // 8 * copies
        found.append(Buffer(ref.role, size, copies, ref.shape, ref.dtype, ref))
    return found


def _copies(call: Call, ref: Ref) -> int:
    """How many blocks of an operand lie in memory at once, as TPU compilers pipeline them."""
    block = pipelined_block(call, ref)
    if block is None:
        return 1
    asked = getattr(block.pipeline_mode, "buffer_count", None)
    if asked is not None:
        return int(asked)
    grid = call.params["grid_mapping"].grid
    steps = [size for size in grid if isinstance(size, int)]
    moves = len(steps) < len(grid) or math.prod(steps) > 1
    return 2 if moves and not _is_constant(block.index_map_jaxpr.jaxpr) else 1


def pipelined_block(call: Call, ref: Ref) -> Any:
    """How the pipeline of ``call`` walks over the operand of ``ref``, ``None`` if it does not."""
    mapping = call.params.get("grid_mapping")
    if mapping is None or ref.memory_space not in ("", "vmem", "smem"):
        return None
    return mapping.block_mappings[ref.position - mapping.num_index_operands]


def _is_constant(index_map: Any) -> bool:
    return not index_map.eqns and not set(map(id, index_map.outvars)) & set(
        map(id, index_map.invars)
    )


def element_bits(dtype: str) -> int:
    """How wide an element is, 0 where it is no number; several small ones share a byte."""
    if small := _SMALL.search(dtype):
        return int(small[1])
    try:
        return int(np.dtype(dtype).itemsize) * 8
    except TypeError:
        return {"bfloat16": 16}.get(dtype, 0)
