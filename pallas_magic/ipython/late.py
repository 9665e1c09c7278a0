"""Opening a watch in a cell that imports JAX itself.

Importing JAX before the cell does would read its settings too early:
``os.environ["JAX_ENABLE_X64"] = "1"`` above ``import jax`` must still count.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

PALLAS = "jax.experimental.pallas"


class AfterImport(MetaPathFinder):
    """Calls ``then`` once, right after ``name`` was imported by whoever imports it first."""

    def __init__(self, name: str, then: Callable[[], None]) -> None:
        self._name = name
        self._then = then

    def install(self) -> None:
        """Begin to wait."""
        sys.meta_path.insert(0, self)

    def remove(self) -> None:
        """Stop waiting; may be called again."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._name:
            return None
        self.remove()
        for finder in sys.meta_path:
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = _LoaderThen(spec.loader, self._then)
                return spec
        return None


class _LoaderThen(Loader):
    def __init__(self, loader: Loader, then: Callable[[], None]) -> None:
        self._loader = loader
        self._then = then

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        # The module is to look as if this loader had never been there.
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._then()
