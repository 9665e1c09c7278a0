"""Where two versions of a Python text differ, as pairs of syntax nodes."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator, Sequence
from typing import Any

Pair = tuple[ast.AST, ast.AST]


class Alignment:
    """Walks the trees of an old and a new text side by side.

    ``differences`` has a path for each smallest pair that differs: the pairs
    around it, outermost first, the pair itself last. Where lists of different
    lengths meet, the pair is the nodes that hold them. ``imports`` are the
    import statements that only the new text has.
    """

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.imports: list[ast.stmt] = []
        self._texts: dict[int, str] = {}
        self.differences: tuple[tuple[Pair, ...], ...] = tuple(self._walk(old, new, ()))

    def same(self, old: ast.AST, new: ast.AST) -> bool:
        """Whether two nodes are equal, positions aside."""
        return self._text(old) == self._text(new)

    def _walk(self, old: ast.AST, new: ast.AST, path: tuple[Pair, ...]) -> Iterator[Any]:
        if self.same(old, new):
            return
        here = (*path, (old, new))
        if type(old) is not type(new):
            yield here
            return
        for name in old._fields:
            before, after = getattr(old, name, None), getattr(new, name, None)
            if isinstance(before, ast.AST) and isinstance(after, ast.AST):
                yield from self._walk(before, after, here)
            elif isinstance(before, list) and isinstance(after, list):
                yield from self._walk_lists(before, after, here)
            elif before != after:
                yield here

    def _walk_lists(
        self, old: Sequence[Any], new: Sequence[Any], here: tuple[Pair, ...]
    ) -> Iterator[Any]:
        are_statements = any(isinstance(item, ast.stmt) for item in (*old, *new))
        if are_statements:
            yield from self._walk_statements(old, new, here)
        elif len(old) != len(new):
            yield here
        else:
            yield from self._walk_pairs(old, new, here)

    def _walk_pairs(
        self, old: Sequence[Any], new: Sequence[Any], here: tuple[Pair, ...]
    ) -> Iterator[Any]:
        for before, after in zip(old, new, strict=True):
            if isinstance(before, ast.AST) and isinstance(after, ast.AST):
                yield from self._walk(before, after, here)
            elif before != after:
                yield here

    def _walk_statements(
        self, old: Sequence[ast.stmt], new: Sequence[ast.stmt], here: tuple[Pair, ...]
    ) -> Iterator[Any]:
        matcher = difflib.SequenceMatcher(
            None, [self._text(node) for node in old], [self._text(node) for node in new], False
        )
        for tag, old_start, old_end, new_start, new_end in matcher.get_opcodes():
            if tag == "equal":
                continue
            before, after = old[old_start:old_end], new[new_start:new_end]
            if len(before) != len(after):
                added = [node for node in after if isinstance(node, ast.Import | ast.ImportFrom)]
                self.imports += added
                after = [node for node in after if node not in added]
            if len(before) == len(after):
                yield from self._walk_pairs(before, after, here)
            else:
                yield here

    def _text(self, node: ast.AST) -> str:
        found = self._texts.get(id(node))
        if found is None:
            fields = (self._field(getattr(node, name, None)) for name in node._fields)
            found = f"{type(node).__name__}({','.join(fields)})"
            self._texts[id(node)] = found
        return found

    def _field(self, value: Any) -> str:
        if isinstance(value, ast.AST):
            return self._text(value)
        if isinstance(value, list):
            return f"[{','.join(self._field(item) for item in value)}]"
        return repr(value)


def definition_parts(node: ast.AST) -> tuple[ast.AST, ...]:
    """What of a function is evaluated where it is defined, not where it runs."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        evaluated = [*node.decorator_list, *node.args.defaults, *node.args.kw_defaults]
        return tuple(part for part in evaluated if part is not None)
    if isinstance(node, ast.Lambda):
        evaluated = [*node.args.defaults, *node.args.kw_defaults]
        return tuple(part for part in evaluated if part is not None)
    return ()


def position(path: tuple[Pair, ...]) -> tuple[int, int]:
    """Line and byte column in the old text of a difference."""
    for old, _ in reversed(path):
        if isinstance(old, ast.expr | ast.stmt):
            return old.lineno, old.col_offset
    return 0, 0
