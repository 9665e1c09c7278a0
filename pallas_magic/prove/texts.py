"""A document before and after a fix: both texts parsed, compiled and paired."""

from __future__ import annotations
import __future__ as future

import ast
import difflib
import functools
import itertools
import warnings
from collections.abc import Iterable, Iterator, Mapping
from types import CodeType
from typing import Any

from pallas_magic.prove.alignment import Alignment, position
from pallas_magic.prove.unprovable import NotProvable
from pallas_magic.report import TextEdit
from pallas_magic.source.document import Document
from pallas_magic.source.edits import apply_edits

_FUTURE_FLAGS = functools.reduce(
    lambda flags, name: flags | getattr(future, name).compiler_flag,
    future.all_feature_names,
    0,
)


class EditedText:
    """One document with edits made to the user's text of it."""

    def __init__(self, document: Document, edits: Iterable[TextEdit]) -> None:
        self.document = document
        self.filename = document.filename
        try:
            user_text = apply_edits(document.source.text, edits)
        except ValueError as error:
            raise NotProvable(f"the edits do not fit {document.source.label}: {error}") from error
        self.before = document.executed
        self.after = document.execute(user_text)
        self.old_tree = self._parse(self.before)
        self.new_tree = self._parse(self.after)
        self.alignment = Alignment(self.old_tree, self.new_tree)
        self._pairs: dict[int, list[tuple[CodeType, CodeType | None]]] = {}

    def new_code(self, code: CodeType) -> CodeType | None:
        """What ``code``, of a live function, becomes; ``None`` if it is not of this text."""
        flags = code.co_flags & _FUTURE_FLAGS
        for old, new in self._paired(flags):
            if old == code and old.co_qualname == code.co_qualname:
                if new is None:
                    raise NotProvable(f"the edited text has several functions `{code.co_name}`")
                return new
        return None

    def positions(self) -> frozenset[tuple[str, int, int]]:
        """File name, line and column of every difference in the old text."""
        return frozenset((self.filename, *position(path)) for path in self.alignment.differences)

    def changed_lines(self) -> frozenset[int]:
        """The lines of the new text that the old one does not have."""
        kept = {new for _, new in self._kept_lines()}
        count = len(self.after.split("\n"))
        return frozenset(number for number in range(1, count + 1) if number not in kept)

    def new_line(self, line: int) -> int:
        """Where a line of the old text is in the new one, or the next line that was kept."""
        return min((new for old, new in self._kept_lines() if old >= line), default=line)

    def _kept_lines(self) -> list[tuple[int, int]]:
        """Each line that both texts have: its number before and after."""
        before, after = self.before.split("\n"), self.after.split("\n")
        blocks = difflib.SequenceMatcher(None, before, after, False).get_matching_blocks()
        return [
            (block.a + offset + 1, block.b + offset + 1)
            for block in blocks
            for offset in range(block.size)
        ]

    def _paired(self, flags: int) -> list[tuple[CodeType, CodeType | None]]:
        if flags not in self._pairs:
            pairs = [
                _pair(self._compile_parts(old, flags), self._compile_parts(new, flags))
                for old, new in zip(_units(self.old_tree), _units(self.new_tree), strict=True)
            ]
            self._pairs[flags] = [*itertools.chain.from_iterable(pairs)]
        return self._pairs[flags]

    def _compile_parts(self, parts: list[ast.Module], flags: int) -> list[CodeType]:
        return [self._compile(part, flags) for part in parts]

    def _parse(self, text: str) -> ast.Module:
        tree: ast.Module = self._compile(text, ast.PyCF_ONLY_AST)
        return tree

    def _compile(self, text: str | ast.Module, flags: int) -> Any:
        flags |= ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return compile(text, self.filename, "exec", flags, dont_inherit=True)
        except SyntaxError as error:
            raise NotProvable(f"the edited text does not parse: {error.msg}") from error


def _units(tree: ast.Module) -> tuple[list[ast.Module], list[ast.Module]]:
    """What is compiled at once: a file as a whole, a cell's statements one by one.

    It shows in the code: a call on a module that the same unit imports is
    compiled otherwise (CPython 3.12 and later).
    """
    return [tree], [ast.Module([statement], []) for statement in tree.body]


def _pair(old: list[CodeType], new: list[CodeType]) -> Iterator[tuple[CodeType, CodeType | None]]:
    """Each code object inside some units with the one that takes its place."""
    before, after = _children(old), _children(new)
    for name, codes in before.items():
        others = after.get(name, [])
        same_count = len(codes) == len(others)
        for code, other in zip(codes, others if same_count else [None] * len(codes), strict=True):
            yield code, other
            yield from _pair([code], [other] if other is not None else [])


def _children(codes: list[CodeType]) -> Mapping[str, list[CodeType]]:
    found: dict[str, list[CodeType]] = {}
    for code in codes:
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                found.setdefault(constant.co_name, []).append(constant)
    return found
