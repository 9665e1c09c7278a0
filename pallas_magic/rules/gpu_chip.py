"""# PM707: an instruction that the chip does not have

## What it means
The kernel calls for something that only another generation of GPUs has:
`plgpu.wgmma` is of Hopper (H100) alone, `plgpu.tcgen05_mma` and tensor memory are
of Blackwell (B200), copies that the TMA unit makes, with a barrier or from shared
to global memory, are of Hopper and later.

## Why the hardware says no
Each generation has tensor cores of its own, with instructions of their own, and
later ones do not keep them. JAX lowers all of them for any chip; only NVIDIA's
compiler would say so, or crash.

## Fix
- Name the chip that the kernel is for: `--target gpu:b200`,
  `check(fn, x, target="gpu:b200")`.
- H100: products with `plgpu.wgmma` into a `plgpu.ACC` accumulator.
- B200: products with `plgpu.tcgen05_mma` into `plgpu.TMEM`.
- A100: `plgpu.copy_gmem_to_smem` without a barrier, then
  `plgpu.wait_gmem_to_smem`; plain stores to global memory.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu


def copied(x_gmem, o_gmem, buffer):
    plgpu.copy_gmem_to_smem(x_gmem, buffer)
    plgpu.wait_gmem_to_smem(0)
    o_gmem[...] = buffer[...]


fn = plgpu.kernel(
    copied,
    out_type=jax.ShapeDtypeStruct((256,), jnp.float32),
    scratch_types=[plgpu.SMEM((256,), jnp.float32)],
)
args = [jax.ShapeDtypeStruct((256,), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu


def copied(x_gmem, o_gmem, buffer, barrier):
    plgpu.copy_gmem_to_smem(x_gmem, buffer, barrier)
    plgpu.barrier_wait(barrier)
    o_gmem[...] = buffer[...]


fn = plgpu.kernel(
    copied,
    out_type=jax.ShapeDtypeStruct((256,), jnp.float32),
    scratch_types=[plgpu.SMEM((256,), jnp.float32), plgpu.Barrier()],
)
args = [jax.ShapeDtypeStruct((256,), jnp.float32)]
```

## Fix safety
There is no ready fix: a kernel is written for its chip, and which one is meant
only its author knows.

## References
- NVIDIA, "PTX ISA": target notes of `wgmma`, `tcgen05` and `cp.async.bulk`.
- JAX documentation, "Writing Mosaic GPU kernels with Pallas".
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic
from pallas_magic.rules._gpu.calls import gpu_call
from pallas_magic.rules._specs.wording import diagnostic
from pallas_magic.source.document import Library

code = "PM707"
name = "gpu-chip"

_REFUSED = re.compile(r"the chip has no instruction for (\w+)$")
_NEWER = re.compile(
    r"copy_gmem_to_smem with a barrier is only supported Hopper and newer"
    r"|im2col copies are only supported on Hopper|Only the TMA implementation supports"
    r"|The cp\.async implementation |emit_pipeline on pre-Hopper GPUs"
)
_OLDER = re.compile(
    r"copy_gmem_to_smem without a barrier is only supported on pre-Hopper"
    r"|wait_gmem_to_smem is only supported on pre-Hopper"
)
_HOPPER, _BLACKWELL, _LATER, _AMPERE = "H100", "B200", "H100 and B200", "A100"
_NOTES = {
    _HOPPER: "on B200 the tensor cores take `plgpu.tcgen05_mma`",
    _BLACKWELL: "on H100 the tensor cores take `plgpu.wgmma`, and there is no tensor memory",
    _LATER: "A100 copies without a barrier, and waits with `plgpu.wait_gmem_to_smem`",
    _AMPERE: "H100 and B200 copy with a barrier, which `plgpu.barrier_wait` waits for",
}


def match(failure: Failure) -> bool:
    return _chips(failure) is not None


def key(failure: Failure) -> object:
    return failure.target.name, _chips(failure)


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    chips = _chips(failure)
    assert chips is not None
    found = diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=f"{_written(failure, sources)} is of {chips}, not of {failure.target.title}",
        primary=None,
        mark=f"not on {failure.target.title}",
        effects=[sources.span(one.place) for one in failure.also],
        notes=[_NOTES[chips]],
    )
    refused = _REFUSED.search(failure.text) is not None
    return dataclasses.replace(found, original="") if refused else found


def fixes(failure: Failure, sources: Library) -> Iterable[Candidate]:
    return ()


def _chips(failure: Failure) -> str | None:
    """The chips that have what the kernel asks for, ``None`` where it is about something else."""
    if failure.target.family != "gpu":
        return None
    refused = _REFUSED.search(failure.text)
    if refused is not None:
        primitive = refused[1]
        if primitive.startswith("wgmma"):
            return _HOPPER
        return _LATER if primitive.startswith("copy_smem") else _BLACKWELL
    if _NEWER.match(failure.text):
        return _LATER
    return _AMPERE if _OLDER.match(failure.text) else None


def _written(failure: Failure, sources: Library) -> str:
    call = gpu_call(failure, sources)
    written = f"`{call.text(call.node.func)}`" if call is not None else f"`{failure.primitive}`"
    if "without a barrier" in failure.text:
        return f"{written} without a barrier"
    return f"{written} with a barrier" if "with a barrier" in failure.text else written
