"""Names that Pallas once had: since which release of JAX they are gone, and what they are now.

Read off the public modules of every release from 0.4.31 to 0.12. A name is
taken for gone only where the running JAX does not have it and does have what
stands for it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

PALLAS = "jax.experimental.pallas"
TPU = f"{PALLAS}.tpu"
GPU = f"{PALLAS}.mosaic_gpu"
TRITON = f"{PALLAS}.triton"


@dataclasses.dataclass(frozen=True)
class Moved:
    """A name that is another one now: ``now``, with ``suffix`` behind it."""

    now: str
    gone: str
    suffix: str = ""


@dataclasses.dataclass(frozen=True)
class Removed:
    """A name that nothing of the same kind stands for; ``instead`` says what does its work."""

    gone: str
    instead: str


def _moved(old: str, new: str, gone: str, names: str) -> dict[str, Moved]:
    return {f"{old}.{name}": Moved(f"{new}.{name}", gone) for name in names.split()}


MOVED: Mapping[str, Moved] = {
    f"{TPU}.TPUCompilerParams": Moved(f"{TPU}.CompilerParams", "0.7.2"),
    f"{TPU}.TPUMemorySpace": Moved(f"{TPU}.MemorySpace", "0.7.2"),
    f"{TPU}.TPUMemorySpace.ANY": Moved(f"{PALLAS}.ANY", "0.7.2"),
    f"{TPU}.MemorySpace.ANY": Moved(f"{PALLAS}.ANY", "0.8.2"),
    f"{TPU}.MemorySpace.HOST": Moved(f"{PALLAS}.HOST", "0.10.2"),
    f"{PALLAS}.MemorySpace.HOST": Moved(f"{PALLAS}.HOST", "0.11"),
    f"{TPU}.KernelType": Moved(f"{TPU}.CoreType", "0.10.2"),
    f"{TPU}.GeneralMemorySpace": Moved(f"{PALLAS}.MemorySpace", "0.10"),
    **_moved(TPU, PALLAS, "0.4.36", "CostEstimate run_scoped"),
    **_moved(TPU, PALLAS, "0.10", "ANY delay"),
    **_moved(
        TPU,
        PALLAS,
        "0.11",
        "DeviceIdType semaphore semaphore_read semaphore_signal semaphore_wait",
    ),
    **_moved(TPU, PALLAS, "0.11.2", "HOST"),
    **_moved(
        PALLAS,
        TRITON,
        "0.9",
        "atomic_add atomic_and atomic_cas atomic_max atomic_min atomic_or atomic_xchg atomic_xor"
        " max_contiguous",
    ),
    f"{GPU}.GPUBlockSpec": Moved(f"{GPU}.BlockSpec", "0.6.1"),
    f"{GPU}.GPUCompilerParams": Moved(f"{GPU}.CompilerParams", "0.6.1"),
    f"{GPU}.GPUMemorySpace": Moved(f"{GPU}.MemorySpace", "0.6.1"),
    f"{GPU}.GPUMesh": Moved(f"{GPU}.Mesh", "0.6.1"),
    f"{GPU}.GPUShapeDtypeStruct": Moved(f"{GPU}.ShapeDtypeStruct", "0.6.2"),
    f"{GPU}.ThreadSemantics": Moved(f"{GPU}.LoweringSemantics", "0.6"),
    f"{GPU}.Layout.WGMMA_ROW": Moved(f"{GPU}.Layout.WGMMA", "0.7", ".reduce(1)"),
    f"{GPU}.Layout.WGMMA_COL": Moved(f"{GPU}.Layout.WGMMA", "0.7", ".reduce(0)"),
    f"{GPU}.Layout.TCGEN05_ROW": Moved(f"{GPU}.Layout.TCGEN05", "0.7", ".reduce(1)"),
    f"{GPU}.Layout.TCGEN05_COL": Moved(f"{GPU}.Layout.TCGEN05", "0.7", ".reduce(0)"),
    f"{TRITON}.TritonCompilerParams": Moved(f"{TRITON}.CompilerParams", "0.7.2"),
    f"{PALLAS}.gpu": Moved(TRITON, "0.6.1"),
}

# Functions whose calls are written in another way now; `rewrites.py` has the ways.
REWRITTEN: Mapping[str, Removed] = {
    f"{PALLAS}.load": Removed("0.9", "a ref is loaded by its index"),
    f"{PALLAS}.store": Removed("0.9", "a ref is stored to by its index"),
    f"{PALLAS}.swap": Removed("0.9", "`jax.ref.swap` does its work"),
    f"{PALLAS}.dot": Removed("0.11.2", "`jnp.dot` does its work"),
    f"{PALLAS}.debug_checks_enabled": Removed(
        "0.11.2", "`pl.enable_debug_checks.value` says the same"
    ),
    f"{TPU}.repeat": Removed("0.10.2", "`jnp.concatenate` or `jnp.tile` does its work"),
}

_ELEMENT = "an axis of the block that counts in elements is a `pl.Element(size)`"
_VERIFICATION = "the verification of kernels left JAX and nothing took its place"
_CHECKS = "`pl.debug_check` is checked under `pl.enable_debug_checks`"
_PIPELINE = "`pltpu.emit_pipeline_with_allocations` gives a pipeline with its allocations"
_TRANSPOSED = "a ref is transposed with `ref.transpose(...)`"

REMOVED: Mapping[str, Removed] = {
    f"{PALLAS}.IndexingMode": Removed("0.6.1", _ELEMENT),
    f"{PALLAS}.Unblocked": Removed("0.6.1", _ELEMENT),
    f"{PALLAS}.unblocked": Removed("0.6.1", _ELEMENT),
    f"{PALLAS}.enable_runtime_assert": Removed("0.6.2", _CHECKS),
    f"{PALLAS}.runtime_assert_enabled": Removed("0.6.2", _CHECKS),
    f"{TPU}.enable_runtime_assert": Removed("0.6.2", _CHECKS),
    f"{TPU}.runtime_assert_enabled": Removed("0.6.2", _CHECKS),
    f"{TPU}.device_id": Removed("0.6", "`lax.axis_index` gives the index along an axis of a mesh"),
    f"{TPU}.assume": Removed("0.8.1", _VERIFICATION),
    f"{TPU}.define_model": Removed("0.8.1", _VERIFICATION),
    f"{TPU}.pretend": Removed("0.8.1", _VERIFICATION),
    f"{TPU}.skip": Removed("0.8.1", _VERIFICATION),
    f"{TPU}.verification": Removed("0.8.1", _VERIFICATION),
    f"{TPU}.get_pipeline_schedule": Removed("0.10", _PIPELINE),
    f"{TPU}.make_pipeline_allocations": Removed("0.10", _PIPELINE),
    f"{GPU}.TransposeTransform": Removed("0.10.1", _TRANSPOSED),
}


def since(dotted: str) -> str:
    """The release without ``dotted``, "" for a name that Pallas never had."""
    known = MOVED.get(dotted) or REWRITTEN.get(dotted) or REMOVED.get(dotted)
    return known.gone if known is not None else ""
