"""# PM804: a launch that no GPU takes

## What it means
The kernel asks for more threads in a block, or more blocks in a cluster, than a
GPU has. It lowers and compiles; launched, it fails. Or it asks Triton for a number
of warps that is no power of two, or for no warps or stages at all: Triton's
compiler ends itself over the first and refuses the others.

## Why the hardware says no
A block has at most 1,024 threads. A Pallas thread is a warpgroup of 128 of them,
so there can be 8; a warp of Triton is 32 of them, so there can be 32. Triton halves
arrays over its warps until each has its part, for which their number has to be a
power of two. A cluster has at most 16 blocks, which run on neighbouring
multiprocessors; 8 is what every chip since Hopper takes without being asked.

## Fix
- `num_threads=8` or less; give each thread more to do, or the grid more steps.
- Triton: `num_warps` of 1, 2, 4, 8, 16 or 32, which is 4 where it is not given;
  `num_stages` of 1 or more, of which 1 overlaps nothing.
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
How to divide the work among the threads of `plgpu.kernel` is a choice; there is no
ready fix. Triton divides it by itself: the next smaller number of warps computes
the same.

## References
- NVIDIA, "CUDA C++ Programming Guide": technical specifications per compute
  capability; thread block clusters.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic, Span
from pallas_magic.rules._gpu.kernels import kernel_call
from pallas_magic.rules._gpu.triton import triton_parameter
from pallas_magic.rules._operations.called import integer
from pallas_magic.rules._specs.wording import counted, diagnostic
from pallas_magic.source.document import Library

code = "PM804"
name = "launch-limits"

_THREADS = re.compile(r"a launch of (\d+) threads in a block fails: at most (\d+)")
_CLUSTER = re.compile(r"a launch of clusters of (\d+) blocks fails: at most (\d+)")
_MESH = re.compile(r"Requested too many CUDA threads per block\..*num_threads=(\d+)", re.DOTALL)
_TRITON = re.compile(r"num_(warp|stage)s is (-?\d+), which is (?:not positive|no power of two)")
_WARP, _WARPGROUP, _MOST_WARPS = 32, 128, 32
_WARPS_NOTE = "Triton takes 1, 2, 4, 8, 16 or 32 warps, and 4 where the number is not given"
_STAGES_NOTE = "Triton takes 1 stage or more; 1 overlaps nothing"


def match(failure: Failure) -> bool:
    texts = (_THREADS, _CLUSTER, _MESH, _TRITON)
    return failure.target.family == "gpu" and any(one.match(failure.text) for one in texts)


def key(failure: Failure) -> object:
    return failure.text


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    message, keyword, note = _said(failure)
    found = diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=message,
        primary=_span(failure, sources, keyword),
        mark=_mark(failure.text),
        notes=[note] if note else [],
    )
    return found if _MESH.match(failure.text) else dataclasses.replace(found, original="")


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    """The next smaller number that Triton takes, where the number stands in the call."""
    given = triton_parameter(failure, sources, _said(failure)[1])
    asked = integer(given.node) if given is not None else None
    if given is None or asked is None:
        return
    if "num_stages" in failure.text:
        number, title = 1, "ask for 1 stage"
    elif asked < 1:
        return
    else:
        number = min(1 << (asked.bit_length() - 1), _MOST_WARPS)
        title = f"ask for {counted(number, 'warp')}"
    if (edit := given.syntax.replace(given.node, str(number))) is not None:
        yield Candidate(title, (edit,))


def _said(failure: Failure) -> tuple[str, str, str]:
    """The message, the keyword that it is about, and a note."""
    who = f"`{failure.kernel}`"
    if (cluster := _CLUSTER.match(failure.text)) is not None:
        message = f"{who} asks for clusters of {cluster[1]} blocks; a GPU has {cluster[2]} at most"
        return message, "cluster", ""
    if (triton := _TRITON.match(failure.text)) is not None:
        number = counted(int(triton[2]), triton[1])
        if triton[1] == "stage":
            return f"{who} asks Triton for {number}", "num_stages", _STAGES_NOTE
        wrong = ", which is no power of two" if "power" in failure.text else ""
        return f"{who} asks Triton for {number}{wrong}", "num_warps", _WARPS_NOTE
    threads = _threads(failure)
    if failure.call.is_triton:
        asked, keyword = f"{threads // _WARP} warps", "num_warps"
        note = "a warp is 32 threads: 32 warps fit"
    else:
        asked, keyword = f"{threads // _WARPGROUP} warpgroups", "num_threads"
        note = "a Pallas thread is a warpgroup of 128 threads: 8 fit"
    message = f"{who} asks for {asked}, {threads} threads in a block; a GPU has 1024 at most"
    return message, keyword, note


def _mark(text: str) -> str:
    if _TRITON.match(text) is None:
        return "too many"
    return "no power of two" if "power" in text else "less than 1"


def _threads(failure: Failure) -> int:
    asked = _MESH.match(failure.text)
    if asked is not None:
        return int(asked[1]) * _WARPGROUP
    launched = _THREADS.match(failure.text)
    return int(launched[1]) if launched is not None else 0


def _span(failure: Failure, sources: Library, keyword: str) -> Span | None:
    if failure.call.is_triton:
        given = triton_parameter(failure, sources, keyword)
        return given.syntax.span(given.node) if given is not None else None
    call = kernel_call(failure, sources)
    return call.span(keyword) if call is not None else None
