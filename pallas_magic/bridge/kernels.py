"""A kernel's refs and every load and store of them, read from its jaxpr."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax
from jax._src.state.types import AbstractRef
from jax.extend.core import Var

from pallas_magic.bridge.frames import traceback_places
from pallas_magic.failure import Access, Ref, Role

_LOADS = ("get", "masked_load", "load")
_STORES = ("swap", "masked_swap", "addupdate", "store")


@dataclasses.dataclass(frozen=True, eq=False)
class RefVariable:
    """A ref with the jaxpr variable that introduced it."""

    ref: Ref
    variable: Any


@dataclasses.dataclass(frozen=True, eq=False)
class Kernel:
    """What one kernel does with its refs.

    ``ref_of`` and ``access_of`` are keyed by the identity of an equation,
    ``path_of`` gives the equations around it, outermost first, itself last.
    ``scope_of`` has, by the identity of a ref allocated in the kernel, the path
    of the equation that allocates it.
    """

    refs: tuple[Ref, ...]
    accesses: Mapping[int, tuple[Access, ...]]
    ref_of: Mapping[int, Ref]
    access_of: Mapping[int, Access]
    path_of: Mapping[int, tuple[Any, ...]]
    scope_of: Mapping[int, tuple[Any, ...]]

    def accesses_of(self, ref: Ref) -> tuple[Access, ...]:
        return self.accesses.get(id(ref), ())


def read_kernel(
    jaxpr: Any, refs: tuple[Ref, ...], variables: Sequence[Any] | None = None
) -> Kernel:
    """Read ``jaxpr``, whose first input variables, or ``variables``, are ``refs`` in order."""
    reader = _Reader(refs)
    known = dict(zip(jaxpr.invars if variables is None else variables, refs, strict=False))
    reader.walk(jaxpr, known, ())
    return reader.result()


def inner_jaxprs(equation: Any) -> Iterator[Any]:
    """The jaxprs among an equation's parameters."""
    for value in equation.params.values():
        for item in value if isinstance(value, (tuple, list)) else (value,):
            inner = getattr(item, "jaxpr", item)
            if hasattr(inner, "eqns"):
                yield inner


def memory_space_word(aval: Any) -> str:
    """JAX's lower-case word for the memory space of a ref, "" for the default."""
    space = getattr(aval, "memory_space", None)
    if space is None:
        return ""
    space = getattr(space, "memory_space", space)
    word = str(getattr(space, "value", space)).lower()
    return "" if word in ("default", "device", "none") else word.rsplit(".", maxsplit=1)[-1]


class _Reader:
    def __init__(self, refs: tuple[Ref, ...]) -> None:
        self._refs = list(refs)
        self._accesses: dict[int, list[Access]] = {}
        self._ref_of: dict[int, Ref] = {}
        self._access_of: dict[int, Access] = {}
        self._path_of: dict[int, tuple[Any, ...]] = {}
        self._scope_of: dict[int, tuple[Any, ...]] = {}

    def result(self) -> Kernel:
        return Kernel(
            tuple(self._refs),
            {key: tuple(found) for key, found in self._accesses.items()},
            self._ref_of,
            self._access_of,
            self._path_of,
            self._scope_of,
        )

    def walk(self, jaxpr: Any, known: dict[Any, Ref], path: tuple[Any, ...]) -> None:
        for equation in jaxpr.eqns:
            here = (*path, equation)
            self._path_of[id(equation)] = here
            first = equation.invars[0] if equation.invars else None
            ref = known.get(first) if is_variable(first) else None
            if ref is not None:
                self._note(equation, ref, here)
            for inner in inner_jaxprs(equation):
                self.walk(inner, self._inner_refs(equation, inner, known), here)

    def _note(self, equation: Any, ref: Ref, path: tuple[Any, ...]) -> None:
        self._ref_of[id(equation)] = ref
        access = _access(equation, path)
        if access is not None:
            self._access_of[id(equation)] = access
            self._accesses.setdefault(id(ref), []).append(access)

    def _inner_refs(self, equation: Any, inner: Any, known: dict[Any, Ref]) -> dict[Any, Ref]:
        pairs = operand_pairs(equation, inner)
        found = {var: known[atom] for atom, var in pairs if is_variable(atom) and atom in known}
        if equation.primitive.name == "run_scoped":
            return found | self._scoped_refs(equation, inner)
        return found

    def _scoped_refs(self, equation: Any, inner: Any) -> dict[Any, Ref]:
        found = {}
        names = inner.debug_info.arg_names or ()
        for position, var in enumerate(inner.invars):
            if not isinstance(var.aval, AbstractRef):
                continue
            name = names[position] if position < len(names) else ""
            ref = make_ref(name or "", len(self._refs), "local", position, var.aval)
            self._refs.append(ref)
            self._scope_of[id(ref)] = self._path_of[id(equation)]
            found[var] = ref
        return found


