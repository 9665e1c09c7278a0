"""The user's own files: which may be changed, and how a change is written to disk.

A file's text is what its Python sees: decoded as its first lines say, line ends
as ``\\n``, one at its end. A change keeps the encoding, the mark before it, the
line ends and the mode of the file, and is written at once or not at all.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import io
import os
import re
import site
import stat
import sys
import sysconfig
import tempfile
import tokenize
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from pallas_magic.report import TextEdit
from pallas_magic.source.edits import apply_edits

_LINE_END = re.compile("\r\n|\r|\n")
_PACKAGE_FOLDERS = {"site-packages", "dist-packages"}


class NotWritten(Exception):
    """A file was left as it is; the text says why."""


@dataclasses.dataclass(frozen=True)
class FileText:
    """A file as it lies on disk: its bytes, and what they say."""

    path: Path
    content: bytes
    encoding: str
    text: str
    ends_open: bool
    """Whether its last line has no end, which ``text`` gives it."""

    @property
    def digest(self) -> str:
        return text_digest(self.text)

    def edited(self, edits: Iterable[TextEdit]) -> bytes:
        """The bytes after ``edits`` of ``text``; raises ``ValueError`` where they do not fit.

        Raises :class:`NotWritten` where the file's encoding has no word for them.
        """
        raw = self.content.decode(self.encoding)
        ends = _LINE_END.findall(raw)
        usual = Counter(ends).most_common(1)[0][0] if ends else "\n"
        old, new = self.text, apply_edits(self.text, edits)
        if self.ends_open:
            old, new = old.removesuffix("\n"), new.removesuffix("\n")
        try:
            return _with_ends(old, new, ends, usual).encode(self.encoding)
        except UnicodeEncodeError as error:
            why = f"`{self.path.name}` is written in {self.encoding}, which lacks a character"
            raise NotWritten(f"{why} of the fix") from error


def text_digest(text: str) -> str:
    """The SHA-256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def read_text(path: Path) -> FileText:
    """The file at ``path``; raises :class:`NotWritten` where it is no Python text."""
    try:
        content = path.read_bytes()
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        text = content.decode(encoding)
    except OSError as error:
        raise NotWritten(f"`{path.name}` cannot be read: {error.strerror}") from error
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        raise NotWritten(f"`{path.name}` cannot be decoded") from error
    text = _LINE_END.sub("\n", text)
    ends_open = bool(text) and not text.endswith("\n")
    return FileText(path, content, encoding, text + "\n" * ends_open, ends_open)


def is_editable(filename: str) -> bool:
    """Whether ``filename`` is a file of the user's own that can be written to."""
    try:
        path = Path(filename).resolve(strict=True)
        return (
            path.is_file()
            and not is_installed(path)
            and os.access(path, os.W_OK)
            and bool(path.stat().st_mode & stat.S_IWUSR)
            and os.access(path.parent, os.W_OK)
        )
    except (OSError, ValueError, RuntimeError):
        return False


def is_installed(path: Path) -> bool:
    """Whether ``path`` belongs to Python or to a package that was installed."""
    if _PACKAGE_FOLDERS & set(path.parts):
        return True
    return any(path.is_relative_to(folder) for folder in _installed_folders())


@functools.cache
def _installed_folders() -> frozenset[Path]:
    named = [sys.prefix, sys.base_prefix, sys.exec_prefix, *sysconfig.get_paths().values()]
    with contextlib.suppress(AttributeError):  # the `site` of an old virtual environment
        named += [*site.getsitepackages(), site.getusersitepackages()]
    folders = {Path(name).resolve() for name in named if name}
    return frozenset(folder for folder in folders if folder != Path(folder.anchor))


def write(path: Path, content: bytes) -> None:
    """Put ``content`` in the place of the file at ``path``, at once.

    A link stays a link: what it points to is written. Raises :class:`NotWritten`.
    """
    try:
        target = path.resolve(strict=True)
        mode = stat.S_IMODE(target.stat().st_mode)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        temporary = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            temporary.chmod(mode)
            temporary.replace(target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise NotWritten(f"`{path.name}` cannot be written: {error.strerror}") from error


def _with_ends(old: str, new: str, ends: list[str], usual: str) -> str:
    """``new`` with the line ends that its lines had in ``old``, ``usual`` ones elsewhere."""
    if len(set(ends)) < 2:
        return new.replace("\n", usual)
    before, after = old.split("\n"), new.split("\n")
    head = _common(before, after)
    tail = _common(before[head:][::-1], after[head:][::-1])
    pieces = []
    for number, line in enumerate(after[:-1]):
        same = number if number < head else len(before)
        if number >= len(after) - tail:
            same = number - len(after) + len(before)
        pieces.append(line + (ends[same] if same < len(ends) else usual))
    return "".join([*pieces, after[-1]])


def _common(first: list[str], second: list[str]) -> int:
    count = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        count += 1
    return count
