"""Functions rebuilt from the code of an edited text, in namespaces of their own.

The user's functions and namespaces stay as they are: what is rebuilt sees a
copy of its globals and cells, in which other edited functions are exchanged too.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator, Mapping
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from pallas_magic.prove.texts import EditedText
from pallas_magic.prove.unprovable import NotProvable

_LIBRARIES = {"jax", "jaxlib", "numpy", __name__.partition(".")[0]}
_FOREIGN = frozenset(sys.stdlib_module_names - {"__main__"}) | _LIBRARIES


class Substitution:
    """Exchanges functions reachable from the ones it is given.

    ``replaced`` are the code objects of the edited texts that were exchanged.
    """

    def __init__(self, texts: Mapping[str, EditedText], names: Mapping[str, Any]) -> None:
        self.replaced: list[CodeType] = []
        self._texts = texts
        self._names = names
        self._done: dict[int, Any] = {}
        self._namespaces: dict[int, dict[str, Any]] = {}
        self._cells: dict[int, CellType] = {}
        self._alive: list[Any] = []

    def exchange(self, value: Any) -> Any:
        """``value`` with every function in it rebuilt; other things as they are."""
        if id(value) in self._done:
            return self._done[id(value)]
        self._alive.append(value)
        match value:
            case FunctionType():
                return self._function(value)
            case functools.partial():
                keywords = {name: self.exchange(item) for name, item in value.keywords.items()}
                arguments = [self.exchange(item) for item in value.args]
                new = type(value)(self.exchange(value.func), *arguments, **keywords)
                return self._done.setdefault(id(value), new)
            case MethodType():
                method = MethodType(self.exchange(value.__func__), value.__self__)
                return self._done.setdefault(id(value), method)
            case ModuleType() if value.__dict__.get("__file__") in self._texts:
                return self._module(value)
        return value

    def _function(self, function: FunctionType) -> FunctionType:
        code = self._code(function.__code__)
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        missing = [name for name in code.co_freevars if name not in cells]
        if missing:
            raise NotProvable(f"the edited `{function.__name__}` uses `{missing[0]}` of outside it")
        closure = tuple(self._cell(cells[name]) for name in code.co_freevars)
        foreign = _is_foreign(function)
        namespace = function.__globals__ if foreign else self._namespace(function.__globals__)
        new = FunctionType(code, namespace, function.__name__, function.__defaults__, closure)
        self._done[id(function)] = new
        new.__kwdefaults__ = function.__kwdefaults__
        new.__qualname__ = function.__qualname__
        new.__module__ = function.__module__
        new.__doc__ = function.__doc__
        for name, value in function.__dict__.items():
            new.__dict__[name] = self.exchange(value) if name == "__wrapped__" else value
        if function.__defaults__:
            new.__defaults__ = tuple(self.exchange(value) for value in function.__defaults__)
        for name in code.co_freevars:
            self._fill(cells[name])
        if not foreign:
            self._exchange_globals(code, function.__globals__)
        return new

    def _code(self, code: CodeType) -> CodeType:
        text = self._texts.get(code.co_filename)
        new = text.new_code(code) if text is not None else None
        if new is None:
            return code
        self.replaced.append(code)
        return new

    def _exchange_globals(self, code: CodeType, before: dict[str, Any]) -> None:
        namespace = self._namespace(before)
        for name in _global_names(code):
            if name in before:
                namespace[name] = self.exchange(before[name])

    def _namespace(self, before: dict[str, Any]) -> dict[str, Any]:
        if id(before) not in self._namespaces:
            self._namespaces[id(before)] = {**before, **self._names}
        return self._namespaces[id(before)]

    def _module(self, module: ModuleType) -> ModuleType:
        new = ModuleType(module.__name__)
        self._done[id(module)] = new
        namespace = self._namespace(module.__dict__)
        for name, value in module.__dict__.items():
            if isinstance(value, FunctionType) and value.__code__.co_filename in self._texts:
                namespace[name] = self.exchange(value)
        new.__dict__.update(namespace)
        return new

    def _cell(self, cell: CellType) -> CellType:
        return self._cells.setdefault(id(cell), CellType())

    def _fill(self, cell: CellType) -> None:
        new = self._cells[id(cell)]
        self._alive.append(cell)
        try:
            value = cell.cell_contents
        except ValueError:
            return
        if id(cell) not in self._done:
            self._done[id(cell)] = cell
            new.cell_contents = self.exchange(value)


def _is_foreign(function: FunctionType) -> bool:
    module = function.__globals__.get("__name__", "")
    return str(module).partition(".")[0] in _FOREIGN


def _global_names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _global_names(constant)