def is_variable(atom: Any) -> bool:
    """Whether an operand is a variable rather than a literal."""
    return isinstance(atom, Var)


def operand_pairs(equation: Any, inner: Any) -> list[tuple[Any, Any]]:
    """The operands of ``equation``, each with the variable it becomes in ``inner``.

    Empty where the two cannot be told to correspond.
    """
    outer = list(equation.invars)
    variables = [*inner.constvars, *inner.invars]
    name = equation.primitive.name
    if name == "cond":
        outer = outer[1:]
    if name == "while":
        outer = _while_operands(equation, inner, outer)
    if name == "run_scoped":
        variables = list(inner.constvars)
    return list(zip(outer, variables, strict=True)) if len(outer) == len(variables) else []


def make_ref(name: str, position: int, role: Role, operand: int, aval: Any, **more: Any) -> Ref:
    """The ref that a kernel sees as a variable of type ``aval``."""
    shape = tuple(int(size) if isinstance(size, int) else -1 for size in aval.shape)
    space = memory_space_word(aval)
    return Ref(name, position, role, operand, space, shape, str(aval.dtype), **more)


def _while_operands(equation: Any, inner: Any, outer: list[Any]) -> list[Any]:
    condition, body = equation.params["cond_nconsts"], equation.params["body_nconsts"]
    carried = outer[condition + body :]
    if inner is getattr(equation.params["cond_jaxpr"], "jaxpr", equation.params["cond_jaxpr"]):
        return [*outer[:condition], *carried]
    return [*outer[condition : condition + body], *carried]


def _access(equation: Any, path: tuple[Any, ...]) -> Access | None:
    name = equation.primitive.name
    if name not in _LOADS and name not in _STORES:
        return None
    transforms, value, mask = access_operands(equation)
    aval = value.aval if value is not None else equation.outvars[0].aval
    places = equation_places(path)
    return Access(
        kind="load" if name in _LOADS else "store",
        place=places[-1] if places else None,
        shape=tuple(aval.shape),
        dtype=str(aval.dtype),
        static_index=_static_index(transforms, equation.invars[0].aval.shape),
        masked=mask is not None,
        in_warp=any(in_warp_region(outer) for outer in path[:-1]),
        stack=places[:-1],
    )


def in_warp_region(equation: Any) -> bool:
    """Whether ``equation`` opens a warp-level region of a Mosaic GPU kernel."""
    meshes = (*(equation.params.get("meshes") or ()), equation.params.get("mesh"))
    return any(type(mesh).__name__ == "WarpMesh" for mesh in meshes)


def equation_places(path: tuple[Any, ...]) -> tuple[Any, ...]:
    """The user's places of an equation, of the nearest outer one where it has none."""
    for equation in reversed(path):
        if places := traceback_places(equation.source_info.traceback):
            return places
    return ()


def access_operands(equation: Any) -> tuple[tuple[Any, ...], Any, Any]:
    """The transforms, the stored value and the mask of a load or store."""
    if "args_tree" in equation.params:
        unflattened = jax.tree_util.tree_unflatten(equation.params["args_tree"], equation.invars)
        _, transforms, *rest = unflattened
        if equation.primitive.name in _STORES:
            return tuple(transforms), rest[0], rest[1] if len(rest) > 1 else None
        return tuple(transforms), None, rest[0] if rest else None
    stores = equation.primitive.name in _STORES
    leaves = equation.invars[2 if stores else 1 :]
    transforms = jax.tree_util.tree_unflatten(equation.params["tree"], leaves)
    return tuple(transforms), equation.invars[1] if stores else None, None


def _static_index(transforms: tuple[Any, ...], shape: tuple[int, ...]) -> tuple[Any, ...]:
    """One entry for each axis; empty when the access cannot be told that simply."""
    if not transforms:
        return tuple((0, size, 1) for size in shape)
    indices = getattr(transforms[0], "indices", None)
    if indices is None or len(transforms) > 1:
        return ()
    return tuple(_static_axis(index) for index in indices)


def _static_axis(index: Any) -> Any:
    if hasattr(index, "size") and hasattr(index, "stride"):
        return (_static_value(index.start), index.size, index.stride)
    return _static_value(index)


def _static_value(index: Any) -> int | None:
    value = getattr(index, "val", index)
    try:
        return int(value)
    except (TypeError, ValueError):
        return None
