"""Every Pallas call that is traced while a recorder is open.

Calls are taken where they are bound, with the frame of ``pallas_call``'s (or
``kernel``'s) inner function still alive: it holds the kernel, the grid spec and
the trees that a proof needs later.
"""

from __future__ import annotations

import dataclasses
import itertools
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any

import jax
from jax._src.interpreters import partial_eval
from jax._src.pallas import core, mpmd, pallas_call
from jax._src.state.types import AbstractRef
from jax.experimental.xla_metadata import set_xla_metadata

from pallas_magic.bridge.frames import place_of, places_around, traceback_places, user_frames
from pallas_magic.bridge.objects import BuiltObject, ObjectRecorder, built_in
from pallas_magic.bridge.patches import replaced_attribute
from pallas_magic.failure import Site
from pallas_magic.source.document import Place

_numbers = itertools.count()


@dataclasses.dataclass(frozen=True, eq=False)
class Built:
    """What the inner function of a Pallas call held when it bound its primitive.

    ``locals`` are its local and free variables by JAX's names; ``gpu`` those of
    ``plgpu.kernel``'s wrapper around it, if there is one. ``site`` is the
    ``pl.pallas_call(...)`` expression.
    """

    locals: Mapping[str, Any]
    gpu: Mapping[str, Any] | None
    site: Site | None


@dataclasses.dataclass(frozen=True, eq=False)
class Call:
    """One bound Pallas call.

    ``params`` and ``avals`` are the primitive's. ``parent`` is the call as the
    user wrote it when this one came out of a transformation (vmap, jvp) of it.
    ``applied`` is the user's expression that called the kernel, ``caller`` the
    frame state in which it ran, and ``around`` are the user's calls that led to
    it, itself first, as far as no code of JAX's lies between.
    """

    primitive: Any
    params: Mapping[str, Any]
    avals: tuple[Any, ...]
    mesh: Any
    applied: Place | None
    built: Built | None
    parent: Call | None = None
    caller: BuiltObject | None = None
    around: tuple[Place, ...] = ()

    @property
    def is_pallas_call(self) -> bool:
        return self.primitive is pallas_call.pallas_call_p

    @property
    def jaxprs(self) -> tuple[Any, ...]:
        """The kernel's jaxprs, one for ``pallas_call``, one a mesh for ``kernel``."""
        if self.is_pallas_call:
            return (self.params["jaxpr"],)
        return tuple(self.params["jaxprs"])

    @property
    def name(self) -> str:
        """What the user calls this kernel."""
        named = self.params.get("name")
        return str(named or self.jaxprs[0].debug_info.func_name or "kernel")

    def recorded(self) -> Call:
        """The call whose inner frame was seen: this one, or the one it came from."""
        if self.built is None and self.parent is not None:
            return self.parent.recorded()
        return self


