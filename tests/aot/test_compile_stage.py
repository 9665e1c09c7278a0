"""The compile stage within a check: proofs, several chips, resources, lost compilers."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

import pallas_magic
from pallas_magic.aot.pool import pool
from pallas_magic.aot.stage import LIMIT_VARIABLE
from pallas_magic.engine import CompilerMissing
from pallas_magic.report import Report
from pallas_magic.targets import FAMILIES
from tests.aot.cells_of import check_cell
from tests.aot.kernels import BUSY, add_one, many_tiles
from tests.bridge.cells import BAD_KERNEL, GOOD_KERNEL, Cell

_shape: Any = jax.ShapeDtypeStruct
_partition: Any = jax.sharding.PartitionSpec
TILE = _shape((8, 128), jnp.float32)
IMPORTS = """\
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

"""
INT8_PRODUCT = (
    IMPORTS
    + """\
def product(a_ref, b_ref, o_ref):
    o_ref[...] = jnp.dot(a_ref[...], b_ref[...], preferred_element_type=jnp.int32)


fn = pl.pallas_call(product, out_shape=jax.ShapeDtypeStruct((128, 128), jnp.int32))
args = [jax.ShapeDtypeStruct((128, 128), jnp.int8)] * 2
"""
)
# The store cannot be lowered; with it mended, the repetition cannot be compiled.
TWO_STAGES = (
    IMPORTS
    + """\
def total(x_ref, o_ref):
    o_ref[...] = jnp.repeat(jnp.sum(x_ref[...], axis=0), 2)


def fn(x):
    return pl.pallas_call(
        total,
        out_shape=jax.ShapeDtypeStruct((256,), jnp.float32),
        out_specs=pl.BlockSpec(memory_space=pltpu.SMEM),
    )(x)


