"""Make JAX lower for a chip that is not there."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax
from jax._src.mesh import AbstractDevice
from jax.sharding import AbstractMesh, AxisType

from pallas_magic.targets import Target


@dataclasses.dataclass(frozen=True)
class _Gpu(AbstractDevice):
    """An abstract GPU that also tells its architecture.

    ``AbstractDevice`` has no such field, and without it Mosaic GPU takes every
    chip for a Hopper (jax/_src/pallas/mosaic_gpu/lowering.py, 0.10.2 and 0.12.0.1).
    """

    compute_capability: str = ""


@functools.cache
def target_device(target: Target) -> AbstractDevice:
    """The abstract device that stands for ``target``."""
    if target.family == "tpu":
        return AbstractDevice(
            device_kind=target.device_kind, num_cores=target.num_cores, platform="tpu"
        )
    return _Gpu(
        device_kind=target.device_kind,
        num_cores=1,
        platform="gpu",
        compute_capability=target.compute_capability,
    )


@contextmanager
def target_mesh(target: Target) -> Iterator[Any]:
    """Trace and lower for ``target`` while this context is open.

    Axes are ``Auto``: JAX's default, ``Explicit``, makes valid kernels fail with
    a complaint about ``sharding.spec``.
    """
    mesh = AbstractMesh(
        (1,), ("x",), axis_types=(AxisType.Auto,), abstract_device=target_device(target)
    )
    with jax.sharding.use_abstract_mesh(mesh):
        yield mesh
