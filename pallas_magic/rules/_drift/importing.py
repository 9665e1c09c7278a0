"""Import statements that ask for a name that is gone."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping

from pallas_magic.report import TextEdit
from pallas_magic.source.document import Place
from pallas_magic.source.syntax import Syntax, end_of, start_of

Import = ast.Import | ast.ImportFrom


def import_at(syntax: Syntax, place: Place) -> Import | None:
    """The import statement that ``place`` is in."""
    for node in ast.walk(syntax.module):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            last = node.end_lineno or node.lineno
            if node.lineno <= place.line <= last and _holds(node, place):
                return node
    return None


def alias_of(node: Import, dotted: str) -> ast.alias | None:
    """The part of an import statement that asks for ``dotted``."""
    module = f"{node.module}." if isinstance(node, ast.ImportFrom) and node.module else ""
    found = [one for one in node.names if f"{module}{one.name}" == dotted]
    return found[0] if len(found) == 1 else None


def alias_place(syntax: Syntax, alias: ast.alias) -> Place:
    """Where the imported name stands, without its ``as``."""
    end = alias.col_offset + len(alias.name.encode())
    return Place(syntax.document.filename, alias.lineno, alias.col_offset, alias.lineno, end)


def import_renamed(
    syntax: Syntax, node: Import, now: Mapping[ast.alias, str]
) -> tuple[TextEdit, ...]:
    """Edits that import what ``now`` has for some of the names, as they are known here."""
    if isinstance(node, ast.Import):
        return _each(
            syntax, {a: f"{dotted} as {a.asname}" for a, dotted in now.items() if a.asname}
        )
    if all(dotted.rpartition(".")[0] == node.module for dotted in now.values()):
        return _each(syntax, {one: _known_as(one, dotted) for one, dotted in now.items()})
    parts: dict[str, list[str]] = {node.module or "": []}
    for one in node.names:
        dotted = now.get(one, f"{node.module}.{one.name}")
        parts.setdefault(dotted.rpartition(".")[0], []).append(_known_as(one, dotted))
    lines = [f"from {module} import {', '.join(names)}" for module, names in parts.items() if names]
    return _statement(syntax, node, lines)


def import_dropped(
    syntax: Syntax, node: Import, dropped: Collection[ast.alias]
) -> tuple[TextEdit, ...]:
    """Edits that do not import ``dropped`` any more, beside others that stay."""
    rest = [ast.unparse(one) for one in node.names if one not in dropped]
    if not rest or not isinstance(node, ast.ImportFrom):
        return ()
    return _statement(syntax, node, [f"from {node.module} import {', '.join(rest)}"])


def _known_as(alias: ast.alias, dotted: str) -> str:
    name = dotted.rpartition(".")[2]
    known = alias.asname or alias.name
    return name if known == name else f"{name} as {known}"


def _each(syntax: Syntax, texts: Mapping[ast.alias, str]) -> tuple[TextEdit, ...]:
    edits = [_whole(syntax, alias, text) for alias, text in texts.items()]
    known = tuple(edit for edit in edits if edit is not None)
    return known if len(known) == len(edits) else ()


def _whole(syntax: Syntax, alias: ast.alias, text: str) -> TextEdit | None:
    end = alias.end_lineno or alias.lineno, alias.end_col_offset or alias.col_offset
    return syntax.replace_between((alias.lineno, alias.col_offset), end, text)


def _statement(syntax: Syntax, node: Import, lines: list[str]) -> tuple[TextEdit, ...]:
    separator = "\n" + syntax.indentation(node.lineno)
    edit = syntax.replace_between(start_of(node), end_of(node), separator.join(lines))
    return (edit,) if edit is not None else ()


def _holds(node: Import, place: Place) -> bool:
    start, end = start_of(node), end_of(node)
    return start <= (place.line, place.col) and (place.end_line, place.end_col) <= end
