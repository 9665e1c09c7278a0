"""A product of matrices as the user wrote it, and the same one of other types."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Sequence

from pallas_magic.failure import Failure
from pallas_magic.report import TextEdit
from pallas_magic.rules._operations.called import Called, called
from pallas_magic.rules._refs.expressions import complete, followed_by
from pallas_magic.source.calls import add_keyword, keyword
from pallas_magic.source.document import Library
from pallas_magic.source.syntax import end_of

SUM_KEYWORD = "preferred_element_type"
_OPERANDS = {
    "dot": (("a", "lhs"), ("b", "rhs")),
    "matmul": (("a",), ("b",)),
    "dot_general": (("lhs",), ("rhs",)),
}


@dataclasses.dataclass(frozen=True)
class Types:
    """What a product is to be made of: casts of its operands, its sums, what comes out.

    "" leaves a type as it is; ``precise`` asks for all passes of float32.
    """

    left: str = ""
    right: str = ""
    total: str = ""
    result: str = ""
    precise: bool = False


@dataclasses.dataclass(frozen=True, eq=False)
class Product:
    """``jnp.dot(left, right)`` and its like, or ``left @ right``."""

    one: Called
    left: ast.expr
    right: ast.expr

    @property
    def call(self) -> ast.Call | None:
        return self.one.node if isinstance(self.one.node, ast.Call) else None

    def given(self, name: str) -> ast.keyword | None:
        return keyword(self.call, name) if self.call is not None else None

    def text(self, node: ast.expr) -> str:
        """An operand as it is written, "" where it is long."""
        written = self.one.text(node)
        return written if len(written) <= 40 and "\n" not in written else ""

    def operands(self) -> tuple[str, str]:
        return self.text(self.left), self.text(self.right)

    def made_of(self, types: Types) -> tuple[TextEdit, ...]:
        """Edits that make the product of ``types``; none where a name cannot be written."""
        names = {name: self.one.numpy(name) for name in _wanted(types)}
        precise = self._precise() if types.precise else ""
        if None in names.values() or precise is None:
            return ()
        written = {name: spelled for name, spelled in names.items() if spelled is not None}
        keywords = {SUM_KEYWORD: written.get(types.total, ""), "precision": precise}
        given = {name: text for name, text in keywords.items() if text}
        if self.call is None:
            return self._called(types, written, given)
        edits = [
            *self._cast(self.left, types.left, written),
            *self._cast(self.right, types.right, written),
            *self._keywords(self.call, given),
            *self._cast(self.call, types.result, written),
        ]
        return complete(edits)

    def _precise(self) -> str | None:
        precision = self.one.lax("Precision")
        return f"{precision}.HIGHEST" if precision is not None else None

    def _keywords(self, call: ast.Call, given: dict[str, str]) -> list[TextEdit | None]:
        syntax = self.one.syntax
        present = {name: keyword(call, name) for name in given}
        new = ", ".join(f"{name}={text}" for name, text in given.items() if not present[name])
        edits = [syntax.replace(at.value, given[name]) for name, at in present.items() if at]
        return [*edits, add_keyword(syntax, call, new)] if new else edits

    def _cast(
        self, node: ast.expr, dtype: str, written: dict[str, str]
    ) -> Sequence[TextEdit | None]:
        if not dtype:
            return ()
        if node is self.call:
            return (self.one.syntax.insert(end_of(node), f".astype({written[dtype]})"),)
        return followed_by(self.one.syntax, node, f".astype({written[dtype]})")

    def _called(
        self, types: Types, written: dict[str, str], given: dict[str, str]
    ) -> tuple[TextEdit, ...]:
        """``left @ right`` as a call, which can be given what it needs."""
        function = self.one.numpy("matmul")
        parts = [
            self._as_type(self.left, types.left, written),
            self._as_type(self.right, types.right, written),
            *(f"{name}={text}" for name, text in given.items()),
        ]
        text = f"{function}({', '.join(parts)})"
        text += f".astype({written[types.result]})" if types.result else ""
        edit = self.one.syntax.replace(self.one.node, text) if function is not None else None
        return (edit,) if edit is not None else ()

    def _as_type(self, node: ast.expr, dtype: str, written: dict[str, str]) -> str:
        text = self.one.text(node)
        if not dtype:
            return text
        is_tight = isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call))
        return f"{text if is_tight else f'({text})'}.astype({written[dtype]})"


def product(failure: Failure, sources: Library) -> Product | None:
    """The product at the failure's place, ``None`` where it is written in another way."""
    one = called(failure, sources)
    if one is None:
        return None
    if isinstance(one.node, ast.BinOp) and isinstance(one.node.op, ast.MatMult):
        return Product(one, one.node.left, one.node.right)
    names = _OPERANDS.get(one.name)
    if names is None:
        return None
    left, right = (_operand(one, alike, at) for at, alike in enumerate(names))
    return Product(one, left, right) if left is not None and right is not None else None


def _operand(one: Called, names: tuple[str, ...], position: int) -> ast.expr | None:
    return next((found for name in names if (found := one.argument(name, position))), None)


def _wanted(types: Types) -> set[str]:
    return {name for name in (types.left, types.right, types.total, types.result) if name}
