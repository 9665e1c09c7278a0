"""The refs of a ``plgpu.kernel`` that could not be traced, scratch included.

JAX gives such a kernel its scratch from inside a function of its own, so that
what it holds when tracing fails names only the operands.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator, Mapping, Sequence
from types import FrameType
from typing import Any

import jax

from pallas_magic.bridge.kernels import memory_space_word
from pallas_magic.bridge.objects import ObjectRecorder
from pallas_magic.bridge.specs import positional_names, static_shape
from pallas_magic.failure import Ref, Role

_MODULE = "jax._src.pallas.mosaic_gpu.core"
_BODY = "kernel_body"


def user_body(function: Any) -> Any:
    """The user's function inside JAX's own of a ``plgpu.kernel``, else ``function``."""
    code = getattr(function, "__code__", None)
    if code is None or (function.__module__, code.co_name) != (_MODULE, _BODY):
        return function
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=False))
    return _unwrapped(cells["body"].cell_contents) if "body" in cells else function


def gpu_traced_refs(frames: Sequence[FrameType], objects: ObjectRecorder) -> tuple[Ref, ...]:
    """The refs that the user's function was called with; empty where there is none such."""
    held = next((frame.f_locals for frame in frames if _name(frame) == _BODY), None)
    if held is None or "body" not in held:
        return ()
    call = next((frame.f_locals for frame in frames if _name(frame) == "wrapper"), {})
    return tuple(_refs(held, len(jax.tree_util.tree_leaves(call.get("operands", ()))), objects))


def _refs(held: Mapping[str, Any], inputs: int, objects: ObjectRecorder) -> Iterator[Ref]:
    names = positional_names(_unwrapped(held["body"])) or ()
    refs = held.get("refs", ())
    for position, one in enumerate(refs):
        role: Role = "input" if position < inputs else "output"
        number = position if position < inputs else position - inputs
        yield Ref(
            names[position] if position < len(names) else "",
            position,
            role,
            number,
            memory_space_word(getattr(one, "aval", one)) or "gmem",
            static_shape(one),
            str(one.dtype),
        )
    scratch = held.get("scratch_types", ())
    named = (
        sorted(scratch.items())
        if isinstance(scratch, Mapping)
        else zip(names[len(refs) :], scratch, strict=False)
    )
    leaves = [(n, leaf) for n, tree in named for leaf in jax.tree_util.tree_leaves(tree)]
    for number, (name, leaf) in enumerate(leaves):
        site = objects.site(leaf)
        yield Ref(
            name,
            len(refs) + number,
            "local",
            number,
            memory_space_word(leaf) or "smem",
            static_shape(leaf) if hasattr(leaf, "shape") else _barriers(leaf),
            str(getattr(leaf, "dtype", "barrier")),
            has_spec=site is not None,
            spec=site,
        )


def _barriers(barrier: Any) -> tuple[int, ...]:
    """The shape of the barriers that a scratch type stands for."""
    count = getattr(barrier, "num_barriers", 1)
    return tuple(map(int, count)) if isinstance(count, tuple) else (int(count),)


def _name(frame: FrameType) -> str:
    return frame.f_code.co_name if frame.f_globals.get("__name__") == _MODULE else ""


def _unwrapped(function: Any) -> Any:
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.unwrap(function) if callable(function) else function
