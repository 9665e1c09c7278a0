"""Kernels for the tests: one with the extension, shared, and fresh ones where state matters."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.ipython.kernel import IMPORTS, LOAD, Kernel, running_kernel


@pytest.fixture(scope="session")
def _shared() -> Iterator[Kernel]:
    with running_kernel() as kernel:
        kernel.good(LOAD)
        kernel.good(IMPORTS)
        yield kernel


@pytest.fixture
def kernel(_shared: Kernel) -> Kernel:
    """The shared kernel, the extension loaded and JAX imported, no names of other tests in it."""
    _shared.good("%reset -f -s")
    _shared.good(IMPORTS)
    return _shared


@pytest.fixture
def fresh() -> Iterator[Kernel]:
    """A kernel of its own, nothing loaded."""
    with running_kernel() as kernel:
        yield kernel
