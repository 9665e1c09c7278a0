"""Reports of several chips, and of what kernels take of their memories."""

from __future__ import annotations

import dataclasses
from typing import Any

from pallas_magic.report import Diagnostic, KernelReport, Report, Stage, StageResult
from tests.render.samples import CELL, FAILED, HISTOGRAM_CELL, histogram, span_of

TPUS = ("tpu:v4", "tpu:v5e", "tpu:v6e", "tpu:v7x")
GPUS = ("gpu:a100", "gpu:h100")
FOR_TPUS = StageResult("skipped", 0.0, "it is written for TPUs")
OK = StageResult("ok", 0.25)
BLOCK = 512 * 512 * 4


def kernel(
    name: str, target: str, lower: StageResult, compile_: StageResult, *resources: Any
) -> KernelReport:
    stages: dict[Stage, StageResult] = {
        "trace": StageResult("ok"),
        "lower": lower,
        "compile": compile_,
    }
    return KernelReport(name, target, stages, resources)


def buffer(name: str, size: int, copies: int = 1) -> dict[str, Any]:
    return {"name": name, "type": "float32[512, 512]", "bytes": size, "copies": copies}


def vmem(limit: int, used: int, *buffers: dict[str, Any]) -> dict[str, Any]:
    """An entry of ``KernelReport.resources`` as the compile stage writes it."""
    return {
        "space": "vmem",
        "limit": limit,
        "used": used,
        "unit": "bytes",
        "buffers": list(buffers),
    }


def registers(used: int) -> dict[str, Any]:
    return {"space": "registers", "limit": 255, "used": used, "unit": "a thread", "buffers": []}


def found(code: str, name: str, kernel_name: str, targets: tuple[str, ...]) -> Diagnostic:
    """A diagnostic of the compile stage without fixes."""
    return Diagnostic(
        code=code,
        name=name,
        severity="error",
        stage="compile",
        targets=targets,
        kernel=kernel_name,
        message="an `int8` matmul, which TPU v4 has no unit for",
        primary=span_of(HISTOGRAM_CELL, "cell-4", "jnp.sum(per_lane)"),
        primary_text="this product",
    )


def chips() -> Report:
    """Six chips: one kernel that one of them lacks, one that none takes, one that spills."""
    products = [
        kernel("product", target, OK, FAILED if target == "tpu:v4" else OK) for target in TPUS
    ]
    histograms = [
        kernel("histogram_kernel", target, FAILED, StageResult("skipped", 0.0, "it does not lower"))
        for target in TPUS
    ]
    others = [
        kernel(name, target, FOR_TPUS, FOR_TPUS)
        for name in ("product", "histogram_kernel")
        for target in GPUS
    ]
    spilling = [kernel("softmax", target, OK, OK, registers(168)) for target in GPUS * 2]
    counts, total = (
        dataclasses.replace(one, targets=TPUS, fixes=one.fixes[:1])
        for one in histogram().diagnostics
    )
    spills = dataclasses.replace(
        found("PM803", "register-spills", "softmax", ("gpu:h100",)),
        severity="warning",
        message="`softmax` spills registers: 464 bytes of stores a thread",
        primary_text="spills registers",
    )
    product = found("PM403", "matmul-types", "product", ("tpu:v4",))
    return Report(
        kernels=(*products, *histograms, *others, *spilling),
        diagnostics=(product, counts, dataclasses.replace(total, code="PM101"), spills),
        sources={"cell-4": CELL},
    )


def clean_chips() -> Report:
    """Two kernels that compile for all TPUs, their memory told, and are skipped elsewhere."""
    blocks = [buffer("x_tile_ref", BLOCK, 2), buffer("acc_ref", BLOCK)]
    kernels = []
    for target in TPUS:
        limit = (16 if target == "tpu:v4" else 128) << 20
        kernels.append(kernel("matmul", target, OK, OK, vmem(limit, 2 * BLOCK + 300_000, *blocks)))
        kernels.append(kernel("scale", target, OK, OK, vmem(limit, 98_304)))
    for target in GPUS:
        kernels += [kernel(name, target, FOR_TPUS, FOR_TPUS) for name in ("matmul", "scale")]
    return Report(tuple(kernels), (), {})


def memory() -> Report:
    """One kernel on one chip that takes nearly all of its VMEM."""
    blocks = [buffer("x_ref", 14 * BLOCK, 2), buffer("", BLOCK)]
    taken = vmem(16 << 20, 15 * BLOCK + 81_920, *blocks)
    return Report((kernel("matmul_kernel", "tpu:v4", OK, OK, taken),), (), {})


ALL = (chips, clean_chips, memory)
