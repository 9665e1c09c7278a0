"""Whether an expression could be written somewhere else."""

from __future__ import annotations

import pytest

from pallas_magic.report import Source
from pallas_magic.source.bindings import means_the_same
from pallas_magic.source.document import plain_document
from pallas_magic.source.resolve import Expression
from tests.source.cells import cell, library, place, syntax


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import a\nx = f(a.b)\nhere", True),
        ("a = 1\nx = f(a)\nhere", True),
        ("a = 1\nx = f(a)\na = 2\nhere", False),
        ("x = f(lambda i: (i, 0))\nhere", True),
        ("x = f([i for i in range(3)])\nhere", True),
        ("x = [f(i) for i in range(3)]\nhere", False),
        ("for i in range(3):\n    x = f(i)\nhere", False),
        ("def g(i):\n    return f(i)\nhere", False),
        ("def g(i):\n    return f(1)\nhere", True),
        ("def g(i):\n    x = f(i)\n    here", True),
        ("def g():\n    i = 1\n    x = f(i)\n    i = 2\n    here", False),
        ("i = 1\nx = f(i)\ndef g(i):\n    here", False),
        ("def g(i):\n    def h():\n        x = f(i)\n        return here", True),
    ],
)
def test_within_a_cell(text: str, expected: bool) -> None:
    document = cell(text + "\n")
    tree = syntax(document)
    start = text.index("f(")
    written = text[start : text.index("\n", start)]
    while tree.at(place(document, written)) is None:
        written = written[:-1]
    node, at = tree.at(place(document, written)), tree.at(place(document, "here"))
    assert node is not None
    assert at is not None
    found = means_the_same(library(document), Expression(tree, node), Expression(tree, at))
    assert found is expected


def test_across_cells_and_files() -> None:
    first, second = cell("a = 1\nx = f(a)\n", "first"), cell("here\n", "second")
    file = plain_document("m.py", "a = 1\nx = f(a)\n", Source("file", "m.py", ""), "m.py")
    sources = library(first, second, file)
    at = syntax(second).at(place(second, "here"))
    assert at is not None
    for document, expected in ((first, True), (file, False)):
        node = syntax(document).at(place(document, "f(a)"))
        assert node is not None
        expression = Expression(syntax(document), node)
        assert means_the_same(sources, expression, Expression(syntax(second), at)) is expected
