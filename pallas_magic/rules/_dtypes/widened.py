"""Arithmetic as the user wrote it, made in a wider type and cast back."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Mapping

from pallas_magic.report import TextEdit
from pallas_magic.source.document import Place
from pallas_magic.source.syntax import Syntax

_TIGHT = (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.Constant)
# Wrapping round at the end is the same as wrapping round at every step.
_RING = (ast.Add, ast.Sub, ast.Mult)
_SIGNS: Mapping[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}
_Written = ast.expr | ast.AugAssign


@dataclasses.dataclass(frozen=True, eq=False)
class Arithmetic:
    """Expressions of one text, each with the type it works in; ``spelled`` writes a type's name."""

    syntax: Syntax
    types: Mapping[_Written, str]
    spelled: Callable[[str], str | None]

    def edits(self) -> list[TextEdit | None]:
        """An edit of each expression that stands in no other one."""
        return [self._edit(node) for node in self.types if not self._is_inside(node)]

    def _is_inside(self, node: _Written) -> bool:
        return any(above in self.types for above in self.syntax.around(node, ast.AST))

    def _edit(self, node: _Written) -> TextEdit | None:
        text = self._whole(node)
        if text is None:
            return None
        start = (node.lineno, node.col_offset)
        end = (node.end_lineno or node.lineno, node.end_col_offset or 0)
        return self.syntax.replace_between(start, end, text)

    def _whole(self, node: _Written) -> str | None:
        """The expression in its own type again, as it stood."""
        inner, own = self._wide(node), self.spelled(self.types[node])
        if inner is None or own is None:
            return None
        cast = f"{inner}.astype({own})" if inner.endswith(")") and _is_call(node) else None
        cast = cast or f"({inner}).astype({own})"
        if isinstance(node, ast.AugAssign):
            return f"{self.syntax.text_between(*_extent(node.target))} = {cast}"
        return cast

    def _wide(self, node: _Written) -> str | None:
        """The expression with its operands wide, not cast back."""
        if isinstance(node, ast.AugAssign):
            return self._binary(node, node.target, node.op, node.value)
        if isinstance(node, ast.BinOp):
            return self._binary(node, node.left, node.op, node.right)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            operand = self._operand(node, node.operand)
            return f"-{operand}" if operand is not None else None
        if isinstance(node, ast.Call) and node.args:
            return self._called(node)
        return None

    def _binary(
        self, node: _Written, left: ast.expr, op: ast.operator, right: ast.expr
    ) -> str | None:
        sign, sides = _SIGNS.get(type(op)), [self._operand(node, one) for one in (left, right)]
        if sign is None or sides[0] is None or sides[1] is None:
            return None
        return f"{sides[0]} {sign} {sides[1]}"

    def _called(self, node: ast.Call) -> str | None:
        parts = [self._operand(node, one) for one in node.args]
        if any(isinstance(one, ast.Starred) for one in node.args) or None in parts:
            return None
        parts += [self.syntax.text(one) for one in node.keywords if one.arg != "dtype"]
        return f"{self.syntax.text(node.func)}({', '.join(one for one in parts if one)})"

    def _operand(self, outer: _Written, node: ast.expr) -> str | None:
        wide = self.spelled(wider(self.types[outer]))
        if wide is None:
            return None
        if isinstance(node, ast.Constant) or _is_negative_number(node):
            return self.syntax.text(node)
        if node in self.types and self.types[node] == self.types[outer]:
            if _stays_wide(outer, node):
                inner = self._wide(node)
                return None if inner is None else inner if _is_call(node) else f"({inner})"
            inner = self._whole(node)
            return f"{inner}.astype({wide})" if inner is not None else None
        if any(inside in self.types for inside in ast.walk(node)):
            return None
        text = self.syntax.text(node)
        return f"{text if isinstance(node, _TIGHT) else f'({text})'}.astype({wide})"


def wider(dtype: str) -> str:
    """The type in which every TPU computes what ``dtype`` holds."""
    return "float32" if "float" in dtype else "int32"


def written_at(syntax: Syntax, place: Place) -> _Written | None:
    """The expression at ``place``, or the statement that changes a ref in place."""
    found = syntax.at(place)
    if found is not None:
        return found
    wanted = (place.line, place.col, place.end_line, place.end_col)
    for node in ast.walk(syntax.module):
        if isinstance(node, ast.AugAssign):
            extent = (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
            if extent == wanted:
                return node
    return None


def _stays_wide(outer: _Written, inner: ast.expr) -> bool:
    ops = [getattr(node, "op", None) for node in (outer, inner)]
    return all(isinstance(op, _RING) for op in ops)


def _is_call(node: _Written) -> bool:
    return isinstance(node, ast.Call)


def _is_negative_number(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant)


def _extent(node: ast.expr) -> tuple[tuple[int, int], tuple[int, int]]:
    end = (node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)
    return (node.lineno, node.col_offset), end
