"""# PM708: a barrier that is not the one wanted

## What it means
A call takes one barrier, and is given a ref to several, a buffer, or a semaphore; or
a tensor core instruction of Blackwell is given a barrier that was not made for it.

## Why the hardware says no
A barrier is 8 bytes of shared memory that count arrivals. Copies and products are
told the address of one. For tensor cores the program has to order its own accesses
of tensor memory around the barrier too, which `orders_tensor_core` asks for.

## Fix
- Choose one: `barrier.at[0]`, `barrier.at[slot]`.
- Give the barrier, `plgpu.Barrier()` among the scratch types, where a buffer or a
  semaphore was given.
- `plgpu.Barrier(orders_tensor_core=True)` for `plgpu.tcgen05_mma` and
  `plgpu.tcgen05_commit_arrive`.

## Example
Fails:

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
    scratch_types=[plgpu.SMEM((256,), jnp.float32), plgpu.Barrier(num_barriers=2)],
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
    plgpu.copy_gmem_to_smem(x_gmem, buffer, barrier.at[0])
    plgpu.barrier_wait(barrier.at[0])
    o_gmem[...] = buffer[...]


fn = plgpu.kernel(
    copied,
    out_type=jax.ShapeDtypeStruct((256,), jnp.float32),
    scratch_types=[plgpu.SMEM((256,), jnp.float32), plgpu.Barrier(num_barriers=2)],
)
args = [jax.ShapeDtypeStruct((256,), jnp.float32)]
```

## Fix safety
Which of several barriers is meant the program does not say: the first one is
proposed, and called unsafe. Where something else was given for a barrier, the one
there is is shown as an idea. That a barrier for tensor cores orders them is what
the instruction asks for.

## References
- JAX documentation, "Writing Mosaic GPU kernels with Pallas": barriers.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure, Ref
from pallas_magic.report import Diagnostic, TextEdit
from pallas_magic.rules._gpu.calls import GpuCall, gpu_call
from pallas_magic.rules._gpu.kernels import scratch_label, scratch_type
from pallas_magic.rules._gpu.wording import quoted
from pallas_magic.rules._memory.assignment import all_or_none
from pallas_magic.rules._specs.wording import counted, diagnostic
from pallas_magic.source.calls import add_keyword
from pallas_magic.source.document import Library

code = "PM708"
name = "gpu-barriers"

_ONE = "Operation is only valid for a single barrier, but barrier ref contains"
_ORDERS = "MMA barrier must have orders_tensor_core set to True"
_NO_BARRIER = re.compile(
    r"barrier must be a SMEM reference"
    r"|.*has no attribute '(as_barrier_memref|arrive_expect_tx|wait|arrive)'$"
)
_TAKE_BARRIERS = {"copy_gmem_to_smem": 2, "barrier_wait": 0, "barrier_arrive": 0}
_LOWERED_BY = ("_copy_gmem_to_smem_lowering", "_barrier_wait_lowering", "_barrier_arrive_lowering")
_NOT_TRIED = "another barrier may be meant, of which the program does not tell"
_WHICH = "another of the barriers may be meant"


def match(failure: Failure) -> bool:
    if failure.target.family != "gpu":
        return False
    return failure.text.startswith((_ONE, _ORDERS)) or _is_no_barrier(failure)


def key(failure: Failure) -> object:
    if _is_no_barrier(failure):
        return failure.place
    return failure.kernel, failure.text.startswith(_ONE)


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    call = gpu_call(failure, sources)
    ref = _barrier(call)
    if _is_no_barrier(failure):
        ref = call.ref(_given(call)) if call is not None else None
        cause = _kind(failure, ref)
        takes = f"`{call.text(call.node.func)}`" if call is not None else "this"
        message = f"{quoted(ref, 'this')} is {cause}; {takes} takes a barrier"
        mark = "takes a barrier"
    elif failure.text.startswith(_ORDERS):
        message = f"{quoted(ref, 'the barrier')} does not order the tensor cores"
        mark, cause = "needs a barrier for tensor cores", "does not order tensor cores"
    else:
        count = ref.shape[0] if ref is not None and len(ref.shape) == 1 else 0
        there = counted(count, "barrier") if count else "several barriers"
        message = f"{quoted(ref, 'this')} holds {there}; this takes one of them"
        mark, cause = "takes one barrier", there
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=message,
        primary=None,
        mark=mark,
        effects=[sources.span(one.place) for one in failure.also],
        causes=[scratch_label(failure, sources, ref, cause)],
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    if _is_no_barrier(failure):
        yield from _barrier_fixes(failure, sources)
        return
    if failure.text.startswith(_ORDERS):
        ref = _barrier(gpu_call(failure, sources))
        found = scratch_type(failure, sources, ref)
        if found is not None and isinstance(found.node, ast.Call):
            edit = add_keyword(found.syntax, found.node, "orders_tensor_core=True")
            if edit is not None:
                title = f"let {quoted(ref, 'the barrier')} order the tensor cores"
                yield Candidate(title, (edit,), mechanical=True)
        return
    edits = all_or_none([_first(one, sources) for one in (failure, *failure.also)])
    if edits:
        yield Candidate("take the first of the barriers", edits, "unsafe", why=_WHICH)


def _is_no_barrier(failure: Failure) -> bool:
    """Whether what was given for a barrier is none; JAX finds out when it uses it as one."""
    if _NO_BARRIER.match(failure.text) is None:
        return False
    is_lowered = failure.error_type == "AttributeError"
    return not is_lowered or failure.raised_in.endswith(_LOWERED_BY)


def _kind(failure: Failure, ref: Ref | None) -> str:
    """What was given for a barrier."""
    if "semaphore" in failure.text:
        return "a semaphore"
    is_buffer = ref is not None and ref.memory_space == "smem"
    return "a buffer in SMEM" if is_buffer else "no barrier"


def _given(call: GpuCall | None) -> ast.expr | None:
    """What a call is given for its barrier."""
    position = _TAKE_BARRIERS.get(call.name) if call is not None else None
    return call.argument("barrier", position) if call and position is not None else None


def _barrier_fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    """The only barrier there is."""
    call = gpu_call(failure, sources)
    given = _given(call)
    barriers = [ref for ref in failure.refs if "barrier" in ref.dtype]
    if call is None or given is None or len(barriers) != 1 or "semaphore" in failure.text:
        return
    (barrier,) = barriers
    edit = call.syntax.replace(given, barrier.name) if barrier.name.isidentifier() else None
    if edit is not None:
        title = f"give `{barrier.name}`, the one barrier there is"
        yield Candidate(title, (edit,), "display", why=_NOT_TRIED)


def _first(failure: Failure, sources: Library) -> TextEdit | None:
    call = gpu_call(failure, sources)
    node = _argument(call)
    if call is None or not isinstance(node, ast.Name):
        return None
    return call.syntax.replace(node, f"{node.id}.at[0]")


def _barrier(call: GpuCall | None) -> Ref | None:
    return call.ref(_argument(call)) if call is not None else None


def _argument(call: GpuCall | None) -> ast.expr | None:
    """The barrier among the arguments of a call."""
    if call is None:
        return None
    given = [*call.node.args, *(one.value for one in call.node.keywords)]
    found = [node for node in given if _is_barrier(call, node)]
    return found[0] if len(found) == 1 else None


def _is_barrier(call: GpuCall, node: ast.expr) -> bool:
    ref = call.ref(node)
    return ref is not None and "barrier" in ref.dtype
