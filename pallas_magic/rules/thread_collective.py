"""# PM712: scratch that a kernel of several threads does not share

## What it means
The kernel runs on several Pallas threads, which are warpgroups of one block, and
allocates memory in `pl.run_scoped` for one of them alone.

## Why the hardware says no
Shared memory and barriers belong to the block. Their addresses are the same in
every warpgroup, so all of them allocate, and let go, together.

## Fix
Name the thread axis: `pl.run_scoped(body, ..., collective_axes="group")`. All
threads then see the same memory. Scratch that the call asks for in `scratch_types`
is shared by itself.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu


def copied(x_gmem, o_gmem):
    def body(buffer):
        buffer[...] = x_gmem[...]
        o_gmem[...] = buffer[...]

    pl.run_scoped(body, plgpu.SMEM((256,), jnp.float32))


fn = plgpu.kernel(
    copied,
    out_type=jax.ShapeDtypeStruct((256,), jnp.float32),
    num_threads=2,
    thread_name="group",
)
args = [jax.ShapeDtypeStruct((256,), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu


def copied(x_gmem, o_gmem):
    def body(buffer):
        buffer[...] = x_gmem[...]
        o_gmem[...] = buffer[...]

    pl.run_scoped(body, plgpu.SMEM((256,), jnp.float32), collective_axes="group")


fn = plgpu.kernel(
    copied,
    out_type=jax.ShapeDtypeStruct((256,), jnp.float32),
    num_threads=2,
    thread_name="group",
)
args = [jax.ShapeDtypeStruct((256,), jnp.float32)]
```

## Fix safety
Whether the threads are meant to share the memory the program does not say: what
each writes, the others see.

## References
- `pl.run_scoped`, `collective_axes`, in JAX's documentation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic
from pallas_magic.rules._gpu.calls import gpu_call
from pallas_magic.rules._specs.wording import diagnostic
from pallas_magic.source.calls import add_keyword, keyword
from pallas_magic.source.document import Library

code = "PM712"
name = "thread-collective"

_HINT = re.compile(
    r"Only thread-collective allocations are supported in multithreaded kernels\. "
    r"Hint: add collective_axes=([\w().,' ]+?) to your run_scoped"
)
_SHARED = "all threads then share the memory"


def match(failure: Failure) -> bool:
    return _HINT.match(failure.text) is not None


def key(failure: Failure) -> object:
    return failure.place


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    axis = _axis(failure)
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=f"`{failure.kernel}` runs on several threads, and this allocates for one alone",
        primary=None,
        mark="not for all threads",
        notes=[f"the thread axis is `{axis}`"] if axis else [],
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    call, axis = gpu_call(failure, sources), _axis(failure)
    if call is None or not axis or keyword(call.node, "collective_axes") is not None:
        return
    edit = add_keyword(call.syntax, call.node, f'collective_axes="{axis}"')
    if edit is not None:
        yield Candidate("allocate for all threads together", (edit,), "unsafe", why=_SHARED)


def _axis(failure: Failure) -> str:
    found = _HINT.match(failure.text)
    names = re.findall(r"\w+", found[1]) if found is not None else []
    return names[0] if len(names) == 1 else ""
