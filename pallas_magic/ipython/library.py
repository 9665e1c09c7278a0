"""Every cell the session ran, found by the file name that IPython compiled it under."""

from __future__ import annotations

import linecache
from collections.abc import Iterator
from types import CodeType
from typing import Any

from pallas_magic.ipython.cells import CellText, cell_document, timed_document
from pallas_magic.ipython.ran import Ran
from pallas_magic.report import Source, Span
from pallas_magic.source.document import Document, Library, Place
from pallas_magic.source.scopes import bindings
from pallas_magic.source.syntax import parse

# Bodies of every `%%time` cell share one of these names.
_SHARED_NAMES = ("<timed exec>", "<timed eval>", "<magic-timeit>")


class CellLibrary(Library):
    """A library that knows the session's cells; their documents are built when asked for.

    ``ran`` is the session's own list, to which it adds each cell as it begins.
    """

    def __init__(self, shell: Any, ran: list[Ran]) -> None:
        super().__init__()
        self._shell = shell
        self._ran = ran
        self._texts: dict[str, Ran] = {}
        self._knows_history = False

    def key_of(self, ran: Ran) -> str:
        """The key that the sources of ``ran`` have in reports."""
        return self.text_of(ran).key

    def text_of(self, ran: Ran) -> CellText:
        """The user's text that ``ran`` belongs to."""
        return self._cell_text(ran, self._counts(ran)[0])

    def add(self, document: Document) -> None:
        known = self._by_key.get(document.key)
        super().add(document)
        if known is not None and document.filename in _SHARED_NAMES:
            self._by_key[document.key] = known

    def find(self, filename: str) -> Document | None:
        if filename in _SHARED_NAMES:
            return next(self._timed(filename), None)
        if not _is_cell_name(filename):
            return super().find(filename)
        found = self._cell(filename)
        if found is None and self._take_history():
            found = self._cell(filename)
        return found or super().find(filename)

    def cells(self) -> Iterator[Document]:
        """The cells as they ran last, the last one first, whether anyone asked for them or not.

        A cell whose names later cells have all bound again is a thing of the past.
        """
        self._take_history()
        yield from (one for one in super().cells() if not _is_cell_name(one.filename))
        seen: set[str] = set()
        bound: set[str] = set()
        for ran in reversed(list(self._ran)):
            identity = {ran.code, (ran.outer or ran).cell_id or ran.code}
            if not identity & seen:
                document = self._last_document(ran)
                syntax = parse(document)
                names = set(bindings(syntax)) if syntax is not None else set()
                if not names or not names <= bound:
                    yield document
                bound |= names
            seen |= identity

    def _last_document(self, ran: Ran) -> Document:
        if ran.documents:
            return ran.documents[-1]
        count = self._counts(ran)[0]
        return self._document(ran, self._name(ran, count), count)

    def span(self, place: Place | None) -> Span | None:
        if place is None or place.filename not in _SHARED_NAMES:
            return super().span(place)
        matching = (doc for doc in self._timed(place.filename) if self._holds(doc, place))
        document = next(matching, None)
        return document.span(place) if document is not None else None

    def _cell(self, filename: str) -> Document | None:
        for ran in reversed(self._ran):
            for count in self._counts(ran):
                if self._name(ran, count) == filename:
                    return self._document(ran, filename, count)
        return None

    def _counts(self, ran: Ran) -> tuple[int, ...]:
        result = getattr(self._shell.displayhook, "exec_result", None)
        info = getattr(result, "info", None)
        if len(ran.counts) == 1 or info is None or info.raw_cell != ran.code:
            return ran.counts
        running = ran is self._ran[-1]
        count = getattr(result, "execution_count", None)
        return (count,) if running and count is not None else ran.counts

    def _name(self, ran: Ran, count: int) -> str:
        if count not in ran.names:
            name = self._shell.compile.get_code_name
            ran.names[count] = name(ran.code, self._executed(ran), count)
        return ran.names[count]

    def _executed(self, ran: Ran) -> str:
        if ran.executed is None:
            ran.executed = str(self._shell.transform_cell(ran.code))
        return ran.executed

    def _document(self, ran: Ran, filename: str, count: int) -> Document:
        for document in ran.documents:
            if document.filename == filename:
                self.add(document)
                return document
        document = cell_document(
            self._shell, self._cell_text(ran, count), filename, self._executed(ran)
        )
        ran.documents.append(document)
        self.add(document)
        return document

    def _cell_text(self, ran: Ran, count: int) -> CellText:
        whole = ran.outer or ran
        if not whole.key:
            label = f"In[{count}]"
            whole.key = next(key for key in _keys(label) if key not in self._texts)
            self._texts[whole.key] = whole
        label = whole.key.partition("#")[0]
        return CellText(whole.key, Source("cell", label, whole.text, whole.cell_id), ran.code)

    def _timed(self, filename: str) -> Iterator[Document]:
        """Documents of bodies that share ``filename``, the last run first."""
        for ran in reversed(self._ran):
            known = [doc for doc in ran.documents if doc.filename == filename]
            if not known and "%%time" in ran.code:
                document = timed_document(self._shell, self.text_of(ran))
                if document is not None and document.filename == filename:
                    ran.documents.append(document)
                    known = [document]
            for document in known:
                self.add(document)
                yield document

    def _holds(self, document: Document, place: Place) -> bool:
        """Whether the code of ``place`` can be that of ``document``: names are shared."""
        if place.function in ("", "<module>"):
            return bool(self._ran) and document in self._ran[-1].documents
        try:
            code = compile(document.executed, document.filename, "exec", dont_inherit=True)
        except SyntaxError:
            return False
        return any(
            place.function.endswith(inner.co_qualname) and place.line in _lines(inner)
            for inner in _inner_codes(code)
        )

    def _take_history(self) -> bool:
        """Take up the cells that ran before the extension was loaded; once, and if there are any.

        IPython's history has them, without the line end that they were compiled with.
        """
        history = self._shell.history_manager
        if self._knows_history or history is None:
            return False
        self._knows_history = True
        known = {ran.code.rstrip("\n") for ran in self._ran}
        pairs = zip(history.input_hist_raw, history.input_hist_parsed, strict=False)
        earlier = [
            self._earlier(count, raw, parsed)
            for count, (raw, parsed) in enumerate(pairs)
            if count and raw and raw.rstrip("\n") not in known
        ]
        self._ran[:0] = earlier
        return bool(earlier)

    def _earlier(self, count: int, raw: str, parsed: str) -> Ran:
        for code in (raw, raw + "\n"):
            filename = self._shell.compile.get_code_name(code, parsed, count)
            if lines := linecache.getlines(filename):
                return Ran(code, code, None, (count,), "".join(lines), names={count: filename})
        return Ran(raw, raw, None, (count,), parsed + "\n")


def _is_cell_name(filename: str) -> bool:
    return filename.startswith("<ipython-input-") or "ipykernel_" in filename


def _keys(label: str) -> Iterator[str]:
    yield label
    number = 2
    while True:
        yield f"{label}#{number}"
        number += 1


def _inner_codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _inner_codes(constant)


def _lines(code: CodeType) -> set[int]:
    return {line for _, _, line in code.co_lines() if line is not None}
