"""Where a Pallas call's text gives the spec of an operand."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Mapping

from pallas_magic.failure import Role
from pallas_magic.source.calls import keyword
from pallas_magic.source.document import Library, Place
from pallas_magic.source.resolve import Expression, leaves, resolve
from pallas_magic.source.syntax import Syntax, syntax_of

_KEYWORDS: Mapping[Role, tuple[str, ...]] = {
    "input": ("in_specs",),
    "output": ("out_specs",),
    "scratch": ("scratch_shapes", "scratch_types"),
}


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


def spec_call(sources: Library, build: Place | None) -> SpecCall | None:
    """The call that holds the specs of what was built at ``build``."""
    syntax = syntax_of(sources, build)
    node = syntax.at(build) if syntax is not None and build is not None else None
    if syntax is None or not isinstance(node, ast.Call):
        return None
    grid_spec = keyword(node, "grid_spec")
    if grid_spec is None:
        return SpecCall(syntax, node, node, syntax)
    holder = resolve(sources, Expression(syntax, grid_spec.value))
    if not isinstance(holder.node, ast.Call):
        return None
    return SpecCall(holder.syntax, holder.node, node, syntax)


def operand_spec(
    sources: Library, call: SpecCall, names: tuple[str, ...], operand: int, count: int
) -> Expression | None:
    """The element that gives the spec of one of ``count`` operands, as it stands in the text."""
    given = call.given(names)
    elements = leaves(sources, given) if given is not None else None
    if elements is None or len(elements) != count:
        return None
    return elements[operand]
