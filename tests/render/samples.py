"""Reports as the engine makes them, for all tests of what people see."""

from __future__ import annotations

import dataclasses

from pallas_magic.report import (
    Diagnostic,
    Fix,
    FixSet,
    KernelReport,
    Label,
    Proof,
    Report,
    Source,
    Span,
    StageResult,
    TextEdit,
)

HISTOGRAM_CELL = """\
%%pallas_check --target tpu:v5e
import jax, jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

def histogram_kernel(x_ref, counts_ref, total_ref):
    block = x_ref[...]
    per_lane = jnp.sum((block > 0).astype(jnp.int32), axis=0)
    counts_ref[...] = per_lane
    total_ref[0, 0] = jnp.sum(per_lane)

@jax.jit
def histogram(x):
    return pl.pallas_call(
        histogram_kernel,
        out_specs=(pl.BlockSpec(memory_space=pltpu.SMEM), pl.BlockSpec(memory_space=pltpu.VMEM)),
        out_shape=(
            jax.ShapeDtypeStruct((128,), jnp.int32),
            jax.ShapeDtypeStruct((1, 1), jnp.int32),
        ),
    )(x)

histogram(jnp.ones((8, 128)))
"""
CELL = Source("cell", "In[4]", HISTOGRAM_CELL, "c0ffee00-0000-4000-8000-000000000004")

PAGES = {
    "PM101": """\
# PM101: a vector stored to SMEM

## What it means
A ref in SMEM takes **one scalar** at a time; the store hands it a vector.

## Example
```python
counts_ref[...] = per_lane
```

## Use instead
- arrays in VMEM
- SMEM for scalars and PRNG keys, see [the guide](https://docs.jax.dev/en/latest/pallas/)
"""
}

STORE_ERROR = """\
ValueError: Cannot store a vector to SMEM: expected a scalar value, got int32[128].
The MLIR operation involved:
  %12 = "vector.store"(%9, %arg1) : (vector<128xi32>, memref<128xi32, #tpu.memory_space<smem>>)"""


def span_of(text: str, key: str, needle: str, nth: int = 0) -> Span:
    """The span of the ``nth`` occurrence of ``needle``, which lies on one line."""
    start = -1
    for _ in range(nth + 1):
        start = text.index(needle, start + 1)
    line = text.count("\n", 0, start) + 1
    col = start - (text.rfind("\n", 0, start) + 1)
    return Span(key, line, col, line, col + len(needle))


def kernel(
    name: str,
    target: str = "tpu:v5e",
    lower: StageResult | None = None,
    seconds: float = 0.014,
) -> KernelReport:
    """A kernel traced and lowered, not compiled."""
    return KernelReport(
        name,
        target,
        {
            "trace": StageResult("ok"),
            "lower": lower or StageResult("ok", seconds),
            "compile": StageResult("skipped", 0.0, "the compile stage comes later"),
        },
    )


FAILED = StageResult("failed", 0.021)
PARTLY = Proof(gone=True, lowers=False, same_values=True, remaining=1)
SAFE = Proof(gone=True, lowers=True, same_values=True)


def _edit(needle: str, new_text: str, nth: int = 0) -> TextEdit:
    return TextEdit(span_of(HISTOGRAM_CELL, "cell-4", needle, nth), new_text)


def histogram() -> Report:
    """The two memory-space errors of one kernel, all proved."""
    smem = span_of(HISTOGRAM_CELL, "cell-4", "pltpu.SMEM")
    vmem = span_of(HISTOGRAM_CELL, "cell-4", "pltpu.VMEM")
    counts = Diagnostic(
        code="PM101",
        name="smem-vector-store",
        severity="error",
        stage="lower",
        targets=("tpu:v5e",),
        kernel="histogram_kernel",
        message=(
            "`counts_ref` is in SMEM, which holds scalars; this stores an `int32[128]` vector"
        ),
        primary=span_of(HISTOGRAM_CELL, "cell-4", "counts_ref[...]"),
        primary_text="vector store",
        labels=(Label(smem, "put in SMEM here"),),
        notes=("SMEM feeds the scalar core one value at a time; arrays live in VMEM",),
        fixes=(
            Fix(
                1,
                "Move `counts_ref` to VMEM",
                "safe",
                (TextEdit(smem, "pltpu.VMEM"),),
                PARTLY,
            ),
            Fix(
                2,
                "Store the 128 counts one scalar at a time",
                "safe",
                (
                    _edit(
                        "counts_ref[...] = per_lane",
                        "for i in range(128):\n        counts_ref[i] = per_lane[i]",
                    ),
                ),
                PARTLY,
            ),
        ),
        original=STORE_ERROR,
    )
    total = Diagnostic(
        code="PM102",
        name="vmem-scalar-store",
        severity="error",
        stage="lower",
        targets=("tpu:v5e",),
        kernel="histogram_kernel",
        message="`total_ref` is in VMEM, which takes vectors; this stores one scalar",
        primary=span_of(HISTOGRAM_CELL, "cell-4", "total_ref[0, 0]"),
        primary_text="scalar store",
        labels=(Label(vmem, "put in VMEM here"),),
        fixes=(
            Fix(
                3,
                "Move `total_ref` to SMEM",
                "safe",
                (TextEdit(vmem, "pltpu.SMEM"),),
                PARTLY,
            ),
            Fix(
                4,
                "Store a one-element vector instead",
                "unsafe",
                (
                    _edit("total_ref[0, 0]", "total_ref[...]"),
                    _edit("jnp.sum(per_lane)", "jnp.sum(per_lane, keepdims=True)[None]"),
                ),
                Proof(gone=True, lowers=False, remaining=1, why="interpret mode took too long"),
            ),
        ),
        original="ValueError: Cannot store scalars to VMEM",
    )
    both = (counts.fixes[0].edits[0], total.fixes[0].edits[0])
    return Report(
        kernels=(kernel("histogram_kernel", lower=FAILED),),
        diagnostics=(counts, total),
        sources={"cell-4": CELL},
        combined=FixSet((1, 3), "safe", both, SAFE),
    )


def proving() -> Report:
    """The same report before its fixes are proved."""
    report = histogram()
    diagnostics = tuple(
        dataclasses.replace(
            diagnostic,
            fixes=tuple(dataclasses.replace(fix, proof=None) for fix in diagnostic.fixes),
        )
        for diagnostic in report.diagnostics
    )
    return dataclasses.replace(report, diagnostics=diagnostics, combined=None, proving=True)
