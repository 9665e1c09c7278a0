"""Where the text makes what a method is called on: ``copy = make_async_copy(...)``."""

from __future__ import annotations

import ast

from pallas_magic.source.document import Library, Place
from pallas_magic.source.resolve import Expression, resolve
from pallas_magic.source.syntax import syntax_of


def made_at(sources: Library, place: Place | None) -> Place | None:
    """The call whose result the method call at ``place`` is a method of, if that is plain."""
    syntax = syntax_of(sources, place)
    node = syntax.at(place) if syntax is not None and place is not None else None
    if syntax is None or not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    made = resolve(sources, Expression(syntax, node.func.value))
    return made.syntax.place(made.node) if isinstance(made.node, ast.Call) else None
