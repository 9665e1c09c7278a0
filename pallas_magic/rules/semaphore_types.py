"""# PM106: a semaphore of the wrong type, or several where one is needed

## What it means
A copy is given a semaphore that is not one for copies, or a semaphore for copies
is signalled and waited for by hand, or an array of semaphores stands where one
is taken.

## Why the hardware says no
A DMA engine counts bytes on a semaphore of its own kind, `SemaphoreType.DMA`.
One that programs signal and wait for, `SemaphoreType.REGULAR`, counts signals.
Each instruction names one semaphore.

## Fix
- ask for the type that the use needs in `scratch_shapes`;
- take one semaphore of an array with `semaphore.at[i]`.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def double(x_hbm, o_ref, block, semaphore):
    copy = pltpu.make_async_copy(x_hbm, block, semaphore)
    copy.start()
    copy.wait()
    o_ref[...] = block[...] * 2.0


fn = pl.pallas_call(
    double,
    out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
    in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
    scratch_shapes=[pltpu.VMEM((8, 128), jnp.float32), pltpu.SemaphoreType.REGULAR],
)
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def double(x_hbm, o_ref, block, semaphore):
    copy = pltpu.make_async_copy(x_hbm, block, semaphore)
    copy.start()
    copy.wait()
    o_ref[...] = block[...] * 2.0


fn = pl.pallas_call(
    double,
    out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
    in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
    scratch_shapes=[pltpu.VMEM((8, 128), jnp.float32), pltpu.SemaphoreType.DMA],
)
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Fix safety
Where every use of the semaphore is of one kind, the type that this kind needs is
the only right one, and so is the only semaphore of an array of one. Which one of
several is meant the program does not say.

## References
- Pallas documentation, "TPU details"; "Distributed computing in Pallas for TPUs".
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic
from pallas_magic.rules._dma.calls import RefCall, copy_call, type_label
from pallas_magic.rules._dma.semaphores import Semaphore, length_in, semaphore_of, with_type
from pallas_magic.rules._gpu.calls import PALLAS_GPU
from pallas_magic.rules._specs.wording import counted, diagnostic
from pallas_magic.source.document import Library
from pallas_magic.source.names import spelled

code = "PM106"
name = "semaphore-types"

_ARRAY = re.compile(r"Cannot \w+ on a non-\(\)-shaped semaphore: \(([\d, ]+)\)")
_REGULAR = "dma_wait requires a DMA semaphore, but got a regular semaphore"
_COUNTED = re.compile(r"Must (signal|wait) semaphores of the following types: .*Got (\w+)\.")
_WHICH = "the program does not say which of the semaphores is meant"
_ONE = "a copy and a semaphore that is counted by hand each name one semaphore"
_BARRIERS = "`plgpu.barrier_wait` and `plgpu.barrier_arrive` are for barriers"
_KINDS = "copies count on `SemaphoreType.DMA`, programs signal and wait on `SemaphoreType.REGULAR`"


def match(failure: Failure) -> bool:
    text = failure.text
    return bool(_ARRAY.match(text) or _COUNTED.match(text)) or text.startswith(_REGULAR)


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    call = copy_call(failure, sources)
    semaphore = semaphore_of(call, failure, sources) if call is not None else None
    own = f"`{semaphore.name}`" if semaphore is not None else "the semaphore"
    array, counts = _ARRAY.match(failure.text), _COUNTED.match(failure.text)
    if _is_barrier(semaphore):
        message = f"{own} is a barrier; a semaphore is needed here"
        mark, note = "no semaphore", _BARRIERS
    elif semaphore is not None and semaphore.ref is not None and _holds_values(semaphore):
        message = f"{own} holds {semaphore.ref.dtype}; a semaphore is needed here"
        mark, note = "no semaphore", _KINDS
    elif array is not None:
        many = _many(failure)
        message, mark, note = f"{own} is {many}; one of them is needed here", "takes one", _ONE
    elif counts is not None:
        verb = {"signal": "signalled", "wait": "waited for"}[counts[1]]
        message = f"{own} is a semaphore for copies; it cannot be {verb} by hand"
        mark, note = "takes a regular semaphore", _KINDS
    else:
        message = f"{own} is a regular semaphore; a copy needs one for copies"
        mark, note = "takes a semaphore for copies", _KINDS
    span = call.syntax.span(semaphore.node) if call is not None and semaphore is not None else None
    ref = semaphore.ref if semaphore is not None else None
    text = _many(failure) if array is not None else _word(failure)
    text = "" if _holds_values(semaphore) else text
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=message,
        primary=span or (call.span() if call is not None else None),
        mark=mark,
        causes=[type_label(failure, sources, ref, text)],
        notes=(note,),
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    call = copy_call(failure, sources)
    semaphore = semaphore_of(call, failure, sources) if call is not None else None
    if call is not None and _is_barrier(semaphore):
        yield from _as_barrier(call)
    if semaphore is None or _holds_values(semaphore):
        return
    if _ARRAY.match(failure.text):
        edits = semaphore.first_of_each()
        single = length_in(failure.text) == 1
        if edits and length_in(failure.text):
            text = f"take `{semaphore.name}.at[0]`"
            if single:
                yield Candidate(text, edits, mechanical=True)
            else:
                yield Candidate(text, edits, "unsafe", why=_WHICH)
        return
    yield from _typed(failure, sources, semaphore)


def _typed(failure: Failure, sources: Library, semaphore: Semaphore) -> Iterator[Candidate]:
    counts = _COUNTED.match(failure.text) is not None
    fitting = semaphore.is_only_counted if counts else semaphore.is_only_copied
    word = "REGULAR" if counts else "DMA"
    edit = with_type(failure, sources, semaphore, word) if fitting else None
    if edit is not None:
        yield Candidate(f"ask for `SemaphoreType.{word}`", (edit,), mechanical=True)


def _as_barrier(call: RefCall) -> Iterator[Candidate]:
    """The wait for a barrier, where the whole of it is one."""
    function = spelled(call.sources, call.syntax.document, PALLAS_GPU, "barrier_wait")
    is_plain = call.name == "semaphore_wait" and len(call.node.args) == 1 and not call.node.keywords
    edit = call.syntax.replace(call.node.func, function) if function and is_plain else None
    if edit is not None:
        yield Candidate(f"wait with `{function}`", (edit,), mechanical=True)


def _is_barrier(semaphore: Semaphore | None) -> bool:
    """Whether it is a barrier of a GPU, which is another thing."""
    ref = semaphore.ref if semaphore is not None else None
    return ref is not None and ref.dtype in ("barrier", "cluster_barrier")


def _holds_values(semaphore: Semaphore | None) -> bool:
    """Whether it is a ref of another kind that stands in the place of a semaphore."""
    ref = semaphore.ref if semaphore is not None else None
    return ref is not None and "sem" not in ref.dtype


def _many(failure: Failure) -> str:
    length = length_in(failure.text)
    return f"an array of {counted(length, 'semaphore')}" if length else "an array of semaphores"


def _word(failure: Failure) -> str:
    return "for copies" if _COUNTED.match(failure.text) else "a regular semaphore"
