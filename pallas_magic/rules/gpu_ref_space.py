"""# PM710: a ref in another memory than the function works on

## What it means
`plgpu.copy_gmem_to_smem` takes a ref in global memory first, and one in shared
memory second; `plgpu.copy_smem_to_gmem` the other way round. Other functions of
`plgpu` each want their refs in a certain memory too. This one got another.

## Why the hardware says no
The copy engine has an instruction for each direction, and none that copies within
global memory or within shared memory.

## Fix
- Source first, target second, as the function's name says.
- Use the function for the other direction.
- Put the scratch where it is wanted: `plgpu.SMEM(...)`, `plgpu.TMEM(...)`.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu


def copied(x_gmem, o_gmem, buffer, barrier):
    plgpu.copy_gmem_to_smem(buffer, x_gmem, barrier)
    plgpu.barrier_wait(barrier)
    o_gmem[...] = buffer[...]


fn = plgpu.kernel(
    copied,
    out_type=jax.ShapeDtypeStruct((256,), jnp.float32),
    scratch_types=[plgpu.SMEM((256,), jnp.float32), plgpu.Barrier()],
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
Where the two refs of a copy stand in each other's place there is one way to put
them that its name allows.

## References
- JAX documentation, "Writing Mosaic GPU kernels with Pallas": asynchronous copies.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic
from pallas_magic.rules._gpu.calls import gpu_call
from pallas_magic.rules._gpu.kernels import scratch_label
from pallas_magic.rules._memory.assignment import all_or_none
from pallas_magic.rules._specs.wording import diagnostic
from pallas_magic.source.document import Library

code = "PM710"
name = "gpu-ref-space"

# What is no barrier is told by PM708.
_WRONG = re.compile(r"(?!barrier )(\w+) must be a (\w+) reference, got \w*Ref<(\w+)>")
_COPIES = ("copy_gmem_to_smem", "copy_smem_to_gmem")


def match(failure: Failure) -> bool:
    of_gpu = "mosaic_gpu.primitives" in failure.raised_in
    return of_gpu and _WRONG.match(failure.text) is not None


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    found, call = _WRONG.match(failure.text), gpu_call(failure, sources)
    assert found is not None
    parameter, wanted, space = found[1], found[2].upper(), found[3].upper()
    node = call.argument(parameter, 1 if parameter == "dst" else 0) if call is not None else None
    ref = call.ref(node) if call is not None else None
    subject = f"`{ref.name}`" if ref is not None else f"`{parameter}`"
    function = f"`{call.text(call.node.func)}`" if call is not None else "this"
    role = {"src": " as its source", "dst": " as its target"}.get(parameter, "")
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=f"{subject} is in {space}; {function} takes a ref in {wanted}{role}",
        primary=None,
        mark=f"{space}, expected {wanted}",
        causes=[scratch_label(failure, sources, ref, f"puts {subject} in {space}")],
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    call = gpu_call(failure, sources)
    if call is None or call.name not in _COPIES or len(call.node.args) < 2:
        return
    first, second = call.node.args[:2]
    refs = call.ref(first), call.ref(second)
    spaces = tuple(ref.memory_space for ref in refs if ref is not None)
    wanted = ("gmem", "smem") if call.name == _COPIES[0] else ("smem", "gmem")
    if spaces != tuple(reversed(wanted)):
        return
    edits = all_or_none(
        (
            call.syntax.replace(first, call.text(second)),
            call.syntax.replace(second, call.text(first)),
        )
    )
    if edits:
        yield Candidate("give the source first, the target second", edits, mechanical=True)