class Recorder:
    """Collects calls; ``on_call`` runs after each and may raise to stop the user's code.

    ``rewrite`` makes the parameters that are bound from those that were asked
    for; the recorded call has the latter.
    """

    def __init__(
        self,
        on_call: Callable[[Call], None] | None = None,
        rewrite: Callable[[Any, dict[str, Any]], dict[str, Any]] | None = None,
    ) -> None:
        self.objects = ObjectRecorder()
        self._on_call = on_call
        self._rewrite = rewrite
        self._seen: list[Call] = []
        self._superseded: set[int] = set()
        self.faults: list[Exception] = []
        self._thread = threading.get_ident()
        self._open: list[bool] = []
        self._builds: dict[int, Site | None] = {}
        self._kept: list[Any] = []

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls that would reach a compiler, in order, each once."""
        discharged = {_definition(call) for call in self._seen if not has_ref_operands(call)}
        kept = [
            call
            for call in self._seen
            if id(call) not in self._superseded
            and not is_warp_region(call)
            and not (has_ref_operands(call) and _definition(call) in discharged)
        ]
        return tuple({_identity(call): call for call in reversed(kept)}.values())[::-1]

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Record while this context is open."""
        with ExitStack() as stack:
            stack.enter_context(self.objects.installed())
            for primitive in kernel_primitives():
                bind = self._recording_bind(primitive)
                stack.enter_context(replaced_attribute(primitive, "bind", bind))
            for module, name in ((pallas_call, "_pallas_call"), (mpmd, "_mpmd_map")):
                build = self._noting_build(getattr(module, name))
                stack.enter_context(replaced_attribute(module, name, build))
            # Part of every cache key: what was traced before is traced again,
            # and what is traced now is found by nobody else.
            metadata: Any = set_xla_metadata
            stack.enter_context(metadata(pallas_magic=next(_numbers)))
            yield

    def _recording_bind(self, primitive: Any) -> Callable[..., Any]:
        original = primitive.bind

        def bind(*args: Any, **params: Any) -> Any:
            if threading.get_ident() != self._thread:
                return original(*args, **params)
            call = self._noted(primitive, args, params, sys._getframe(1))
            if call is None:
                return original(*args, **params)
            with self._inside(call):
                result = original(*args, **self._rewritten(primitive, params))
            is_seen_whole = id(call) not in self._superseded and not is_warp_region(call)
            if self._on_call is not None and is_seen_whole:
                self._on_call(call)
            return result

        return bind

    def _rewritten(self, primitive: Any, params: dict[str, Any]) -> dict[str, Any]:
        """The parameters to bind; those asked for where rewriting them failed, which is ours."""
        if self._rewrite is None:
            return params
        try:
            return self._rewrite(primitive, params)
        except Exception as fault:
            self.faults.append(fault)
            return params

    def _noted(
        self, primitive: Any, args: tuple[Any, ...], params: dict[str, Any], frame: FrameType
    ) -> Call | None:
        """The call, now among the seen; ``None`` where reading it failed, which is ours."""
        try:
            call = self._call(primitive, args, params, frame)
        except Exception as fault:
            self.faults.append(fault)
            return None
        self._seen.append(call)
        return call

    @contextmanager
    def _inside(self, call: Call) -> Iterator[None]:
        """Mark ``call`` as superseded if another call is bound before this closes."""
        position = len(self._seen)
        if self._open:
            self._open[-1] = True
        self._open.append(False)
        try:
            yield
        finally:
            if self._open.pop():
                self._superseded.add(id(call))
                if call.parent is not None:
                    self._superseded.add(id(call.parent))
                self._adopt(call, position)

    def _adopt(self, outer: Call, position: int) -> None:
        """Tell the calls bound inside ``outer`` where they come from."""
        for index in range(position, len(self._seen)):
            inner = self._seen[index]
            if inner.built is None and inner.parent is None:
                adopted = dataclasses.replace(inner, parent=outer)
                if id(inner) in self._superseded:
                    self._superseded.add(id(adopted))
                self._kept.append(inner)
                self._seen[index] = adopted

    def _call(
        self, primitive: Any, args: tuple[Any, ...], params: dict[str, Any], frame: FrameType
    ) -> Call:
        user = next(user_frames(frame), None)
        applied = place_of(user.f_code, user.f_lasti) if user is not None else None
        avals = tuple(jax.typeof(arg) for arg in args)
        built = self._built(frame)
        mesh = jax.sharding.get_abstract_mesh()
        call = Call(
            primitive,
            told_alike(primitive, params),
            avals,
            mesh,
            applied,
            built,
            around=places_around(user),
        )
        if built is not None:
            return dataclasses.replace(call, caller=built_in(user) if user is not None else None)
        return dataclasses.replace(call, parent=self._same_kernel(call))

    def _same_kernel(self, call: Call) -> Call | None:
        """The call that this one is a transformation, or the discharged form, of."""
        kernel, definition = call.jaxprs[0], _definition(call)
        return next(
            (
                seen
                for seen in reversed(self._seen)
                if seen.jaxprs[0] is kernel
                or (has_ref_operands(seen) and _definition(seen) == definition)
            ),
            None,
        )

    def _built(self, frame: FrameType | None) -> Built | None:
        if frame is None or frame.f_code.co_name not in ("wrapped", "wrapper"):
            return None
        inner = dict(frame.f_locals)
        outer = frame.f_back
        while outer is not None and outer.f_code.co_name != "wrapper":
            if next(user_frames(outer), None) is outer:
                outer = None
                break
            outer = outer.f_back
        gpu = dict(outer.f_locals) if outer is not None and "body" in outer.f_locals else None
        return Built(inner, gpu, self.build_site(inner, gpu))

    def build_site(self, inner: dict[str, Any], gpu: dict[str, Any] | None) -> Site | None:
        """The expression that built the call whose inner functions held ``inner`` and ``gpu``."""
        if gpu is not None:
            return self.objects.site(gpu["mesh"])
        for name in ("grid_spec", "meshes_and_fns"):
            site = self._builds.get(id(inner.get(name)))
            if site is not None:
                return site
        return None

    def _noting_build(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def build(*args: Any, **kwargs: Any) -> Any:
            inner = original(*args, **kwargs)
            if threading.get_ident() == self._thread:
                self._note_build(original.__name__.lstrip("_"), inner, sys._getframe(1))
            return inner

        return build

    def _note_build(self, callee: str, inner: Any, frame: FrameType) -> None:
        try:
            user = next(user_frames(frame), None)
            place = place_of(user.f_code, user.f_lasti) if user is not None else None
            site = Site(place, callee) if place is not None else None
            function = getattr(inner, "__wrapped__", inner)
            cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=False)
            for name, cell in cells:
                if name in ("grid_spec", "meshes_and_fns"):
                    self._kept.append(cell.cell_contents)
                    self._builds[id(cell.cell_contents)] = site
        except Exception as fault:
            self.faults.append(fault)


