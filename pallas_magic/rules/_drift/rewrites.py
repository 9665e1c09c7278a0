"""Calls of functions that are gone, as they are written today."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Mapping

from pallas_magic.rules._drift.names import PALLAS, TPU, TRITON
from pallas_magic.source.calls import argument, keyword

TextOf = Callable[[ast.expr], str]
Spell = Callable[[str], str | None]


@dataclasses.dataclass(frozen=True)
class Written:
    """The new text of a call; ``why`` says in what it may differ, "" if in nothing."""

    text: str
    title: str
    why: str = ""


@dataclasses.dataclass(frozen=True, eq=False)
class OldCall:
    """A call of a function that is gone, and how its surroundings write things."""

    node: ast.Call
    text: TextOf
    spell: Spell
    is_statement: bool
    on_gpu: bool

    def given(self, name: str, position: int) -> ast.expr | None:
        return argument(self.node, name, position)

    def options(self, known: tuple[str, ...]) -> dict[str, str] | None:
        """The keyword arguments beyond ``known``, ``None`` where some are not written out."""
        rest = [given for given in self.node.keywords if given.arg not in known]
        return {given.arg: self.text(given.value) for given in rest if given.arg is not None}


def rewritten(dotted: str, call: OldCall) -> Written | None:
    """``call`` of ``dotted`` as it is written today, ``None`` where that is not known."""
    plain = not any(isinstance(one, ast.Starred) for one in call.node.args)
    named = all(given.arg is not None for given in call.node.keywords)
    way = _WAYS.get(dotted)
    return way(call) if way is not None and plain and named else None


def _load(call: OldCall) -> Written | None:
    ref, index = call.given("x_ref_or_view", 0), call.given("idx", 1)
    options = call.options(("x_ref_or_view", "idx"))
    if ref is None or index is None or options is None:
        return None
    at, place = _bound(call, ref), index_text(call.text, index)
    if not options:
        return Written(f"{at}[{place}]", "index the ref")
    return _on_back_end(call, "load", f"{at}.at[{place}]", "", options)


def _store(call: OldCall) -> Written | None:
    ref, index, value = call.given("x_ref_or_view", 0), call.given("idx", 1), call.given("val", 2)
    options = call.options(("x_ref_or_view", "idx", "val"))
    if ref is None or index is None or value is None or options is None:
        return None
    at, place, text = _bound(call, ref), index_text(call.text, index), call.text(value)
    if options:
        return _on_back_end(call, "store", f"{at}.at[{place}]", text, options)
    if not call.is_statement:
        return None
    return Written(f"{at}[{place}] = {_on_one_line(text)}", "assign to the index of the ref")


def _on_back_end(
    call: OldCall, name: str, view: str, value: str, options: Mapping[str, str]
) -> Written | None:
    """The load or store with a mask that the back end has."""
    if not call.on_gpu and set(options) != {"mask"}:
        return None
    function = call.spell(f"{TRITON if call.on_gpu else TPU}.{name}")
    if function is None:
        return None
    given = [view, *([value] if value else []), *(f"{k}={v}" for k, v in options.items())]
    return Written(f"{function}({', '.join(given)})", f"use `{function}`")


def _swap(call: OldCall) -> Written | None:
    ref, index, value = call.given("x_ref_or_view", 0), call.given("idx", 1), call.given("val", 2)
    function = call.spell("jax.ref.swap")
    known = ("x_ref_or_view", "idx", "val")
    if ref is None or index is None or value is None or function is None or call.options(known):
        return None
    text = f"{function}({call.text(ref)}, {call.text(index)}, {call.text(value)})"
    return Written(text, f"use `{function}`")


def _repeat(call: OldCall) -> Written | None:
    array, times, axis = call.given("x", 0), call.given("repeats", 1), call.given("axis", 2)
    function = call.spell("jax.numpy.concatenate")
    if array is None or times is None or axis is None or function is None:
        return None
    count = call.text(times)
    if not isinstance(times, (ast.Constant, ast.Name, ast.Attribute)):
        count = f"({count})"
    text = f"{function}([{call.text(array)}] * {count}, axis={call.text(axis)})"
    return Written(text, f"repeat with `{function}`")


def _dot(call: OldCall) -> Written | None:
    if call.on_gpu and (function := call.spell(f"{TRITON}.dot")) is not None:
        given = [call.text(one) for one in call.node.args]
        given += [f"{one.arg}={call.text(one.value)}" for one in call.node.keywords]
        return Written(f"{function}({', '.join(given)})", f"use `{function}`")
    first, second = call.given("a", 0), call.given("b", 1)
    function, wide = call.spell("jax.numpy.dot"), call.spell("jax.numpy.float32")
    options = call.options(("a", "b", "precision"))
    if first is None or second is None or function is None or wide is None:
        return None
    if options or len(call.node.args) > 2:
        return None
    precision = keyword(call.node, "precision")
    given = [call.text(first), call.text(second), f"preferred_element_type={wide}"]
    given += [f"precision={call.text(precision.value)}"] if precision is not None else []
    why = "it is the same for floats; `pl.dot` gave integers as int32"
    return Written(f"{function}({', '.join(given)})", f"use `{function}`", why)


def _checks(call: OldCall) -> Written | None:
    value = call.spell(f"{PALLAS}.enable_debug_checks.value")
    if value is None or call.node.args or call.node.keywords:
        return None
    return Written(value, f"ask `{value}`")


def _bound(call: OldCall, ref: ast.expr) -> str:
    text = call.text(ref)
    tight = isinstance(ref, (ast.Name, ast.Attribute, ast.Subscript, ast.Call))
    return text if tight else f"({text})"


def index_text(text: TextOf, index: ast.expr) -> str:
    """An index that was given as an argument, as it stands between brackets."""
    if not isinstance(index, ast.Tuple):
        return _part(text, index)
    parts = [_part(text, one) for one in index.elts]
    if all(part == ":" for part in parts):
        return "..."
    return ", ".join(parts)


def _part(text: TextOf, part: ast.expr) -> str:
    is_slice = isinstance(part, ast.Call) and isinstance(part.func, ast.Name)
    if not isinstance(part, ast.Call) or not is_slice or part.keywords:
        return text(part)
    if getattr(part.func, "id", "") != "slice" or not 1 <= len(part.args) <= 3:
        return text(part)
    ends = ["" if _is_none(one) else text(one) for one in part.args]
    if len(ends) == 1:
        return f":{ends[0]}"
    return ":".join(ends if len(ends) == 2 or ends[2] else ends[:2])


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _on_one_line(text: str) -> str:
    """A value that stood between the parentheses of a call, for a place without any."""
    return f"({text})" if "\n" in text else text


_WAYS: Mapping[str, Callable[[OldCall], Written | None]] = {
    f"{PALLAS}.load": _load,
    f"{PALLAS}.store": _store,
    f"{PALLAS}.swap": _swap,
    f"{PALLAS}.dot": _dot,
    f"{PALLAS}.debug_checks_enabled": _checks,
    f"{TPU}.repeat": _repeat,
}
