"""Run a vendor's compiler in this process, for a chip that is not there.

Only a worker imports this: compilers abort the process they run in.
"""

from __future__ import annotations

import functools
import importlib
import math
import os
import re
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax._src import compiler
from jax._src.interpreters import mlir
from jax.experimental import topologies
from jaxlib import xla_client
from jaxlib.mlir import ir

from pallas_magic.bridge.gpu_configs import gpu_target_config
from pallas_magic.bridge.ptxas import ptxas_numbers
from pallas_magic.targets import Target

_TPU_SYSTEMS = {
    "tpu:v4": "v4",
    "tpu:v5e": "v5e",
    "tpu:v5p": "v5p",
    "tpu:v6e": "v6e",
    "tpu:v7x": "tpu7x",
}
_FLAT = ("2x2", "2x4", "4x4", "4x8", "8x8", "8x16", "16x16")
_CUBIC = ("2x2x1", "2x2x2", "2x2x4", "2x4x4", "4x4x4", "4x4x8")
_SHAPES = {"v5e": _FLAT, "v6e": _FLAT}
_MESH_SIZE = re.compile(r'"[^"]*"=(\d+)')
_USED_MEMORY = re.compile(
    r'custom_call_target="tpu_custom_call".*"used_scoped_memory_configs":(\[[^\]]*\])'
)
_MEMORY = re.compile(r'"memory_space":"(\d+)","offset":"\d+","size":"(\d+)"')

_loading = threading.Lock()


class CompileFailed(Exception):
    """What the compiler said against a module."""


def compile_only_devices(target: Target, count: int = 1) -> list[Any]:
    """Devices of ``target`` that can be compiled for and not be run on."""
    # The first one loads the compiler, which two threads must not do at once.
    with _loading:
        return _devices(target, count)


@functools.cache
def _devices(target: Target, count: int) -> list[Any]:
    if target.family == "gpu":
        topology = topologies.get_topology_desc(
            platform="cuda", topology=f"1x1x{count}", target_config=gpu_target_config(target)
        )
        return list(topology.devices)
    system = _TPU_SYSTEMS[target.name]
    for shape in _SHAPES.get(system, _CUBIC):
        devices = topologies.get_topology_desc(f"{system}:{shape}", platform="tpu").devices
        if len(devices) >= count:
            return list(devices[:count])
    raise ValueError(f"no {target.title} system of {count} devices is known")


def prepare(target: Target) -> None:
    """Load the compiler for ``target``; raises where it does not load."""
    if target.family == "gpu":
        # It tells the compiler where its run-time library and ptxas are.
        importlib.import_module("jax.experimental.mosaic.gpu")
    compile_only_devices(target)


def compile_module(module: bytes, target: Target) -> Mapping[str, Any]:
    """Compile a module for ``target``; raises :class:`CompileFailed` with the compiler's text."""
    with mlir.make_ir_context(), _ptxas_log(target) as log:
        parsed = ir.Module.parse(module)
        devices = compile_only_devices(target, _partitioned(parsed))
        try:
            executable = devices[0].client.compile(
                parsed,
                executable_devices=xla_client.DeviceList(tuple(devices)),
                compile_options=_options(devices),
            )
        except jax.errors.JaxRuntimeError as error:
            raise CompileFailed(str(error)) from error
        return _scoped_memory(executable) if target.family == "tpu" else _registers(log)


def _partitioned(module: ir.Module) -> int:
    """How many devices a module is for, told by its mesh, and from now on by itself too.

    A kernel of a ``shard_map`` is lowered under a mesh of one device of ours,
    with the user's mesh written into the module.
    """
    meshes = [str(one) for one in module.body.operations if one.operation.name == "sdy.mesh"]
    sizes = [[int(size) for size in _MESH_SIZE.findall(mesh)] for mesh in meshes]
    count = max((math.prod(axes) for axes in sizes), default=1)
    partitions = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), count)
    module.operation.attributes["mhlo.num_partitions"] = partitions
    return count


def _options(devices: list[Any]) -> Any:
    return compiler.get_compile_options(
        num_replicas=1,
        num_partitions=len(devices),
        device_assignment=np.arange(len(devices)).reshape(1, -1),
        backend=devices[0].client,
    )


@contextmanager
def _ptxas_log(target: Target) -> Iterator[Path | None]:
    """A folder that Mosaic GPU writes what ptxas said to, ``None`` where there is no place."""
    if target.family != "gpu":
        yield None
        return
    try:
        folder = tempfile.TemporaryDirectory(prefix="pallas-magic-", ignore_cleanup_errors=True)
    except OSError:  # nowhere to write: the kernel is compiled all the same
        os.environ.pop("MOSAIC_GPU_DUMP_TO", None)
        yield None
        return
    with folder:
        os.environ.update(MOSAIC_GPU_DUMP_TO=folder.name, MOSAIC_GPU_DUMP_PTXAS="1")
        yield Path(folder.name)


def _registers(log: Path | None) -> Mapping[str, Any]:
    """What ptxas said of a Mosaic GPU kernel: registers a thread and bytes spilled."""
    texts = [file.read_text(errors="replace") for file in log.glob("*.ptxas")] if log else []
    return ptxas_numbers("".join(texts))


def _scoped_memory(executable: Any) -> Mapping[str, Any]:
    """How much of each memory space the kernel takes, by XLA's number of the space."""
    texts = [module.to_string() for module in executable.hlo_modules()]
    used: dict[str, int] = {}
    for found in _USED_MEMORY.finditer("".join(texts)):
        for space, size in _MEMORY.findall(found[1]):
            used[space] = max(int(size), used.get(space, 0))
    return {"scoped_memory": used} if used else {}
