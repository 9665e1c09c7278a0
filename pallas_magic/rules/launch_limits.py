"""# PM804: a launch that no GPU takes

## What it means
The kernel asks for more threads in a block, or more blocks in a cluster, than a
GPU has. It lowers and compiles; launched, it fails.

## Why the hardware says no
A block has at most 1,024 threads. A Pallas thread is a warpgroup of 128 of them,
so there can be 8. A cluster has at most 16 blocks, which run on neighbouring
multiprocessors; 8 is what every chip since Hopper takes without being asked.

## Fix
- `num_threads=8` or less; give each thread more to do, or the grid more steps.
- A smaller `cluster`, and a larger `grid`.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu


def copied(x_gmem, o_gmem):
    o_gmem[...] = x_gmem[...]


fn = plgpu.kernel(
    copied,
    out_type=jax.ShapeDtypeStruct((256,), jnp.float32),
    num_threads=12,
    thread_name="warpgroup",
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
    o_gmem[...] = x_gmem[...]


fn = plgpu.kernel(
    copied,
    out_type=jax.ShapeDtypeStruct((256,), jnp.float32),
    num_threads=4,
    thread_name="warpgroup",
)
args = [jax.ShapeDtypeStruct((256,), jnp.float32)]
```

## Fix safety
There is no ready fix: how to divide the work is a choice.

## References
- NVIDIA, "CUDA C++ Programming Guide": technical specifications per compute
  capability; thread block clusters.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic, Span
from pallas_magic.rules._gpu.kernels import kernel_call
from pallas_magic.rules._specs.wording import diagnostic
from pallas_magic.source.document import Library

code = "PM804"
name = "launch-limits"

_THREADS = re.compile(r"a launch of (\d+) threads in a block fails: at most (\d+)")
_CLUSTER = re.compile(r"a launch of clusters of (\d+) blocks fails: at most (\d+)")
_MESH = re.compile(r"Requested too many CUDA threads per block\..*num_threads=(\d+)", re.DOTALL)
_WARPGROUP = 128


def match(failure: Failure) -> bool:
    of_gpu = failure.target.family == "gpu"
    return of_gpu and any(one.match(failure.text) for one in (_THREADS, _CLUSTER, _MESH))


def key(failure: Failure) -> object:
    return failure.text


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    cluster = _CLUSTER.match(failure.text)
    who = f"`{failure.kernel}`"
    if cluster is not None:
        message = f"{who} asks for clusters of {cluster[1]} blocks; a GPU has {cluster[2]} at most"
        note, keyword = "", "cluster"
    else:
        threads = _threads(failure)
        message = (
            f"{who} asks for {threads // _WARPGROUP} warpgroups, {threads} threads in a block;"
            " a GPU has 1024 at most"
        )
        note, keyword = "a Pallas thread is a warpgroup of 128 threads: 8 fit", "num_threads"
    found = diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=message,
        primary=_span(failure, sources, keyword),
        mark="too many",
        notes=[note] if note else [],
    )
    return found if _MESH.match(failure.text) else dataclasses.replace(found, original="")


def fixes(failure: Failure, sources: Library) -> Iterable[Candidate]:
    return ()


def _threads(failure: Failure) -> int:
    asked = _MESH.match(failure.text)
    if asked is not None:
        return int(asked[1]) * _WARPGROUP
    launched = _THREADS.match(failure.text)
    return int(launched[1]) if launched is not None else 0


def _span(failure: Failure, sources: Library, keyword: str) -> Span | None:
    call = kernel_call(failure, sources)
    return call.span(keyword) if call is not None else None
