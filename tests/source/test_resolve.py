"""What names, helpers and literals stand for, told from the text."""

from __future__ import annotations

import pytest

from pallas_magic.failure import CallSite
from pallas_magic.source.document import Document, Place
from pallas_magic.source.resolve import Expression, bound_name, leaves, resolve, uses
from pallas_magic.source.specs import operand_spec, spec_call
from tests.source.cells import cell, library, place, syntax


def last_expression(document: Document) -> Expression:
    tree = syntax(document)
    line = document.executed.rstrip("\n").rpartition("\n")[2]
    node = tree.at(place(document, line.strip(), document.executed.count(line.strip()) - 1))
    assert node is not None
    return Expression(tree, node)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = f(1)\na", "f(1)"),
        ("a: int = f(1)\nb = a\nb", "f(1)"),
        ("def g():\n    return f(1)\ng()", "f(1)"),
        ("def g():\n    a = f(1)\n    return a\ng()", "f(1)"),
        ("a = 1\na = 2\na", "a"),
        ("for a in b: pass\na", "a"),
        ("a, b = c\na", "a"),
        ("def g(x):\n    if x: return 1\n    return 2\ng(1)", "g(1)"),
        ("def g(): pass\ndef g(): return 1\ng()", "g()"),
        ("a = a\na", "a"),
        ("def g(): return g()\ng()", "g()"),
        ("unknown", "unknown"),
    ],
)
def test_resolve(text: str, expected: str) -> None:
    document = cell(text + "\n")
    assert resolve(library(document), last_expression(document)).text == expected


@pytest.mark.parametrize(
    "later",
    [
        "a = g(1)\na = h(1)\n",
        "def a(): pass\n",
        "import a.b\n",
        "def g():\n    global a\n    a = h(1)\n",
        "for a in b: pass\n",
        "from a_module_that_is_not_loaded import *\n",
    ],
)
def test_a_cell_that_binds_a_name_in_another_way_hides_earlier_ones(later: str) -> None:
    first, second, use = cell("a = f(1)\n", "first"), cell(later, "second"), cell("a\n", "use")
    assert resolve(library(first, second, use), last_expression(use)).text == "a"


@pytest.mark.parametrize(("name", "expected"), [("a", "f(1)"), ("join", "join")])
def test_a_star_hides_what_its_module_has(name: str, expected: str) -> None:
    first = cell(f"{name} = f(1)\n", "first")
    star, use = cell("from os.path import *\n", "star"), cell(f"{name}\n", "use")
    assert resolve(library(first, star, use), last_expression(use)).text == expected


def test_a_parameter_hides_a_name_of_the_module() -> None:
    document = cell("size = 1\ndef g(size):\n    return size\n")
    tree = syntax(document)
    node = tree.at(place(document, "size", 2))
    assert node is not None
    assert resolve(library(document), Expression(tree, node)).node is node


def test_names_of_other_cells() -> None:
    first, second = cell("a = f(1)\n", "first"), cell("a\n", "second")
    found = resolve(library(first, second), last_expression(second))
    assert (found.text, found.syntax.document.key) == ("f(1)", "first")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[a, (b, [c])]", ["a", "b", "c"]),
        ("{'y': a, 'x': b}", ["b", "a"]),
        ("a", ["a"]),
        ("p = [b, c]\n(a, p)", ["a", "b", "c"]),
        ("[a, None]", ["a", "None"]),
        ("[*a, b]", None),
        ("{x: a}", ["{x: a}"]),
        ("[a] * 2", ["[a] * 2"]),
    ],
)
def test_leaves(text: str, expected: list[str] | None) -> None:
    document = cell(text + "\n")
    found = leaves(library(document), last_expression(document))
    assert (None if found is None else [one.text for one in found]) == expected


def test_uses_over_all_cells_and_the_name_of_an_assignment() -> None:
    first, second = cell("a = f(1)\nb(a)\n", "first"), cell("a + a\n", "second")
    sources = library(first, second)
    assert uses(sources, syntax(first), "a") == 3
    node = syntax(first).at(place(first, "f(1)"))
    assert node is not None
    assert bound_name(syntax(first), node) == "a"


CALLS = {
    "direct": "y = pl.pallas_call(k, in_specs=[a, b])(x)",
    "applied later": "g = pl.pallas_call(k, in_specs=[a, b])\ny = g(x)",
    "grid spec": "s = pl.GridSpec(in_specs=(a, b))\ny = pl.pallas_call(k, grid_spec=s)(x)",
    "partial": "y = functools.partial(pl.pallas_call, in_specs=[a, b])(k)(x)",
    "helper": "def g():\n    return pl.pallas_call(k, in_specs=[a, b])\ny = g()(x)",
}


@pytest.mark.parametrize("name", CALLS)
def test_spec_of_an_operand_from_where_the_kernel_is_called(name: str) -> None:
    document = cell(CALLS[name] + "\n")
    sources = library(document)
    applied = document.executed.rstrip("\n").rpartition("y = ")[2]
    found = spec_call(sources, CallSite(place(document, applied), None))
    assert found is not None
    spec = operand_spec(sources, found, ("in_specs",), 1, 2)
    assert spec is not None
    assert spec.text == "b"
    assert operand_spec(sources, found, ("in_specs",), 1, 3) is None
    assert operand_spec(sources, found, ("out_specs",), 0, 1) is None


def test_call_found_by_its_kernel() -> None:
    first = cell("def k(x_ref): pass\ndef other(x_ref): pass\n", "first")
    second = cell(
        "pl.pallas_call(other, in_specs=[a])\npl.pallas_call(partial(k, 1), in_specs=[b])\n",
        "second",
    )
    sources = library(first, second)
    kernel = Place("first", 1, 0, 1, 0, "k")
    found = spec_call(sources, CallSite(None, kernel))
    assert found is not None
    assert found.syntax.text(found.node) == "pl.pallas_call(partial(k, 1), in_specs=[b])"


def test_no_call_where_two_take_the_kernel() -> None:
    document = cell("def k(x_ref): pass\npl.pallas_call(k)\npl.pallas_call(k)\n")
    site = CallSite(None, Place("cell", 1, 0, 1, 0, "k"))
    assert spec_call(library(document), site) is None
