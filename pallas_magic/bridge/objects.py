"""Which expression built which BlockSpec, scratch shape, grid spec or mesh.

While a recorder is installed, the constructors of these classes note the user
frame that called them. The objects are kept alive, so an identity stays valid
for as long as the recorder.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import CodeType, FrameType
from typing import Any

from pallas_magic.bridge.frames import place_of, user_frames
from pallas_magic.bridge.patches import replaced_attribute
from pallas_magic.failure import Site

_CONSTRUCTORS = (
    ("jax._src.pallas.core", "BlockSpec"),
    ("jax._src.pallas.core", "MemoryRef"),
    ("jax._src.pallas.core", "GridSpec"),
    ("jax._src.pallas.mosaic.core", "PrefetchScalarGridSpec"),
    ("jax._src.pallas.mosaic_gpu.core", "BlockSpec"),
    ("jax._src.pallas.mosaic_gpu.core", "GPUMemoryRef"),
    ("jax._src.pallas.mosaic_gpu.core", "Mesh"),
)


@dataclasses.dataclass(frozen=True, eq=False)
class BuiltObject:
    """An object with the frame state in which its building expression ran.

    ``names`` are the local names at that moment (the globals at module level).
    """

    value: Any
    code: CodeType
    last_instruction: int
    global_names: dict[str, Any]
    names: Mapping[str, Any]

    def site(self, token: int) -> Site | None:
        place = place_of(self.code, self.last_instruction)
        return Site(place, type(self.value).__name__, token) if place is not None else None


def built_in(frame: FrameType, value: Any = None) -> BuiltObject:
    """What ``frame`` is about to get, with the state it is in."""
    at_module_level = frame.f_locals is frame.f_globals
    names = frame.f_globals if at_module_level else dict(frame.f_locals)
    return BuiltObject(value, frame.f_code, frame.f_lasti, frame.f_globals, names)


class ObjectRecorder:
    """The objects built while it is installed, found by identity."""

    def __init__(self) -> None:
        self.built: list[BuiltObject] = []
        self.faults: list[Exception] = []
        self._thread = threading.get_ident()
        self._token_by_identity: dict[int, int] = {}

    def token(self, value: Any) -> int:
        """The index in ``built`` of ``value``, -1 if it was not seen being built."""
        return self._token_by_identity.get(id(value), -1)

    def site(self, value: Any) -> Site | None:
        """Where ``value`` was built by the user's code."""
        token = self.token(value)
        return self.built[token].site(token) if token >= 0 else None

    def note(self, value: Any, depth: int = 2) -> None:
        """Remember that the nearest user frame above the caller built ``value``."""
        frame = next(user_frames(sys._getframe(depth)), None)
        if frame is not None:
            self.add(built_in(frame, value))

    def add(self, built: BuiltObject) -> None:
        """Remember an object whose building expression is known."""
        self._token_by_identity[id(built.value)] = len(self.built)
        self.built.append(built)

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Note every construction while this context is open."""
        with ExitStack() as patches:
            for module_name, class_name in _CONSTRUCTORS:
                module = _import_or_none(module_name)
                kind = getattr(module, class_name, None)
                if kind is not None and "__init__" in vars(kind):
                    init = self._noting(kind.__init__)
                    patches.enter_context(replaced_attribute(kind, "__init__", init))
            yield

    def _note_or_leave(self, value: Any) -> None:
        """A construction of the user's never fails because noting it does."""
        try:
            self.note(value, depth=3)
        except Exception as fault:
            self.faults.append(fault)

    def _noting(self, original: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(original)
        def init(instance: Any, *args: Any, **kwargs: Any) -> None:
            original(instance, *args, **kwargs)
            if threading.get_ident() == self._thread:
                self._note_or_leave(instance)

        return init


def _import_or_none(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None
