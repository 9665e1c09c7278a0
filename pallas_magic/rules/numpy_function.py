"""# PM622: NumPy, or Python, asked to work on a traced value

## What it means
A kernel calls a function of NumPy or of Python, `np.sqrt(x)` or `math.exp(x)`, with a
value that was loaded or worked out in the kernel.

## Why the hardware says no
It does not: NumPy and Python work at once, on what is there. In a kernel
there are no numbers yet; what is written down for the chip has to be written with JAX's
own functions.

## Fix
Call the function of that name in `jax.numpy`. NumPy may stay for what is known
before the kernel runs: shapes, constants.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl


def root(x_ref, o_ref):
    o_ref[...] = np.sqrt(x_ref[...])


fn = pl.pallas_call(root, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl


def root(x_ref, o_ref):
    o_ref[...] = jnp.sqrt(x_ref[...])


fn = pl.pallas_call(root, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Fix safety
JAX's function does what NumPy's does, in the types of JAX: float32 stays
float32. It is safe.

## References
- JAX documentation, "How to think in JAX": NumPy and `jax.numpy`.
"""

from __future__ import annotations

from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic
from pallas_magic.rules._refs.expressions import failing
from pallas_magic.rules._refs.functions import called_in_jax, function_of_module, whose
from pallas_magic.rules._specs.wording import diagnostic
from pallas_magic.source.document import Library

code = "PM622"
name = "numpy-function"

_ERROR = "TracerArrayConversionError"
_NUMBER = "Only scalar arrays can be converted to Python scalars"


def match(failure: Failure) -> bool:
    known = failure.error_type == _ERROR or failure.text.startswith(_NUMBER)
    return failure.stage == "trace" and known


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    found = failing(failure, sources)
    function = function_of_module(found, sources)
    if found is not None and function is not None:
        subject = f"`{found.syntax.text(function)}` is {whose(found, function, sources)}, which"
    else:
        subject = "Python" if failure.text.startswith(_NUMBER) else "this is NumPy's, which"
    needs = "a number" if failure.text.startswith(_NUMBER) else "an array"
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=f"{subject} needs {needs} now; the kernel's are known when it runs",
        primary=found.span() if found is not None else None,
        mark="a traced value",
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    found = failing(failure, sources)
    function = function_of_module(found, sources)
    called = None
    if found is not None and function is not None:
        called = called_in_jax(found, function, sources)
    if called is not None:
        yield Candidate(f"call `{called[0]}`", called[1], mechanical=True)
