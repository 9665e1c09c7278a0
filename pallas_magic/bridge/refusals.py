"""What every known TPU compiler refuses although it lowers, told without a compiler.

Compiled for TPU v4, v5e, v5p, v6e and v7x with libtpu 0.0.42.1 (under JAX 0.10.2), 0.0.50.1
(under 0.11.2) and 0.0.52 (under 0.12.0.1): only what all of them refuse is told, and only of
operations that are certain to reach the compiler.
"""

from __future__ import annotations

from collections.abc import Iterator

from pallas_magic.bridge.capture import Call
from pallas_magic.bridge.gpu_refusals import gpu_refusals
from pallas_magic.bridge.kernels import Kernel
from pallas_magic.bridge.reached import reached
from pallas_magic.bridge.recovery import Raised
from pallas_magic.bridge.refused_indices import refused_index
from pallas_magic.bridge.refused_masks import refused_mask
from pallas_magic.bridge.refused_operations import refused_operation
from pallas_magic.bridge.refused_strides import refused_stride
from pallas_magic.failure import Ref
from pallas_magic.targets import Target

WIDE_INDEX_MAP = "failed to legalize operation 'func.return': an index map returns {dtype}"
_FLOAT16_OPERAND = (
    "Only arguments with float8e5m2, float8e4m3fn, float8e4m3b11fnuz, float8e8m0fnu, "
    "float4e2m1fn, bfloat16 or 32-bit element types are supported"
)
_WIDE = ("int64", "uint64")
_ON_CHIP = ("", "vmem", "smem")


class Refusal(Exception):
    """Stands for what a compiler that was not asked would say."""


def refusals(call: Call, kernel: Kernel, target: Target) -> tuple[Raised, ...]:
    """What the compiler for ``target`` refuses for certain, in the order of the kernel."""
    if target.family == "gpu":
        return gpu_refusals(call, kernel, target)
    try:
        specs = [*_wide_index_maps(call, kernel), *_float16_operands(call, kernel)]
        return (*specs, *_operations(call, kernel, target))
    except Exception:
        return ()  # what JAX itself raised must be told whatever a release changes here


def wide_index_map(call: Call, kernel: Kernel) -> Ref | None:
    """The first operand whose index map returns 64-bit integers, which no TPU takes."""
    return next((one.ref for one in _wide_index_maps(call, kernel)), None)


def _wide_index_maps(call: Call, kernel: Kernel) -> Iterator[Raised]:
    """Those that are compiled: of blocks that a grid walks over and that are brought on chip."""
    mapping = call.params.get("grid_mapping")
    if mapping is None or not mapping.grid:
        return
    before = int(mapping.num_index_operands)
    for number, block in enumerate(mapping.block_mappings):
        results = (str(one.aval.dtype) for one in block.index_map_jaxpr.jaxpr.outvars)
        wide = next((dtype for dtype in results if dtype in _WIDE), "")
        if not wide or number + before >= len(kernel.refs):
            continue
        ref = kernel.refs[number + before]
        if ref.memory_space in _ON_CHIP:
            yield Raised(Refusal(WIDE_INDEX_MAP.format(dtype=wide)), ref=ref)


def _float16_operands(call: Call, kernel: Kernel) -> Iterator[Raised]:
    """Inputs are refused even where the kernel does not touch them, outputs are not."""
    if not call.is_pallas_call:
        return
    accessed = {id(ref) for ref in kernel.ref_of.values()}
    for ref in kernel.refs:
        if ref.dtype != "float16" or ref.role not in ("prefetch", "input"):
            continue
        if id(ref) not in accessed:
            yield Raised(Refusal(_FLOAT16_OPERAND), ref=ref)


def _operations(call: Call, kernel: Kernel, target: Target) -> Iterator[Raised]:
    for one in reached(call.jaxprs[0]):
        text = refused_operation(one, target) or refused_index(one)
        if text := text or refused_mask(one) or refused_stride(one):
            yield Raised(Refusal(text), kernel.path_of.get(id(one.equation), one.path))
