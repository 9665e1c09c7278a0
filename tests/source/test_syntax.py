"""Nodes at places, and edits of the text that the user sees."""

from __future__ import annotations

import ast

from pallas_magic.report import Source, Span
from pallas_magic.source.document import Document, LineOrigin
from pallas_magic.source.syntax import identifier, parse, start_of, syntax_of
from tests.source.cells import cell, edited, indented_cell, library, place, syntax

EMOJI = 'size = "🐍"; größe[...] = size  # ß\n'


def test_expression_at_a_place_counts_bytes() -> None:
    document = cell(EMOJI)
    node = syntax(document).at(place(document, "größe[...]"))
    assert isinstance(node, ast.Subscript)
    assert syntax(document).text(node) == "größe[...]"
    assert syntax(document).span(node) == Span("cell", 1, 12, 1, 22)


def test_no_expression_where_a_place_covers_a_part() -> None:
    document = cell("a = b + c\n")
    assert syntax(document).at(place(document, "b +")) is None


def test_a_text_that_is_not_python_has_no_syntax() -> None:
    assert parse(cell("a = = b\n")) is None
    assert parse(cell("a = '\x00'\n")) is None


def test_syntax_of_a_place_in_no_document() -> None:
    document = cell("a = 1\n")
    assert syntax_of(library(document), None) is None
    assert syntax_of(library(document), place(document, "a")) is syntax(document)


def test_statement_and_function_around_a_node() -> None:
    document = cell("def f(x):\n    return [lambda y: x[0]][0]\n")
    tree = syntax(document)
    node = tree.at(place(document, "x[0]"))
    assert node is not None
    assert isinstance(tree.statement(node), ast.Return)
    assert [type(one) for one in tree.functions(node)] == [ast.Lambda, ast.FunctionDef]


def test_text_over_several_lines() -> None:
    document = cell("f(\n    ä,\n    b)\n")
    assert syntax(document).text_between((1, 1), (3, 6)) == "(\n    ä,\n    b)"


def test_replacing_in_an_indented_cell_below_a_magic() -> None:
    document = indented_cell("  a = 1\n  b = a\n")
    tree = syntax(document)
    node = tree.at(place(document, "a", 1))
    assert node is not None
    assert edited(document, tree.replace(node, "c")) == "%%time\n  a = 1\n  b = c\n"
    assert tree.indentation(2) == "  "
    assert edited(document, tree.insert(start_of(node), "-")) == "%%time\n  a = 1\n  b = -a\n"


def test_no_edit_where_the_user_sees_another_text() -> None:
    source = Source("cell", "In[1]", "!ls x\n")
    document = Document("k", source, "k", "run('x')\n", (LineOrigin(1), LineOrigin(2)), str)
    node = syntax(document).at(place(document, "run"))
    assert node is not None
    assert syntax(document).replace(node, "walk") is None


def test_no_edit_in_a_line_that_is_not_the_users() -> None:
    document = Document("k", Source("cell", "In[1]", "a\n"), "k", "a\n", (None, None), str)
    node = syntax(document).at(place(document, "a"))
    assert node is not None
    assert syntax(document).replace(node, "b") is None


def test_identifier_is_the_last_part_of_a_dotted_name() -> None:
    names = {
        text: identifier(ast.parse(text, mode="eval").body) for text in ("a", "a.b.c", "f().c")
    }
    assert names == {"a": "a", "a.b.c": "c", "f().c": ""}
