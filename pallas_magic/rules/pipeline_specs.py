"""# PM219: a pipeline whose parts do not go together

## What it means
`emit_pipeline` runs a function over blocks of its refs. It needs one spec a ref, one
parameter of the function a block, one argument of each index map an axis of its grid,
one result of each index map an axis of its block, and buffers for the blocks that it
holds on to.

## Why the hardware says no
From these the copies of all steps are worked out while the kernel is traced. Where
they disagree there is nothing that could be copied.

## Fix
- One spec for each ref, inputs first, then outputs.
- `plgpu.emit_pipeline` calls `body(indices, x_smem, o_smem)`: the indices of the step
  come first. `pltpu.emit_pipeline` calls `body(x_vmem, o_vmem)`; the step's number is
  `pl.program_id(0)`.
- An index map takes as many arguments as the pipeline's own `grid` has axes, and
  returns as many as the block has.
- `max_concurrent_steps` is larger than every `delay_release`.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu


def doubled(x_gmem, o_gmem):
    def step(x_smem, o_smem):
        o_smem[...] = x_smem[...] * 2.0

    rows = plgpu.BlockSpec((64, 64), lambda i: (i, 0))
    plgpu.emit_pipeline(step, grid=(4,), in_specs=[rows], out_specs=[rows])(x_gmem, o_gmem)


fn = plgpu.kernel(doubled, out_type=jax.ShapeDtypeStruct((256, 64), jnp.float32))
args = [jax.ShapeDtypeStruct((256, 64), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import mosaic_gpu as plgpu


def doubled(x_gmem, o_gmem):
    def step(indices, x_smem, o_smem):
        o_smem[...] = x_smem[...] * 2.0

    rows = plgpu.BlockSpec((64, 64), lambda i: (i, 0))
    plgpu.emit_pipeline(step, grid=(4,), in_specs=[rows], out_specs=[rows])(x_gmem, o_gmem)


fn = plgpu.kernel(doubled, out_type=jax.ShapeDtypeStruct((256, 64), jnp.float32))
args = [jax.ShapeDtypeStruct((256, 64), jnp.float32)]
```

## Fix safety
A parameter that a pipeline fills, and that the function does not use, changes no
value; nor do more buffers. Parameters are taken away only where nothing reads them.

## References
- JAX documentation, "Software pipelining" for Mosaic GPU; "Pipelining" for TPU.
- PM203 and PM204, which are this for `pl.pallas_call`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic
from pallas_magic.rules._specs.parameters import (
    add_parameters,
    free_names,
    remove_parameters,
    without_parameters,
)
from pallas_magic.rules._specs.pipeline_words import (
    DELAY,
    Told,
    given_to_body,
    told_of,
    wrong_maps,
)
from pallas_magic.rules._specs.pipelines import Pipeline, pipeline_of
from pallas_magic.rules._specs.wording import diagnostic
from pallas_magic.source.calls import keyword
from pallas_magic.source.document import Library

code = "PM219"
name = "pipeline-specs"

_PIPELINES = ("jax.pallas.mosaic_gpu.pipeline.", "jax.pallas.mosaic.pipeline.")
_ARGUMENTS = re.compile(r"\(\) (takes \d+|missing \d+ required) positional argument")
_LENGTHS = re.compile(r"(safe_map|zip)\(\) argument 2 is (longer|shorter) than argument 1")
_NO_STEPS = "All elements in the grid must be strictly positive"
_INDEX_NAMES = ("indices", "step_indices", "grid_indices")


def match(failure: Failure) -> bool:
    return bool(_kind(failure))


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    kind, pipeline = _kind(failure), pipeline_of(failure, sources)
    told = told_of(kind, failure, pipeline) if pipeline is not None else None
    notes = []
    if told is None:
        message = f"the parts of a pipeline of `{failure.kernel}` do not go together"
        told = Told(message, None, "do not go together")
        notes = [failure.text.partition("\n")[0]]
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=told.message,
        primary=told.primary,
        mark=told.mark,
        causes=told.causes,
        notes=notes,
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    pipeline = pipeline_of(failure, sources)
    if pipeline is None:
        return
    match _kind(failure):
        case "body":
            yield from _body_fixes(failure, pipeline)
        case "arguments":
            yield from _argument_fixes(pipeline)
        case "delay":
            yield from _delay_fixes(failure, pipeline)


def _kind(failure: Failure) -> str:
    """What disagrees: "body", "arguments", "results", "count", "steps", "delay" or ""."""
    raised, text = failure.raised_in, failure.text
    if not any(one.startswith(_PIPELINES) for one in failure.passed):
        return ""
    own = raised.startswith(_PIPELINES)
    if failure.error_type == "TypeError" and _ARGUMENTS.search(text):
        if raised == "jax.pallas.core.__call__":
            return "arguments"
        return "body" if own and raised.endswith(".loop_body") else ""
    if own and _LENGTHS.match(text) and raised.endswith((".compute_gmem_slice", ".<genexpr>")):
        return "results"
    if own and raised.endswith(".pipeline") and text.startswith("safe_zip() argument 1 has length"):
        return "count"
    if raised == "jax.tree_util.tree_map" and text.startswith("pytree structure error"):
        return "count"
    if own and text.startswith(_NO_STEPS):
        return "steps"
    return "delay" if own and DELAY.match(text) else ""


def _body_fixes(failure: Failure, pipeline: Pipeline) -> Iterator[Candidate]:
    body, refs = pipeline.body(), pipeline.given()
    if body is None or refs is None:
        return
    taken, given = len(body.parameters), given_to_body(failure, refs)
    first = body.parameters[0].arg if body.parameters else ""
    if given == refs + 1 and taken == refs:
        names = free_names(body.node, _INDEX_NAMES, 1)
        edit = add_parameters(body.syntax, body.node, names, 0) if names else None
        if edit is not None:
            yield Candidate(f"take `{names[0]}` first", (edit,), mechanical=True)
    if given == refs and taken == refs + 1 and not body.reads(first):
        edits = without_parameters(body.syntax, body.node, body.parameters[:1])
        if edits:
            yield Candidate(f"leave `{first}` out, which nothing reads", edits, mechanical=True)


def _argument_fixes(pipeline: Pipeline) -> Iterator[Candidate]:
    """Arguments beyond the grid's axes that nothing reads."""
    grid, edits = pipeline.grid() or [], []
    for index_map in wrong_maps(pipeline):
        extra = index_map.parameters[len(grid) :]
        if not extra or any(index_map.reads(one.arg) for one in extra):
            return
        edits.append(remove_parameters(index_map.syntax, index_map.node, len(extra)))
    known = tuple(dict.fromkeys(edit for edit in edits if edit is not None))
    if known and None not in edits:
        yield Candidate("take away the parameters that are too many", known, mechanical=True)


def _delay_fixes(failure: Failure, pipeline: Pipeline) -> Iterator[Candidate]:
    told, given = DELAY.match(failure.text), keyword(pipeline.node, "max_concurrent_steps")
    if told is None or given is None or not isinstance(given.value, ast.Constant):
        return
    steps = max(int(one) for one in told[2].split(",")) + 1
    edit = pipeline.build.syntax.replace(given.value, str(steps))
    if edit is not None:
        yield Candidate(f"set buffers aside for {steps} steps", (edit,), mechanical=True)