def _definition(call: Call) -> tuple[Any, ...]:
    """The kernel function's name and where its first operation is written.

    A discharged ``core_map`` is a new function of JAX's on 0.10.2; its
    operations still are the user's.
    """
    jaxpr = call.jaxprs[0]
    places = (traceback_places(equation.source_info.traceback) for equation in jaxpr.eqns)
    written = next((place for place in places if place), None)
    return jaxpr.debug_info.func_name, written or str(jaxpr.debug_info.func_src_info)


def _identity(call: Call) -> tuple[Any, ...]:
    """Equal for calls that a compiler could not tell apart."""
    grid = str(call.params.get("grid_mapping") and call.params["grid_mapping"].grid)
    kernels = tuple(id(jaxpr) for jaxpr in call.jaxprs)
    # What is bound again while it is lowered has no place of its own.
    return (*kernels, str(call.avals), grid, call.recorded().applied)


def has_ref_operands(call: Call) -> bool:
    """Whether the call works on refs of its caller, which no jit boundary can pass."""
    return any(isinstance(aval, AbstractRef) for aval in call.avals)


def kernel_primitives() -> tuple[Any, ...]:
    """The primitives that a kernel is bound with; a ``core_map`` has its own up to 0.10.2."""
    own = getattr(core, "core_map_p", None)
    return (pallas_call.pallas_call_p, mpmd.mpmd_map_p, *((own,) if own is not None else ()))


def told_alike(primitive: Any, params: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a call; those of a ``core_map`` told in the terms of ``kernel`` too."""
    if primitive is not getattr(core, "core_map_p", None):
        return params
    kernel = partial_eval.convert_constvars_jaxpr(params["jaxpr"])
    return {**params, "jaxprs": (kernel,), "meshes": (params["mesh"],), "out_avals": ()}


def as_bound(call: Call) -> dict[str, Any]:
    """The parameters that the primitive of ``call`` takes."""
    if call.primitive is not getattr(core, "core_map_p", None):
        return dict(call.params)
    return {k: v for k, v in call.params.items() if k not in ("jaxprs", "meshes", "out_avals")}


def is_warp_region(call: Call) -> bool:
    """Whether this is a warp-level part of another kernel rather than a kernel."""
    return any(type(mesh).__name__ == "WarpMesh" for mesh in call.params.get("meshes", ()))
