"""No false alarm: the kernels that JAX ships are right, and a check says so."""

from __future__ import annotations

import functools

import pytest
from jax.experimental.pallas.ops.tpu import matmul

import pallas_magic
from tests.corpus import gpu_kernels, tpu_kernels
from tests.corpus.subject import Subject, struct

pytestmark = pytest.mark.filterwarnings("ignore:The Pallas Triton backend:DeprecationWarning")


@pytest.mark.parametrize("subject", [*tpu_kernels.subjects(), *gpu_kernels.subjects()], ids=str)
def test_kernel_of_jax_is_clean(subject: Subject) -> None:
    report = pallas_magic.check(
        subject.function, *subject.arguments, target=subject.target, verify=False
    )
    assert report.diagnostics == ()
    assert {kernel.stages["lower"].status for kernel in report.kernels} == {"ok"}, report.kernels


def test_wrong_use_of_such_a_kernel_is_found() -> None:
    """A block that the hardware cannot have, by the same way."""
    square = struct("bf16", 2048, 2048)
    product = functools.partial(matmul.matmul, block_shape=(512, 100), block_k=512)
    report = pallas_magic.check(product, square, square, target="tpu", verify=False)
    assert [kernel.stages["lower"].status for kernel in report.kernels] == ["failed"]
