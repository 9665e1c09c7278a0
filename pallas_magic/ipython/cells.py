"""The cells of a session as documents: what the user sees and what was compiled for it."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Sequence
from typing import Any

from pallas_magic.ipython.origins import (
    TracedLine,
    clean,
    executed_origins,
    replace_magics,
    trace_lines,
)
from pallas_magic.ipython.transform import MAGIC_LINE, arm_check
from pallas_magic.report import Source
from pallas_magic.source.document import Document

_TIMED = re.compile(r"%%(time|timeit)\b")


@dataclasses.dataclass(frozen=True)
class CellText:
    """A cell's user text, and the code run for it: the whole text, or a body inside it."""

    key: str
    source: Source
    code: str


def cell_document(shell: Any, cell: CellText, filename: str, executed: str) -> Document:
    """The document of ``cell``, compiled under ``filename`` from ``executed``."""
    if cell.code == cell.source.text:
        lines = trace_lines(cell.source.text)
        return _document(shell, cell, lines, filename, executed, first=None)
    lines, first = _code_lines(shell, cell)
    return _document(shell, cell, lines, filename, executed, first)


def timed_document(shell: Any, cell: CellText) -> Document | None:
    """The document of a ``%%time`` or ``%%timeit`` body, which has a file name of its own."""
    lines, start = _code_lines(shell, cell)
    inner, kind = _timed_body(lines)
    if not kind:
        return None
    executed = _transform(shell, lines[inner:])
    filename = "<magic-timeit>" if kind == "timeit" else _timed_name(executed)
    return _document(shell, cell, lines[inner:], filename, executed, start + inner)


def body_start(shell: Any, text: str, code: str) -> int | None:
    """Which line of the cleaned ``text`` its end ``code`` begins at; ``None`` if it is not one."""
    return _find_body(_clean_lines(shell, text), code)


def _find_body(lines: Sequence[TracedLine], code: str) -> int | None:
    wanted = code.rstrip("\n").split("\n")
    texts = "".join(line.text for line in lines).rstrip("\n").split("\n")
    first = len(texts) - len(wanted)
    return first if code.strip() and first >= 0 and texts[first:] == wanted else None


def _code_lines(shell: Any, cell: CellText) -> tuple[list[TracedLine], int]:
    lines = _clean_lines(shell, cell.source.text)
    first = 0 if cell.code == cell.source.text else _find_body(lines, cell.code) or 0
    return lines[first:], first


def _timed_body(lines: Sequence[TracedLine]) -> tuple[int, str]:
    for index, line in enumerate(lines):
        text = line.text.rstrip()
        timed = _TIMED.match(text)
        if timed is not None:
            return index + 1, timed[1]
        if text and not MAGIC_LINE.match(text):
            break
    return 0, ""


def _timed_name(executed: str) -> str:
    try:
        body = ast.parse(executed).body
    except SyntaxError:
        return "<timed exec>"
    single = len(body) == 1 and isinstance(body[0], ast.Expr)
    return "<timed eval>" if single else "<timed exec>"


def _clean_lines(shell: Any, text: str) -> list[TracedLine]:
    """Lines after IPython's cleaning, before our magic's line and cell magics are replaced."""
    transforms = shell.input_transformer_manager.cleanup_transforms
    kept = [transform for transform in transforms if transform is not arm_check]
    return clean(trace_lines(text), kept)


def _transform(shell: Any, lines: Sequence[TracedLine]) -> str:
    executed: str = shell.transform_cell("".join(line.text for line in lines))
    return executed


def _document(
    shell: Any,
    cell: CellText,
    lines: Sequence[TracedLine],
    filename: str,
    executed: str,
    first: int | None,
) -> Document:
    manager = shell.input_transformer_manager
    cleaned = clean(lines, [*manager.cleanup_transforms, *manager.line_transforms])
    origins = executed_origins(replace_magics(cleaned, manager), executed)

    def execute(edited: str) -> str:
        if first is not None:
            return _transform(shell, _clean_lines(shell, edited)[first:])
        transformed: str = shell.transform_cell(edited)
        return transformed

    return Document(cell.key, cell.source, filename, executed, origins, execute)