args = [jax.ShapeDtypeStruct((16, 128), jnp.float32)]
"""
)


def call(kernel: Any, array: Any = TILE, **more: Any) -> Any:
    return pl.pallas_call(kernel, out_shape=array, **more)


def stages(report: Report) -> dict[str, str]:
    return {kernel.target: kernel.stages["compile"].status for kernel in report.kernels}


@pytest.mark.tpu_compiler
def test_one_kernel_on_every_tpu(tmp_path: Path) -> None:
    report, _ = check_cell(INT8_PRODUCT, tmp_path / "cell.py", "tpu:all")
    assert stages(report) == {
        "tpu:v4": "failed",
        "tpu:v5e": "ok",
        "tpu:v5p": "ok",
        "tpu:v6e": "ok",
        "tpu:v7x": "ok",
    }
    (diagnostic,) = report.diagnostics
    assert diagnostic.targets == ("tpu:v4",)
    assert (diagnostic.code, diagnostic.stage) == ("PM403", "compile")


@pytest.mark.tpu_compiler
def test_what_several_chips_refuse_is_said_once_without_naming_one(tmp_path: Path) -> None:
    code = TWO_STAGES.replace("pltpu.SMEM", "pltpu.VMEM")
    report, _ = check_cell(code, tmp_path / "cell.py", "tpu:all")
    (diagnostic,) = report.diagnostics
    assert len(diagnostic.targets) == len(report.kernels) == 5
    assert diagnostic.message == (
        "`total` does not compile: infer-vector-layout: unsupported shape cast"
    )


@pytest.mark.tpu_compiler
def test_a_fix_is_proved_through_the_compiler() -> None:
    cell = Cell(BAD_KERNEL + "sums(jnp.ones((8, 128)))\n", run=False)
    report = cell.watch.report()
    assert report.proving
    proved = cell.watch.prove()
    first = proved.fixes()[0]
    assert first.proof is not None
    assert (first.applicability, first.proof.compiles) == ("safe", True)


@pytest.mark.tpu_compiler
def test_a_fix_that_does_not_compile_is_not_safe(tmp_path: Path) -> None:
    report, _ = check_cell(TWO_STAGES, tmp_path / "cell.py")
    assert [diagnostic.code for diagnostic in report.diagnostics] == ["PM101"]
    offered = [(fix.applicability, fix.proof and fix.proof.compiles) for fix in report.fixes()]
    assert ("unsafe", False) in offered
    assert "safe" not in {applicability for applicability, _ in offered}


@pytest.mark.tpu_compiler
def test_the_report_stands_before_the_compiler_is_done() -> None:
    cell = Cell(GOOD_KERNEL + "twice(jnp.ones((8, 128)))\n", run=False)
    report = cell.watch.report()
    assert report.proving
    assert report.kernels[0].stages["lower"].status == "ok"
    assert report.kernels[0].stages["compile"].why == "it is being compiled"
    compiled = cell.watch.compile()
    assert not compiled.proving
    assert stages(compiled) == {"tpu:v5e": "ok"}


@pytest.mark.tpu_compiler
def test_memory_of_a_clean_kernel_is_the_compilers_number_and_the_specs() -> None:
    block = pl.BlockSpec((512, 1024), lambda i: (i, 0))

    def running(x_ref: Any, o_ref: Any, total_ref: Any) -> None:
        @pl.when(pl.program_id(0) == 0)
        def _() -> None:
            total_ref[...] = jnp.zeros_like(total_ref)

        total_ref[...] += x_ref[...]
        o_ref[...] = total_ref[...]

    array = _shape((2048, 1024), jnp.float32)
    scratch = [pltpu.VMEM((512, 1024), jnp.float32)]
    specs: Any = {"grid": (4,), "in_specs": [block], "out_specs": block}
    fn = call(running, array, scratch_shapes=scratch, **specs)
    (memory,) = pallas_magic.check(fn, array).kernels[0].resources
    mebibyte = 2**20
    assert (memory["space"], memory["used"]) == ("vmem", 10 * mebibyte)
    assert memory["limit"] == 128 * mebibyte
    assert [(one["name"], one["bytes"], one["copies"]) for one in memory["buffers"]] == [
        ("x_ref", 4 * mebibyte, 2),
        ("o_ref", 4 * mebibyte, 2),
        ("total_ref", 2 * mebibyte, 1),
    ]


@pytest.mark.tpu_compiler
def test_a_compiler_that_takes_too_long_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMIT_VARIABLE, "1")
    array = _shape(BUSY, jnp.float32)
    report = pallas_magic.check(call(many_tiles, array), array)
    assert report.ok
    (diagnostic,) = report.diagnostics
    assert (diagnostic.code, diagnostic.severity) == ("PM902", "warning")
    assert diagnostic.message == (
        "`many_tiles` could not be compiled for TPU v5e: compiling it takes more than 1 s"
    )
    assert stages(report) == {"tpu:v5e": "skipped"}
    # A worker that has just come up may take more than a second for its first kernel.
    monkeypatch.delenv(LIMIT_VARIABLE)
    assert stages(pallas_magic.check(call(add_one), TILE)) == {"tpu:v5e": "ok"}


@pytest.mark.tpu_compiler
def test_a_compiler_killed_between_two_checks_is_not_noticed() -> None:
    pallas_magic.check(call(add_one), TILE, target="tpu:v5p")
    for worker in pool()._workers.values():
        os.kill(worker.identifier, signal.SIGKILL)
    report = pallas_magic.check(call(add_one), TILE, target="tpu:v6e")
    assert stages(report) == {"tpu:v6e": "ok"}


@pytest.mark.tpu_compiler
@pytest.mark.parametrize("devices", [4, 16])
@pytest.mark.parametrize("target", ["tpu:v4", "tpu:v5e", "tpu:v7x"])
def test_a_kernel_that_talks_to_other_devices(target: str, devices: int) -> None:
    def rotated(x_ref: Any, o_ref: Any, sent: Any, received: Any) -> None:
        right = (jax.lax.axis_index("x") + 1) % jax.lax.axis_size("x")
        copy: Any = pltpu.make_async_remote_copy(
            src_ref=x_ref, dst_ref=o_ref, send_sem=sent, recv_sem=received, device_id=right
        )
        copy.start()
        copy.wait()

    anywhere = pl.BlockSpec(memory_space=pl.ANY)
    semaphores = [pltpu.SemaphoreType.DMA] * 2
    specs: Any = {"in_specs": [anywhere], "out_specs": anywhere, "scratch_shapes": semaphores}
    automatic = (jax.sharding.AxisType.Auto,)
    mesh = jax.sharding.AbstractMesh((devices,), ("x",), axis_types=automatic)
    part: Any = _partition("x")
    fn = jax.shard_map(
        call(rotated, **specs), mesh=mesh, in_specs=part, out_specs=part, check_vma=False
    )
    report = pallas_magic.check(fn, _shape((8 * devices, 128), jnp.float32), target=target)
    assert report.diagnostics == ()
    assert stages(report) == {target: "ok"}


@pytest.mark.tpu_compiler
def test_nothing_is_compiled_where_it_was_not_asked_for() -> None:
    report = pallas_magic.check(call(add_one), TILE, compile=False)
    assert report.notes == ()
    assert report.kernels[0].stages["compile"].why == "no compiler was asked for"


@pytest.mark.gpu_compiler
@pytest.mark.parametrize("target", ["gpu:a100", "gpu:h100", "gpu:b200"])
def test_one_kernel_on_each_gpu(target: str) -> None:
    from jax.experimental.pallas import triton as plt

    fn = call(add_one, compiler_params=plt.CompilerParams(num_warps=1))
    report = pallas_magic.check(fn, TILE, target=target)
    assert stages(report) == {target: "ok"}
    (registers,) = report.kernels[0].resources
    assert (registers["space"], registers["limit"]) == ("registers", 255)
    assert 8 <= registers["used"] <= 255


@pytest.mark.gpu_compiler
@pytest.mark.parametrize("target", ["gpu:h100", "gpu:b200"])
def test_registers_of_a_mosaic_kernel(target: str) -> None:
    from jax.experimental.pallas import mosaic_gpu as plgpu

    outputs = "out_type" if jax.__version_info__ >= (0, 11) else "out_shape"
    array = _shape((128, 64), jnp.float32)
    kernel: Any = plgpu.kernel
    report = pallas_magic.check(kernel(add_one, **{outputs: array}), array, target=target)
    assert stages(report) == {target: "ok"}
    (registers,) = report.kernels[0].resources
    assert (registers["space"], registers["limit"]) == ("registers", 255)
    assert 16 <= registers["used"] <= 255


@pytest.mark.parametrize("target", ["auto", *FAMILIES])
def test_a_compiler_that_must_be_there_and_is_not(target: str) -> None:
    with pytest.raises(CompilerMissing, match="python -m pallas_magic compilers install"):
        pallas_magic.check(call(add_one), TILE, target=target, compile=True)
