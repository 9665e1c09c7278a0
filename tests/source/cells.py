"""Cells whose executed text differs from the user's, as a notebook makes them."""

from __future__ import annotations

import textwrap

from pallas_magic.report import Source, TextEdit
from pallas_magic.source.document import Document, Library, LineOrigin, Place, plain_document
from pallas_magic.source.edits import apply_edits
from pallas_magic.source.syntax import Syntax, parse


def cell(text: str, name: str = "cell") -> Document:
    """A cell that runs as it stands."""
    return plain_document(name, text, Source("cell", name, text), name)


def indented_cell(text: str, magic: str = "%%time") -> Document:
    """A cell below a magic, all of it indented, as IPython would dedent it."""
    executed = textwrap.dedent(text)
    shift = len(text) - len(text.lstrip(" "))
    lines = executed.split("\n")
    origins = tuple(LineOrigin(number + 2, shift) for number in range(len(lines)))
    seen = f"{magic}\n{text}"
    source = Source("cell", "In[1]", seen)
    return Document("cell", source, "cell", executed, origins, lambda edited: edited)


def library(*documents: Document) -> Library:
    found = Library()
    for document in documents:
        found.add(document)
    return found


def syntax(document: Document) -> Syntax:
    found = parse(document)
    assert found is not None
    return found


def place(document: Document, text: str, occurrence: int = 0) -> Place:
    """The place of ``text`` on the line of the executed text that has it."""
    start = -1
    for _ in range(occurrence + 1):
        start = document.executed.index(text, start + 1)
    before = document.executed[:start]
    line = before.count("\n") + 1
    column = len(before.rpartition("\n")[2].encode())
    return Place(document.filename, line, column, line, column + len(text.encode()))


def edited(document: Document, *edits: TextEdit | None) -> str:
    """The user's text after edits that must all have been possible."""
    known = [edit for edit in edits if edit is not None]
    assert len(known) == len(edits)
    return apply_edits(document.source.text, known)
