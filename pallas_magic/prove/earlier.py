"""What a call was made of before the check began, found by the objects that live on.

Nothing saw these objects being built. A global name still holds them, the text
tells what was assigned to that name last, and that expression, evaluated again
where that runs none of the user's code, gives an object like the one held.
Where one of these does not hold, nothing is said of the object.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from pallas_magic.bridge.capture import Call
from pallas_magic.bridge.makers import makes
from pallas_magic.bridge.retrace import Parts, parts_of
from pallas_magic.prove.alike import alike
from pallas_magic.prove.evaluate import evaluate, read_names
from pallas_magic.prove.given import agreeing_arguments, parts_given
from pallas_magic.prove.roots import (
    Root,
    call_root,
    grid_spec_root,
    same_grid_spec,
    spec_values,
)
from pallas_magic.prove.unprovable import NotProvable
from pallas_magic.source.document import Document, Library, Place
from pallas_magic.source.files import is_installed
from pallas_magic.source.resolve import Expression
from pallas_magic.source.scopes import assigned_value, last_binding
from pallas_magic.source.syntax import Syntax, identifier, parse, syntax_of

Namespace = dict[str, Any]
# A project may have any number of modules: only those that hold a part of the call are read.
_Texts = Callable[[], Sequence[Syntax]]

_MOST_ELEMENTS = 64
_BUILDERS = ("pallas_call", "kernel")


class EarlierTexts:
    """Finds roots that no recorder saw, in the texts of a library."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._found: dict[int, tuple[Call, tuple[Root, ...]]] = {}

    def roots(self, call: Call, recorded: Sequence[Root]) -> tuple[Root, ...]:
        """What of ``call`` was built before the check, beside the ``recorded`` roots."""
        if id(call) not in self._found:
            self._found[id(call)] = call, tuple(self._roots(call, parts_of(call), recorded))
        return self._found[id(call)][1]

    def _roots(self, call: Call, parts: Parts, recorded: Sequence[Root]) -> Iterator[Root]:
        known = {id(root.value) for root in recorded if root.kind == "spec"}
        wanted = {id(spec): spec for spec in spec_values(parts) if id(spec) not in known}
        search = _Search(call, parts, wanted)
        found: list[Root] = []
        for namespace in _namespaces(call, parts):
            texts = functools.partial(self._texts, namespace)
            for name, value in list(namespace.items()):
                found += search.roots(name, value, namespace, texts)
        found = _told_apart(found)
        yield from found
        for root in (*recorded, *found):
            syntax = syntax_of(self._library, root.place)
            if syntax is not None and root.kind in ("call", "grid spec"):
                yield from parts_given(root, syntax, self._library)

    def _texts(self, namespace: Namespace) -> list[Syntax]:
        """The texts that ran in a namespace, the last one first: a file, or else the cells."""
        filename = namespace.get("__file__")
        documents: list[Document] = []
        if isinstance(filename, str) and filename.endswith(".py"):
            document = self._library.find(filename)
            documents = [document] if document is not None else []
        elif namespace.get("__name__") == "__main__":
            documents = list(self._library.cells())
        return [syntax for one in documents if (syntax := parse(one)) is not None]


def _told_apart(found: Sequence[Root]) -> list[Root]:
    """The roots whose object no other text says that it built."""
    places: dict[tuple[str, int], set[Place]] = {}
    for root in found:
        places.setdefault((root.kind, id(root.value)), set()).add(root.place)
    return [root for root in found if len(places[root.kind, id(root.value)]) == 1]


def _namespaces(call: Call, parts: Parts) -> Iterator[Namespace]:
    """The global names that may hold what ``call`` was made of, each once."""
    caller = call.recorded().caller
    found = [caller.global_names] if caller is not None else []
    maps = [getattr(spec, "index_map", None) for spec in spec_values(parts)]
    for function in (*parts.kernels, *maps):
        inner = _innermost(function)
        if isinstance(inner, FunctionType):
            found.append(inner.__globals__)
    found += _user_modules()
    yield from {id(namespace): namespace for namespace in found}.values()


def _innermost(function: Any) -> Any:
    function = getattr(function, "index_map", function)
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.unwrap(function) if callable(function) else None


def _user_modules() -> Iterator[Namespace]:
    modules: list[object] = list(sys.modules.values())
    for module in modules:
        # A module of another kind may be loaded by a look at it.
        if type(module) is ModuleType:
            filename = vars(module).get("__file__")
            if isinstance(filename, str) and _is_users(filename):
                yield vars(module)


@functools.cache
def _is_users(filename: str) -> bool:
    return filename.endswith(".py") and not is_installed(Path(filename).absolute())


