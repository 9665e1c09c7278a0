"""Make JAX lower for a chip that is not there."""

from __future__ import annotations

import dataclasses
import functools
import importlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import jax
from jax._src import hardware_utils, xla_bridge
from jax._src.mesh import AbstractDevice
from jax.sharding import AbstractMesh, AxisType

from pallas_magic.bridge.patches import replaced_attribute, replaced_item
from pallas_magic.targets import Target, target_for_device

_CPU_KIND = "cpu"


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
def target_mesh(target: Target) -> Iterator[None]:
    """Trace and lower for ``target`` while this context is open.

    The mesh has no axes, only a device: it never meets a mesh of the user's.
    """
    mesh = AbstractMesh((), (), axis_types=(), abstract_device=target_device(target))
    with jax.sharding.use_abstract_mesh(mesh):
        yield


def mesh_for(mesh: Any, target: Target) -> Any:
    """The user's ``mesh`` with ``target`` for its devices."""
    return _automatic(mesh, target_device(target))


def automatic(mesh: Any) -> Any:
    """The user's ``mesh`` as it is, devices and all.

    Its axes are ``Auto``: JAX's default, ``Explicit``, makes valid kernels fail
    with a complaint about ``sharding.spec``.
    """
    return _automatic(mesh, mesh.abstract_device)


def _automatic(mesh: Any, device: Any) -> Any:
    return AbstractMesh(
        mesh.axis_sizes,
        mesh.axis_names,
        axis_types=(AxisType.Auto,) * len(mesh.axis_names),
        abstract_device=device,
    )


@contextmanager
def as_if_on(target: Target, always: bool) -> Iterator[None]:
    """Let traced code see ``target`` where this machine has no accelerator, or ``always``.

    The user's code may still configure JAX, so that its devices must not be
    asked for here.
    """
    with ExitStack() as stack:
        stack.enter_context(chip_queries_answered(target))
        if always or not _may_have_accelerator():
            stack.enter_context(target_mesh(target))
        yield


def _may_have_accelerator() -> bool:
    if xla_bridge.backends_are_initialized():
        return machine_target() is not None
    tpus: Any = hardware_utils.num_available_tpu_chips_and_device_id
    return tpus()[0] > 0 or hardware_utils.has_visible_nvidia_gpu()


@contextmanager
def chip_queries_answered(target: Target) -> Iterator[None]:
    """Answer ``pltpu.get_tpu_info()`` on a machine without a TPU with ``target``'s data.

    Code under a mesh of the user's asks that mesh, and equations keep the mesh
    they were traced under: :func:`target_mesh` reaches neither. JAX remembers its answer
    by trace context, which does not tell two targets apart: it is forgotten
    before and after.
    """
    from jax._src.pallas.mosaic import tpu_info

    version = tpu_info.chip_version_from_device_kind(target.device_kind)
    if target.family != "tpu" or version is None:
        yield
        return

    def chip() -> Any:
        return tpu_info.get_tpu_info_for_chip(version, target.num_cores)

    with replaced_item(tpu_info.registry, _CPU_KIND, chip):
        tpu_info.get_tpu_info.cache_clear()
        try:
            yield
        finally:
            tpu_info.get_tpu_info.cache_clear()


@contextmanager
def architecture_answered(target: Target) -> Iterator[None]:
    """Let Mosaic GPU lower for ``target`` under whatever mesh, which it would ask otherwise."""
    if target.family != "gpu":
        yield
        return
    architecture = tuple(map(int, target.compute_capability.split(".")))
    with ExitStack() as stack:
        # In core on 0.10.2, in utils on 0.11.2 and 0.12.0.1.
        for name in ("core", "utils"):
            module = importlib.import_module(f"jax.experimental.mosaic.gpu.{name}")
            if hasattr(module, "_infer_arch"):
                answer = replaced_attribute(module, "_infer_arch", lambda: architecture)
                stack.enter_context(answer)
        yield


def machine_target() -> Target | None:
    """The target of the accelerator that this machine's JAX runs on."""
    device = jax.devices()[0]
    if device.platform == "tpu":
        return target_for_device("tpu", device.device_kind)
    if device.platform in ("gpu", "cuda"):
        return target_for_device("gpu", device.device_kind)
    return None
