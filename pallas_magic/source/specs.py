"""Where a Pallas call's text gives the spec of an operand."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Mapping

from pallas_magic.failure import CallSite, Role
from pallas_magic.source.calls import keyword
from pallas_magic.source.document import Library
from pallas_magic.source.names import namespace
from pallas_magic.source.resolve import Expression, leaves, resolve
from pallas_magic.source.syntax import Syntax, identifier, syntax_of

_KEYWORDS: Mapping[Role, tuple[str, ...]] = {
    "input": ("in_specs",),
    "output": ("out_specs",),
    "scratch": ("scratch_shapes", "scratch_types"),
}

_MAX_STEPS = 8


def spec_keywords(role: Role) -> tuple[str, ...]:
    """The keywords under which a Pallas call takes the specs of operands in ``role``."""
    return _KEYWORDS.get(role, ())


@dataclasses.dataclass(frozen=True, eq=False)
class SpecCall:
    """The call whose keywords are the specs: ``pallas_call`` or a grid spec."""

    syntax: Syntax
    node: ast.Call
    build: ast.Call
    """The ``pallas_call`` itself, which always has ``out_shape``."""

    build_syntax: Syntax

    def given(self, names: tuple[str, ...]) -> Expression | None:
        """The value of the first of ``names`` that is given."""
        for name in names:
            if found := keyword(self.node, name):
                return Expression(self.syntax, found.value)
        return None


def spec_call(sources: Library, site: CallSite) -> SpecCall | None:
    """The call that holds the specs of a kernel, found from where it was built or called."""
    build = _build(sources, site)
    if build is None or not isinstance(build.node, ast.Call):
        return None
    grid_spec = keyword(build.node, "grid_spec")
    if grid_spec is None:
        return SpecCall(build.syntax, build.node, build.node, build.syntax)
    holder = resolve(sources, Expression(build.syntax, grid_spec.value))
    if not isinstance(holder.node, ast.Call):
        return None
    return SpecCall(holder.syntax, holder.node, build.node, build.syntax)


def _build(sources: Library, site: CallSite) -> Expression | None:
    """``pl.pallas_call(...)``: at the recorded place, behind a name there, or by its kernel.

    Only a call that was built while it was recorded has a place of its own.
    """
    syntax = syntax_of(sources, site.build)
    node = syntax.at(site.build) if syntax is not None and site.build is not None else None
    for _ in range(_MAX_STEPS):
        if syntax is None or not isinstance(node, ast.Call):
            break
        if _builds(node):
            return Expression(syntax, node)
        called = resolve(sources, Expression(syntax, node.func))
        syntax, node = called.syntax, called.node
    return _build_of_kernel(sources, site)


def _build_of_kernel(sources: Library, site: CallSite) -> Expression | None:
    syntax = syntax_of(sources, site.kernel)
    if syntax is None or site.kernel is None:
        return None
    name = site.kernel.function.rsplit(".", maxsplit=1)[-1]
    found = [
        Expression(one, node)
        for one in namespace(sources, syntax.document)
        for node in ast.walk(one.module)
        if isinstance(node, ast.Call) and _builds(node) and _takes(node, name)
    ]
    return found[0] if len(found) == 1 else None


def _builds(call: ast.Call) -> bool:
    """Whether this is ``pallas_call(...)``, or a ``partial`` of it."""
    first = identifier(call.args[0]) if call.args else ""
    return "pallas_call" in (identifier(call.func), first)


def _takes(call: ast.Call, kernel: str) -> bool:
    given = call.args[0] if call.args else None
    if isinstance(given, ast.Call) and given.args:
        given = given.args[0]
    return given is not None and identifier(given) == kernel


def operand_spec(
    sources: Library, call: SpecCall, names: tuple[str, ...], operand: int, count: int
) -> Expression | None:
    """The element that gives the spec of one of ``count`` operands, as it stands in the text."""
    given = call.given(names)
    elements = leaves(sources, given) if given is not None else None
    if elements is None or len(elements) != count:
        return None
    return elements[operand]