@dataclasses.dataclass(frozen=True, eq=False)
class _Search:
    """What is looked for: ``wanted`` are the specs that were not seen being built, by identity."""

    call: Call
    parts: Parts
    wanted: Mapping[int, Any]

    def roots(self, name: str, value: Any, namespace: Namespace, texts: _Texts) -> Iterator[Root]:
        """The roots in what the global ``name``, which holds ``value``, was bound to."""
        if id(value) in self.wanted:
            bound = _assigned(texts(), name)
            yield from _spec_root(bound, value, namespace) if bound is not None else ()
        elif self._holds_specs(value):
            yield from self._held(_assigned(texts(), name), value, namespace)
        elif self.parts.grid_spec is not None and same_grid_spec(value, self.parts.grid_spec):
            if (bound := _assigned(texts(), name)) is not None:
                root = grid_spec_root(self.parts, bound.syntax.place(bound.node), namespace)
                yield from _with_arguments(root, bound, None)
        else:
            yield from self._made(name, value, namespace, texts)

    def _holds_specs(self, value: Any) -> bool:
        if not isinstance(value, (list, tuple, dict)) or len(value) > _MOST_ELEMENTS:
            return False
        held = list(value.values()) if isinstance(value, dict) else list(value)
        return any(id(one) in self.wanted for one in held)

    def _held(self, bound: Expression | None, value: Any, namespace: Namespace) -> Iterator[Root]:
        for node, one in _elements(bound.node, value) if bound is not None else ():
            if bound is not None and id(one) in self.wanted:
                yield from _spec_root(Expression(bound.syntax, node), one, namespace)

    def _made(self, name: str, value: Any, namespace: Namespace, texts: _Texts) -> Iterator[Root]:
        built = self.call.recorded().built
        if built is None or not makes(value, built):
            return
        bound = _build(texts(), name)
        if bound is not None:
            place = bound.syntax.place(bound.node)
            root = call_root(self.parts, place, namespace, built.gpu is not None)
            yield from _with_arguments(root, bound, self.parts.kernels[0])


def _spec_root(written: Expression, value: Any, namespace: Namespace) -> Iterator[Root]:
    filename = written.syntax.document.filename
    if not isinstance(written.node, ast.Call):
        return
    try:
        again = evaluate(written.node, namespace, filename)
    except NotProvable:
        return
    if alike(again, value):
        settled = read_names(written.node)
        place = written.syntax.place(written.node)
        yield Root("spec", place, value, namespace, settled=settled)


def _with_arguments(root: Root, written: Expression, kernel: Any) -> Iterator[Root]:
    settled = agreeing_arguments(root, written, kernel)
    if settled is not None:
        yield dataclasses.replace(root, settled=settled)


def _assigned(texts: Sequence[Syntax], name: str) -> Expression | None:
    """What the global ``name`` was assigned last, if that is told plainly."""
    bound = last_binding(texts, name)
    value = assigned_value(*bound) if bound is not None else None
    return Expression(bound[0], value) if bound is not None and value is not None else None


def _build(texts: Sequence[Syntax], name: str) -> Expression | None:
    """The one ``pallas_call(...)`` in what binds ``name``: an assignment, or a decorator."""
    bound = last_binding(texts, name)
    if bound is None:
        return None
    syntax, binding = bound
    around: list[ast.expr] = []
    if isinstance(binding, ast.FunctionDef):
        around = binding.decorator_list
    elif (value := assigned_value(syntax, binding)) is not None:
        around = [value]
    calls = [
        node
        for one in around
        for node in ast.walk(one)
        if isinstance(node, ast.Call) and _builds(node)
    ]
    return Expression(syntax, calls[0]) if len(calls) == 1 else None


def _builds(node: ast.Call) -> bool:
    first = identifier(node.args[0]) if node.args else ""
    return identifier(node.func) in _BUILDERS or (
        first in _BUILDERS and identifier(node.func) == "partial"
    )


def _elements(node: ast.expr, value: Any) -> list[tuple[ast.expr, Any]]:
    """The elements of a literal with the values it made, where that is one to one."""
    if isinstance(node, (ast.List, ast.Tuple)) and isinstance(value, (list, tuple)):
        written = node.elts
        plain = len(written) == len(value) and not any(
            isinstance(one, ast.Starred) for one in written
        )
        return list(zip(written, value, strict=True)) if plain else []
    if isinstance(node, ast.Dict) and isinstance(value, dict):
        names = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
        if len(names) == len(value) and names == list(value):
            return list(zip(node.values, value.values(), strict=True))
    return []
