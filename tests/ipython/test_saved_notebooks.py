"""Saved notebooks as other programs show them: nbconvert's HTML and Markdown."""

from __future__ import annotations

import os
import re
from html.parser import HTMLParser
from typing import Any

import nbconvert as untyped_nbconvert
import nbformat as untyped_nbformat
import pytest
from nbclient import NotebookClient

from tests.ipython.cells import BAD, GOOD, checked
from tests.ipython.kernel import IMPORTS, LOAD, ROOT

nbconvert: Any = untyped_nbconvert
nbformat: Any = untyped_nbformat
SCRIPT = "<script>run()</script>"
COMMENT = "# </pre></section><!-- <b>"
EVERYWHERE = "--target tpu:all,gpu:all"
# In a string and a comment beside the store, and as the kernel's name: all of it is on the card.
WITH_MARKUP = BAD.replace("2.0", f'len("{SCRIPT}")  {COMMENT}')
NAMED = WITH_MARKUP.replace("\nscaled = ", f'\nscale.__name__ = "{SCRIPT}"\nscaled = ', 1)
EXPLAINED = """\
lowered = jax.jit(scaled).trace(jnp.ones((8, 128))).lower(lowering_platforms=("tpu",))
"""
MESSAGE = "o_ref is in SMEM, which holds scalars; this stores a float32[8,128] vector"
FIXED = "out_specs=pl.BlockSpec(memory_space=pltpu.VMEM),"
CARDS = 4


class Page(HTMLParser):
    """The text of a page, and of its cards, as a browser reads them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.cards: list[str] = []
        self.scripts: list[str] = []
        self.buttons = 0
        self._open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("section", "script"):
            self._open.append(tag)
            (self.cards if tag == "section" else self.scripts).append("")
        self.buttons += tag == "button"

    def handle_endtag(self, tag: str) -> None:
        if tag in ("section", "script"):
            assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open:
            (self.cards if self._open[-1] == "section" else self.scripts)[-1] += data


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A notebook that was run and holds findings of every kind of cell."""
    path = os.pathsep.join(p for p in (str(ROOT), os.environ.get("PYTHONPATH")) if p)
    made = nbformat.v4.new_notebook()
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python"}
    cells = (checked(BAD), EXPLAINED, checked(GOOD, EVERYWHERE), checked(NAMED))
    made.cells = [nbformat.v4.new_code_cell(text) for text in (LOAD, IMPORTS, *cells)]
    for cell in made.cells:
        cell.metadata["tags"] = ["raises-exception"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", path)
        patch.setenv("JAX_PLATFORMS", "cpu")
        patch.setenv("IPYTHONDIR", str(tmp_path_factory.mktemp("ipython")))
        NotebookClient(made).execute()
    file = tmp_path_factory.mktemp("saved") / "saved.ipynb"
    nbformat.write(made, file)
    return nbformat.read(file, as_version=4)


@pytest.fixture(scope="module")
def html(saved: Any) -> str:
    return str(nbconvert.HTMLExporter().from_notebook_node(saved)[0])


@pytest.fixture(scope="module")
def markdown(saved: Any) -> str:
    return str(nbconvert.MarkdownExporter().from_notebook_node(saved)[0])


def outside_code(markdown: str) -> str:
    """``markdown`` without what it shows as code, fenced or indented."""
    unfenced = re.sub(r"^```.*?^```$", "", markdown, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"^ {4}.*$", "", unfenced, flags=re.MULTILINE)


def test_html_holds_message_and_fixed_code(html: str) -> None:
    cards = Page(html).cards
    assert len(cards) == CARDS
    for card in (cards[0], cards[1], cards[3]):
        assert MESSAGE in card
        assert FIXED in card
    assert "on 8 chips" in cards[2]


def test_html_shows_what_the_user_wrote_as_text(html: str) -> None:
    page = Page(html)
    assert page.cards[3].count(SCRIPT) >= 2
    assert COMMENT in page.cards[3]
    assert not [script for script in page.scripts if script.startswith("run()")]


def test_html_has_no_button_and_no_colours_of_terminals(html: str) -> None:
    assert Page(html).buttons == 0
    # nbconvert draws widgets where there is a network, their buttons dead.
    assert "widget-view+json" not in re.sub(r"^.*querySelector.*$", "", html, flags=re.MULTILINE)
    assert "\x1b" not in html
    assert not re.search(r"\[[0-9;]+m", re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL))


def test_markdown_holds_message_and_fixed_code(markdown: str) -> None:
    cards = Page(outside_code(markdown)).cards
    assert len(cards) == CARDS
    assert all(MESSAGE in card and FIXED in card for card in (cards[0], cards[1], cards[3]))


def test_markdown_takes_each_card_as_one_piece(markdown: str) -> None:
    drawn = re.findall(r"<section.*?</section>", markdown, re.DOTALL)
    assert len(drawn) == CARDS
    assert not [card for card in drawn if re.search(r"\n\s*\n", card)]


def test_markdown_says_what_was_found_before_how_it_looks(markdown: str) -> None:
    first = outside_code(markdown)
    assert first.index("<section") < first.index("<style")


def test_markdown_shows_what_the_user_wrote_as_text(markdown: str) -> None:
    assert "<script" not in outside_code(markdown)
    assert "\x1b" not in markdown
