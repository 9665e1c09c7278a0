"""Fixes written to the user's files, and taken back.

Only a file that a report of this session called editable is written, only where
its text is one that was checked or that a fix of ours left, and all files of a
fix or none.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pallas_magic.source.files import (
    FileText,
    NotWritten,
    is_editable,
    read_text,
    text_digest,
    write,
)

if TYPE_CHECKING:
    from pallas_magic.report import Report, TextEdit

__all__ = ["FileEdits", "FileFixes", "NotWritten", "Written"]

_MOST_UNDONE = 100


@dataclasses.dataclass(frozen=True)
class FileEdits:
    """Edits of one file: ``key`` is its source's in reports, ``digest`` of the text they fit."""

    key: str
    digest: str
    edits: tuple[TextEdit, ...]


@dataclasses.dataclass(frozen=True)
class Written:
    """The names of the files that were written, and what takes the write back."""

    labels: tuple[str, ...]
    token: str


@dataclasses.dataclass(frozen=True)
class _Change:
    path: Path
    label: str
    before: bytes
    after: bytes


@dataclasses.dataclass
class _Known:
    """A file that a report named, with the digests of the texts that edits may be made to."""

    path: Path
    label: str
    digests: set[str]


class FileFixes:
    """The files that the reports of one session named, and what was written to them."""

    def __init__(self) -> None:
        self._known: dict[str, _Known] = {}
        self._undo: dict[str, tuple[_Change, ...]] = {}

    def learn(self, report: Report) -> None:
        """Take note of the files that ``report`` calls editable."""
        for key, source in report.sources.items():
            if source.kind != "file" or not source.editable:
                continue
            path = Path(key).absolute()
            known = self._known.setdefault(key, _Known(path, source.label, set()))
            known.digests.add(text_digest(source.text))

    def write(self, files: Sequence[FileEdits]) -> Written:
        """Make the edits; raises :class:`NotWritten`, and then no file is changed."""
        if len({self._named(file.key).path.resolve() for file in files}) < len(files) or not files:
            raise NotWritten("one file is named twice" if files else "no file is named")
        changes = tuple(self._change(file) for file in files)
        _write_all(changes)
        for file, change in zip(files, changes, strict=True):
            known = self._known[file.key]
            known.digests.add(read_text(change.path).digest)
        token = os.urandom(16).hex()
        self._undo[token] = changes
        while len(self._undo) > _MOST_UNDONE:
            del self._undo[next(iter(self._undo))]
        return Written(tuple(change.label for change in changes), token)

    def undo(self, token: str) -> Written:
        """Take a write back, if its files are as it left them; raises :class:`NotWritten`."""
        if token not in self._undo:
            raise NotWritten("nothing is known of this change any more")
        changes = self._undo[token]
        for change in changes:
            self._check_editable(change.path, change.label)
            if read_text(change.path).content != change.after:
                raise NotWritten(f"`{change.label}` was changed since")
        back = [dataclasses.replace(one, before=one.after, after=one.before) for one in changes]
        _write_all(back)
        del self._undo[token]
        return Written(tuple(change.label for change in changes), token)

    def _change(self, file: FileEdits) -> _Change:
        known = self._named(file.key)
        self._check_editable(known.path, known.label)
        now = read_text(known.path)
        if now.digest != file.digest or file.digest not in known.digests:
            raise NotWritten(f"`{known.label}` is not what was checked: check it again")
        return _Change(known.path, known.label, now.content, _edited(now, known, file))

    def _named(self, key: str) -> _Known:
        if key not in self._known:
            raise NotWritten("no report named this file as one that may be changed")
        return self._known[key]

    def _check_editable(self, path: Path, label: str) -> None:
        if not is_editable(str(path)):
            raise NotWritten(f"`{label}` cannot be written to")


def edits_by_file(edits: Iterable[TextEdit], texts: Mapping[str, str]) -> tuple[FileEdits, ...]:
    """The edits of each file, whose text by key is in ``texts``."""
    by_key: dict[str, list[TextEdit]] = {}
    for edit in edits:
        by_key.setdefault(edit.span.source, []).append(edit)
    return tuple(FileEdits(key, text_digest(texts[key]), tuple(own)) for key, own in by_key.items())


def _edited(now: FileText, known: _Known, file: FileEdits) -> bytes:
    try:
        return now.edited(file.edits)
    except ValueError as error:
        raise NotWritten(f"the edits do not fit `{known.label}`: {error}") from error


def _write_all(changes: Sequence[_Change]) -> None:
    done: list[_Change] = []
    try:
        for change in changes:
            write(change.path, change.after)
            done.append(change)
    except BaseException:
        for change in reversed(done):
            write(change.path, change.before)
        raise
