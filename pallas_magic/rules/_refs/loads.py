"""Loads of refs that stand where the refs themselves belong: `x_ref[...]`, `barriers[0]`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from pallas_magic.failure import Candidate
from pallas_magic.rules._refs.expressions import complete
from pallas_magic.source.syntax import Syntax, end_of


def loads_among(given: Iterable[ast.expr | None]) -> list[ast.Subscript]:
    """Those of the arguments that are a name with an index."""
    return [
        one for one in given if isinstance(one, ast.Subscript) and isinstance(one.value, ast.Name)
    ]


def refs_instead(syntax: Syntax, loads: Sequence[ast.Subscript]) -> Iterator[Candidate]:
    """The refs that are loaded, or the parts of them: nothing else can be meant."""
    edits = complete(
        [
            syntax.replace_between(end_of(one.value), end_of(one), "")
            if _is_whole(one)
            else syntax.insert(end_of(one.value), ".at")
            for one in loads
        ]
    )
    if edits:
        whole = all(_is_whole(one) for one in loads)
        title = "give the ref itself" if whole else "give a part of the ref, with `.at`"
        yield Candidate(title, edits, mechanical=True)


def _is_whole(load: ast.Subscript) -> bool:
    return isinstance(load.slice, ast.Constant) and load.slice.value is Ellipsis
