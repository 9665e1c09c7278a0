"""Values of Mosaic GPU kernels on a machine that has no GPU.

JAX's GPU interpreter runs copies, barriers, warpgroups and warp-level regions,
which HLO interpret mode does not. It works by ordered callbacks, an effect that
a call declares when it is bound: the lowering rule would be too late.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import jax
from jax._src.pallas import mpmd, pallas_call
from jax.extend.core import Primitive

from pallas_magic.bridge.kernels import in_warp_region, inner_jaxprs


def interpretable_params(primitive: Any, params: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a call, in the GPU interpreter where nothing else can run it.

    A kernel that uses nothing of a GPU's own is left to HLO interpret mode: an
    effect would keep it out of ``jax.checkpoint``.
    """
    if params.get("interpret") or jax.default_backend() != "cpu":
        return params
    if primitive is mpmd.mpmd_map_p:
        needs_gpu = any(_is_gpu_mesh(mesh) for mesh in params["meshes"])
        needs_gpu = needs_gpu and _uses_gpu(params["meshes"], params["jaxprs"])
        return {**params, "interpret": _ours()} if needs_gpu else params
    if primitive is pallas_call.pallas_call_p and _is_gpu_call(params):
        transforms = ((),) * len(params["jaxpr"].invars)
        return {**params, "interpret": _ours(), "kernel_arg_transforms": transforms}
    return params


def is_ours(interpret: Any) -> bool:
    """Whether :func:`interpretable_params` put this ``interpret`` there."""
    return bool(_ours.cache_info().currsize) and interpret is _ours()


def why_not_interpretable(params: Mapping[str, Any]) -> str:
    """What the GPU interpreter would fail at while it runs, empty where nothing is known."""
    jaxprs = params.get("jaxprs") or (params["jaxpr"],)
    for equation in _equations(jaxprs):
        name = equation.primitive.name
        if in_warp_region(equation) and not interprets_warp_regions():
            return f"JAX {jax.__version__} cannot interpret a warp-level region"
        if name == "copy_smem_to_gmem" and equation.params.get("has_user_predicate"):
            return f"JAX {jax.__version__} cannot interpret a copy under a predicate"
        if name == "copy_smem_to_gmem" and equation.params.get("reduction_op") is not None:
            return f"JAX {jax.__version__} cannot interpret a copy that reduces"
    return ""


def interprets_warp_regions() -> bool:
    """Measured: 0.10.2 does not; 0.11.2 and 0.12.0.1 do."""
    return bool(jax.__version_info__ >= (0, 11))


def why_stopped(error: BaseException) -> str:
    """What an error of the user's code says of our interpreting, empty for any other error.

    The interpreter then forgets what the failed kernel left behind: on 0.10.2
    every later kernel fails otherwise ("Barrier remains allocated").
    """
    if not _ours.cache_info().currsize:
        return ""
    text = str(error).strip()
    if "Effects not supported" in text and "OrderedIOEffect" in text:
        return "interpret mode cannot run this kernel under `jax.checkpoint`"
    if "CpuCallback error" not in text or "mosaic_gpu" not in text:
        return ""
    forget_failed_kernel()
    return f"interpret mode cannot run this kernel: {text.splitlines()[-1].strip()}"


def forget_failed_kernel() -> None:
    """Make the GPU interpreter fit for the next kernel after one has failed in it."""
    from jax._src.pallas.mosaic_gpu.interpret import interpret_pallas_call

    forget: Any = interpret_pallas_call.reset_gpu_interpret_mode_state
    forget()


@functools.cache
def _ours() -> Any:
    from jax._src.pallas.mosaic_gpu.interpret.params import InterpretGPUParams

    return InterpretGPUParams()


def _is_gpu_mesh(mesh: Any) -> bool:
    kind = type(mesh)
    return kind.__name__ == "Mesh" and kind.__module__.endswith("mosaic_gpu.core")


def _is_gpu_call(params: Mapping[str, Any]) -> bool:
    """Whether a ``pallas_call`` is for Mosaic GPU and in a form that its interpreter takes."""
    if ".mosaic_gpu" not in type(params.get("compiler_params")).__module__:
        return False
    blocks = params["grid_mapping"].block_mappings
    whole = all(block.has_trivial_window() and not block.transforms for block in blocks)
    return whole and _uses_gpu((), (params["jaxpr"],))


def _uses_gpu(meshes: Iterable[Any], jaxprs: Iterable[Any]) -> bool:
    """Whether a kernel has a mesh's axes, memory of its own, or operations of a GPU."""
    if any(mesh.shape for mesh in meshes):
        return True
    own = _gpu_primitives()
    return any(
        equation.primitive in own
        or in_warp_region(equation)
        or (equation.primitive.name == "run_scoped" and equation.params["jaxpr"].invars)
        for equation in _equations(jaxprs)
    )


@functools.cache
def _gpu_primitives() -> frozenset[Any]:
    from jax._src.pallas.mosaic_gpu import core, primitives

    found = (*vars(core).values(), *vars(primitives).values())
    return frozenset(one for one in found if isinstance(one, Primitive))


def _equations(jaxprs: Iterable[Any]) -> Iterator[Any]:
    for jaxpr in jaxprs:
        for equation in jaxpr.eqns:
            yield equation
            yield from _equations(inner_jaxprs(equation))
