"""Edits of one argument of a call."""

from __future__ import annotations

import ast

import pytest

from pallas_magic.source.calls import add_keyword, argument, keyword, remove_keyword
from tests.source.cells import cell, edited, syntax


def parsed(text: str) -> tuple[ast.Call, str]:
    call = next(node for node in ast.walk(syntax(cell(text)).module) if isinstance(node, ast.Call))
    return call, text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f()", "f(k=1)"),
        ("f(a)", "f(a, k=1)"),
        ("f(a, b=2,)", "f(a, b=2, k=1,)"),
        ("f(a, b=(2))", "f(a, b=(2), k=1)"),
        ("f(\n    a,\n    b=2,\n)", "f(\n    a,\n    b=2,\n    k=1,\n)"),
        ("f(\n    a,\n    b=2\n)", "f(\n    a,\n    b=2,\n    k=1\n)"),
        (
            "f(\n    a,\n    b=(2  # two )\n    ),\n)",
            "f(\n    a,\n    b=(2  # two )\n    ),\n    k=1,\n)",
        ),
        ("f(*a, **b)", "f(*a, **b, k=1)"),
        ("f('ä', b='🐍')", "f('ä', b='🐍', k=1)"),
    ],
)
def test_add_keyword_behind_the_last_argument(text: str, expected: str) -> None:
    document = cell(text + "\n")
    tree = syntax(document)
    call = next(node for node in ast.walk(tree.module) if isinstance(node, ast.Call))
    assert edited(document, add_keyword(tree, call, "k=1")) == expected + "\n"


def test_add_keyword_behind_another() -> None:
    document = cell("f(a, b=2, c=3)\n")
    tree = syntax(document)
    call = next(node for node in ast.walk(tree.module) if isinstance(node, ast.Call))
    edit = add_keyword(tree, call, "k=1", after=keyword(call, "b"))
    assert edited(document, edit) == "f(a, b=2, k=1, c=3)\n"


def test_a_long_line_is_continued_below_the_first_argument() -> None:
    value = "x" * 80
    document = cell(f"y = f(a, b={value})\n")
    tree = syntax(document)
    call = next(node for node in ast.walk(tree.module) if isinstance(node, ast.Call))
    edit = add_keyword(tree, call, "keyword=1")
    assert edited(document, edit) == f"y = f(a, b={value},\n      keyword=1)\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f(k=1)", "f()"),
        ("f(k=1,)", "f()"),
        ("f(a, k=1)", "f(a)"),
        ("f(k=1, a=2)", "f(a=2)"),
        ("f(a, k=(1), b=2)", "f(a, b=2)"),
        ("f(\n    a,\n    k=1,\n)", "f(\n    a,\n)"),
    ],
)
def test_remove_keyword(text: str, expected: str) -> None:
    document = cell(text + "\n")
    tree = syntax(document)
    call = next(node for node in ast.walk(tree.module) if isinstance(node, ast.Call))
    given = keyword(call, "k")
    assert given is not None
    assert edited(document, remove_keyword(tree, call, given)) == expected + "\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [("f(a, b)", "b"), ("f(a, second=c)", "c"), ("f(a)", None), ("f(*a, b)", None)],
)
def test_argument_by_name_or_position(text: str, expected: str | None) -> None:
    call, _ = parsed(text)
    found = argument(call, "second", 1)
    assert (ast.unparse(found) if found is not None else None) == expected
