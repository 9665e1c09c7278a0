"""What was executed and where it came from: cells, files and the map between.

Python and JAX speak of the text that was compiled (after IPython dropped blank
lines, indentation and magics) and count columns in UTF-8 bytes. A
:class:`Document` turns such a :class:`Place` into the :class:`Span` its user
sees.
"""

from __future__ import annotations

import dataclasses
import linecache
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from pallas_magic.report import Source, Span
from pallas_magic.source.files import is_editable
from pallas_magic.source.loaded import is_loaded, loaded_codes


@dataclasses.dataclass(frozen=True, order=True)
class Place:
    """A stretch of executed code as a code object tells it.

    Lines count from 1 in the text that was compiled under ``filename``,
    columns are UTF-8 bytes from 0, ends are exclusive. ``function`` is the
    qualified name of the code object.
    """

    filename: str
    line: int
    col: int
    end_line: int
    end_col: int
    function: str = ""

    def same_stretch(self, other: Place) -> bool:
        """Whether both are the same stretch of the same text."""
        return dataclasses.replace(self, function=other.function) == other


@dataclasses.dataclass(frozen=True)
class LineOrigin:
    """Where one executed line stands in the user's text.

    ``line`` counts from 1; ``shift`` is how many code points further right the
    user's text has it (dropped indentation, a prompt, a magic's name).
    """

    line: int
    shift: int = 0


@dataclasses.dataclass(frozen=True, eq=False)
class Document:
    """One text that was compiled under ``filename``, with the user's text it came from.

    ``origins`` has one entry for each executed line, ``None`` where the line
    is not the user's. ``execute`` turns a changed user text into what would be
    compiled for it, so that a fix can be substituted.
    """

    key: str
    source: Source
    filename: str
    executed: str
    origins: tuple[LineOrigin | None, ...]
    execute: Callable[[str], str]

    def span(self, place: Place) -> Span | None:
        """The user's span of ``place``; ``None`` where it is not in the user's text."""
        start = self._point(place.line, place.col)
        end = self._point(place.end_line, place.end_col)
        if start is None or end is None:
            return None
        return Span(self.key, *start, *end)

    def _point(self, line: int, byte_col: int) -> tuple[int, int] | None:
        if not 1 <= line <= len(self.origins):
            return None
        origin = self.origins[line - 1]
        if origin is None:
            return None
        text = self.executed.split("\n")[line - 1]
        column = len(text.encode()[:byte_col].decode(errors="replace"))
        return origin.line, column + origin.shift


class Library(Mapping[str, Document]):
    """The documents of a check by key, found by the file name they were compiled under.

    Cells are added by their host; a file's document is read at first use.
    """

    def __init__(self) -> None:
        self._by_key: dict[str, Document] = {}
        self._by_filename: dict[str, Document] = {}
        self._modules: dict[str, dict[str, str]] = {}
        self._states: dict[str, object] = {}
        self._tried: dict[str, object] = {}

    def add(self, document: Document) -> None:
        """Make ``document`` the one found under its file name."""
        self._by_key[document.key] = document
        self._by_filename[document.filename] = document

    def find(self, filename: str) -> Document | None:
        """The document compiled under ``filename``, reading the file if it is one.

        A file that changed is read again once the code that is loaded is of its new text.
        """
        known = self._by_filename.get(filename)
        if known is not None and known.source.kind != "file":
            return known
        state = _state_of(filename)
        if known is None or state != self._states.get(filename):
            self._read(filename, known, state)
        return self._by_filename.get(filename)

    def _read(self, filename: str, known: Document | None, state: object) -> None:
        codes = loaded_codes(filename)
        if known is not None and self._tried.get(filename) == (state, codes):
            return
        self._tried[filename] = state, codes
        document = read_file(filename)
        if known is None or (document is not None and is_loaded(codes, document.source.text)):
            self._states[filename] = state
            if document is not None:
                self.add(document)

    def cells(self) -> Iterator[Document]:
        """The cells, which share one namespace, the last one first."""
        known = [document for document in self.values() if document.source.kind == "cell"]
        yield from reversed(known)

    def span(self, place: Place | None) -> Span | None:
        """The user's span of ``place``, ``None`` where no user text is known."""
        document = self.find(place.filename) if place is not None else None
        return document.span(place) if document is not None and place is not None else None

    def learn_modules(self, filename: str, names: Mapping[str, str]) -> None:
        """Note that code compiled under ``filename`` sees modules under these names.

        A text does not tell it all: cells share what ran before they were known.
        """
        self._modules.setdefault(filename, {}).update(names)

    def modules(self, document: Document) -> dict[str, str]:
        """Name to module, as far as learned, for the namespace of ``document``."""
        if document.source.kind == "file":
            return dict(self._modules.get(document.filename, {}))
        learned: dict[str, str] = {}
        for filename, names in self._modules.items():
            found = self._by_filename.get(filename)
            if found is not None and found.source.kind == "cell":
                learned |= names
        return learned

    def __getitem__(self, key: str) -> Document:
        return self._by_key[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_key)

    def __len__(self) -> int:
        return len(self._by_key)


def plain_document(filename: str, text: str, source: Source, key: str) -> Document:
    """A document whose executed text is the user's text."""
    lines = text.split("\n")
    origins = tuple(LineOrigin(number) for number in range(1, len(lines) + 1))
    return Document(key, source, filename, text, origins, lambda edited: edited)


def read_file(filename: str) -> Document | None:
    """The document of a Python file, or of a name that ``linecache`` knows."""
    linecache.checkcache(filename)
    lines = linecache.getlines(filename)
    if not lines:
        return None
    text = "".join(lines)
    label = Path(filename).name if Path(filename).exists() else filename
    source = Source("file", label, text, editable=is_editable(filename))
    return plain_document(filename, text, source, filename)


def _state_of(filename: str) -> object:
    """Equal as long as the file does not change."""
    try:
        found = Path(filename).stat()
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_size
