"""Compilers that end themselves, or lack what they need: nothing is lost, and one line says so."""

from __future__ import annotations

import os
import tempfile
from typing import Any

import jax.numpy as jnp
import pytest

from pallas_magic.aot.pool import Pool
from pallas_magic.aot.process import _outcome
from pallas_magic.bridge.compiling import _ptxas_log
from pallas_magic.targets import default_target
from tests.aot.kernels import add_one, job

# As XLA wrote them with its temporary files on a full disk.
FULL = (
    "RESOURCE_EXHAUSTED: /full/tempfile-1; No space left on device",
    "INTERNAL: Mosaic GPU pass pipeline failed: 'gpu.binary' op /full/2; No space left on device",
)


@pytest.mark.parametrize("text", FULL)
def test_a_full_disk_says_nothing_of_the_kernel(text: str) -> None:
    outcome = _outcome({"status": "failed", "text": f"{text}\nat some place"}, [])
    assert (outcome.status, outcome.text) == ("unavailable", text)


def test_without_a_place_for_its_dumps_a_kernel_is_compiled_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/dev/null/nowhere")
    monkeypatch.setenv("MOSAIC_GPU_DUMP_TO", "left over")
    with _ptxas_log(default_target("gpu")) as log:
        assert log is None
        assert "MOSAIC_GPU_DUMP_TO" not in os.environ


@pytest.mark.tpu_compiler
def test_what_some_compilers_crash_on_costs_the_next_kernel_nothing() -> None:
    def masked(x_ref: Any, o_ref: Any) -> None:
        keep = jnp.arange(32) < 20
        o_ref[...] = x_ref[...] * keep[:, None].astype(jnp.float32)

    pool = Pool()
    try:
        lost, kept = pool.run([job(masked, shape=(32, 128)), job(add_one)])
        assert lost.status in ("crashed", "failed")
        assert "Check failed: rem == 0" in lost.text or "shape" in lost.text
        assert kept.status == "ok"
        assert pool.run([job(add_one, "tpu:v6e")])[0].status == "ok"
    finally:
        pool.close()
