"""What GPUs refuse although JAX lowers it, told without a compiler.

ptxas and LLVM refuse an instruction that a chip does not have; a launch that asks for
more threads or a larger cluster than a chip has only fails when it is made.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from pallas_magic.bridge.capture import Call
from pallas_magic.bridge.kernels import Kernel
from pallas_magic.bridge.lowering import is_triton
from pallas_magic.bridge.reached import reached
from pallas_magic.bridge.recovery import Raised
from pallas_magic.bridge.triton_refusals import asked, refused_accesses, refused_launch
from pallas_magic.targets import Target

NOT_ON_CHIP = "the chip has no instruction for {primitive}"
TOO_MANY_THREADS = "a launch of {threads} threads in a block fails: at most {limit}"
TOO_LARGE_CLUSTER = "a launch of clusters of {blocks} blocks fails: at most {limit}"
_THREADS_OF_A_WARP, _THREADS_OF_A_WARPGROUP = 32, 128
_MOST_THREADS = 1024
_LARGEST_CLUSTER = 16
_WARPGROUP_PRODUCTS = ("wgmma", "wgmma_ref", "wgmma_wait")
_TENSOR_MEMORY = (
    "tcgen05_mma",
    "tcgen05_commit_arrive",
    "async_load",
    "async_store_tmem",
    "async_copy_smem_to_tmem",
    "async_copy_scales_to_tmem",
    "async_copy_sparse_metadata_to_tmem",
)
_BULK_COPIES = ("copy_smem_to_gmem",)
_HAS = {"8.0": (), "9.0": ("wgmma", "copies"), "10.0": ("tcgen05", "copies")}


class GpuRefusal(Exception):
    """Stands for what a compiler or a launch that was not tried would say."""


def gpu_refusals(call: Call, kernel: Kernel, target: Target) -> tuple[Raised, ...]:
    """What ``target`` refuses for certain: too large a launch, and what its chip lacks."""
    if is_triton(call):
        try:
            return tuple(_of_triton(call, kernel))
        except Exception:
            return ()  # what JAX itself raised must be told whatever a release changes here
    has = _HAS.get(target.compute_capability)
    mesh = next(iter(call.params.get("meshes") or ()), None)
    if has is None or type(mesh).__module__ != "jax._src.pallas.mosaic_gpu.core":
        return ()
    return (*_launch(mesh), *_instructions(call, kernel, has))


def _of_triton(call: Call, kernel: Kernel) -> Iterator[Raised]:
    if text := refused_launch(call):
        yield Raised(GpuRefusal(text))
    else:
        yield from _threads((asked(call, "num_warps") or 0) * _THREADS_OF_A_WARP)
    for text, path in refused_accesses(call, kernel):
        yield Raised(GpuRefusal(text), path)


def _threads(threads: int) -> Iterator[Raised]:
    if threads > _MOST_THREADS:
        text = TOO_MANY_THREADS.format(threads=threads, limit=_MOST_THREADS)
        yield Raised(GpuRefusal(text))


def _launch(mesh: Any) -> Iterator[Raised]:
    yield from _threads((getattr(mesh, "num_threads", None) or 1) * _THREADS_OF_A_WARPGROUP)
    blocks = math.prod(getattr(mesh, "cluster", ()) or ())
    if blocks > _LARGEST_CLUSTER:
        text = TOO_LARGE_CLUSTER.format(blocks=blocks, limit=_LARGEST_CLUSTER)
        yield Raised(GpuRefusal(text))


def _instructions(call: Call, kernel: Kernel, has: tuple[str, ...]) -> Iterator[Raised]:
    for one in reached(call.jaxprs[0]):
        primitive = one.equation.primitive.name
        wanted = _wanted(primitive)
        if wanted and wanted not in has:
            text = NOT_ON_CHIP.format(primitive=primitive)
            yield Raised(GpuRefusal(text), kernel.path_of.get(id(one.equation), one.path))


def _wanted(primitive: str) -> str:
    """What a chip must have for ``primitive``, "" for what all have."""
    if primitive in _WARPGROUP_PRODUCTS:
        return "wgmma"
    if primitive in _TENSOR_MEMORY:
        return "tcgen05"
    return "copies" if primitive in _BULK_COPIES else ""


def needs_tensor_memory(call: Call) -> bool:
    """Whether a kernel works on tensor memory, which only Blackwell has."""
    mesh = next(iter(call.params.get("meshes") or ()), None)
    if type(mesh).__module__ != "jax._src.pallas.mosaic_gpu.core":
        return False
    return any(one.equation.primitive.name in _TENSOR_MEMORY for one in reached(call.jaxprs[0]))
