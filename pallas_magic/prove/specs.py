"""Specs rebuilt from an edited expression, without running the user's code again.

A recorded object is compared with the expression that built it before and
after the edit; only what differs is evaluated, in the names that the
expression saw then.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
import functools
import inspect
from collections.abc import Mapping
from typing import Any

from pallas_magic.prove.alignment import Alignment
from pallas_magic.prove.evaluate import describes_memory, evaluate, is_lasting, read_names
from pallas_magic.prove.roots import Root, is_spec
from pallas_magic.prove.unprovable import NotProvable

_UNKNOWN = object()


@dataclasses.dataclass(frozen=True)
class Rebuilder:
    """Rebuilds values of one text; ``names`` are those that its expressions see.

    ``settled`` are those of them that mean what they meant when the old text ran;
    ``None`` where all do.
    """

    alignment: Alignment
    names: Mapping[str, Any]
    filename: str
    settled: frozenset[str] | None = None

    def value(self, old: ast.expr | None, new: ast.expr, known: Any = _UNKNOWN) -> Any:
        """What ``new`` stands for where ``old`` stood for ``known``."""
        if known is _UNKNOWN or old is None:
            return self._evaluate(new)
        if self.alignment.same(old, new):
            return known
        match old, new:
            case (ast.List() | ast.Tuple(), ast.List() | ast.Tuple()):
                return self._sequence(old.elts, new.elts, known)
            case ast.Call(), ast.Call() if is_spec(known):
                return self.spec(old, new, known)
        return self._evaluate(new)

    def spec(self, old: ast.Call, new: ast.Call, known: Any) -> Any:
        """A BlockSpec or scratch shape after the edit of the call that built it."""
        if not hasattr(known, "inner_aval") and not self.alignment.same(old.func, new.func):
            return self._evaluate(new)
        builder = self._evaluate(old.func)
        another = isinstance(builder, type) and builder is not type(known)
        if another or not describes_memory(builder):
            raise NotProvable(f"`{ast.unparse(old.func)}(...)` would have to be called again")
        if isinstance(builder, functools.partial):
            return self._evaluate(new)
        if hasattr(known, "inner_aval"):
            return self._memory_ref(old, new, known)
        parameters = tuple(inspect.signature(type(known)).parameters.values())
        changes = {}
        for name, (before, after) in self.changed(old, new, [p.name for p in parameters]).items():
            if after is None:
                changes[name] = inspect.signature(type(known)).parameters[name].default
            else:
                changes[name] = self.value(before, after, getattr(known, name))
        return dataclasses.replace(known, **changes)

    def changed(
        self, old: ast.Call, new: ast.Call, parameters: list[str]
    ) -> dict[str, tuple[ast.expr | None, ast.expr | None]]:
        """The arguments that differ between two calls, by name; ``None`` where absent."""
        before, after = arguments_of(old, parameters), arguments_of(new, parameters)
        return {
            name: (before.get(name), after.get(name))
            for name in {**before, **after}
            if name not in before
            or name not in after
            or not self.alignment.same(before[name], after[name])
        }

    def _evaluate(self, node: ast.expr) -> Any:
        unsettled = read_names(node) - self.settled if self.settled is not None else ()
        for name in sorted(unsettled):
            if name in self.names and not is_lasting(self.names[name]):
                raise NotProvable(f"`{name}` may have been something else when this was built")
        return evaluate(node, self.names, self.filename)

    def _sequence(self, old: list[ast.expr], new: list[ast.expr], known: Any) -> Any:
        if not isinstance(known, list | tuple) or len(known) != len(old):
            raise NotProvable("the specs were not written as the list that was recorded")
        if any(isinstance(node, ast.Starred) for node in (*old, *new)):
            raise NotProvable("a list of specs is unpacked")
        if len(old) == len(new):
            values = [self.value(*three) for three in zip(old, new, known, strict=True)]
        else:
            values = [self._element(node, old, known) for node in new]
        return type(known)(values)

    def _element(self, new: ast.expr, old: list[ast.expr], known: Any) -> Any:
        for node, value in zip(old, known, strict=True):
            if self.alignment.same(node, new):
                return value
        return self._evaluate(new)

    def _memory_ref(self, old: ast.Call, new: ast.Call, known: Any) -> Any:
        same_arguments = not self.changed(old, new, ["shape", "dtype"])
        space = self._evaluate(new.func)
        if same_arguments and not getattr(known, "transforms", ()) and callable(space):
            return space(known.shape, known.dtype)
        return self._evaluate(new)


def arguments_of(call: ast.Call, parameters: list[str]) -> dict[str, ast.expr]:
    """The arguments of ``call`` by name; raises :class:`NotProvable` where some have none."""
    if any(isinstance(argument, ast.Starred) for argument in call.args) or any(
        keyword.arg is None for keyword in call.keywords
    ):
        raise NotProvable(f"`{ast.unparse(call.func)}` is called with unpacked arguments")
    if len(call.args) > len(parameters):
        raise NotProvable(f"`{ast.unparse(call.func)}` has unknown arguments")
    named = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    return {**dict(zip(parameters, call.args, strict=False)), **named}


def changed_keywords(
    rebuilder: Rebuilder, old: ast.Call, new: ast.Call, root: Root
) -> dict[str, Any]:
    """The changed keywords of ``pl.pallas_call(...)``, ``pl.GridSpec(...)`` or the like."""
    if not rebuilder.alignment.same(old.func, new.func):
        raise NotProvable(f"`{ast.unparse(new.func)}` is another function")
    changes: dict[str, Any] = {}
    for name, (before, after) in rebuilder.changed(old, new, list(root.parameters)).items():
        if name == "grid_spec" and isinstance(before, ast.Call) and isinstance(after, ast.Call):
            inner = dataclasses.replace(root, parameters=root.grid_parameters)
            changes |= changed_keywords(rebuilder, before, after, inner)
            continue
        if name not in (root.known if after is not None else root.defaults):
            raise NotProvable(f"`{name}=` of `{ast.unparse(new.func)}` changes")
        known = root.known[name] if before is not None else _UNKNOWN
        changes[name] = rebuilder.value(before, after, known) if after else root.defaults[name]
    return changes


def changed_grid_spec(grid_spec: Any, changes: Mapping[str, Any]) -> Any:
    """A copy of ``grid_spec`` with other grid or specs, put as its constructor puts them."""
    new = copy.copy(grid_spec)
    for name, value in changes.items():
        if name == "grid" and isinstance(value, int):
            value = (value,)
        elif name == "scratch_shapes" or (isinstance(value, list)):
            value = tuple(value)
        setattr(new, name, value)
    return new
