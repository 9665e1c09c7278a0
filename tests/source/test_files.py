"""Files of the user's: which may be changed, and what is kept when they are."""

from __future__ import annotations

import dataclasses
import os
import stat
import sys
import sysconfig
from pathlib import Path

import pytest

from pallas_magic.report import Span, TextEdit
from pallas_magic.source.document import Library
from pallas_magic.source.files import NotWritten, is_editable, read_text, text_digest, write


@dataclasses.dataclass(frozen=True)
class OnDisk:
    """The bytes of a file, what it says to Python, and the bytes with `b` made `wide`."""

    name: str
    before: bytes
    text: str
    after: bytes


ON_DISK = (
    OnDisk("plain", b"a = 1\nb = 2\n", "a = 1\nb = 2\n", b"a = 1\nwide = 2\n"),
    OnDisk("no last line end", b"a = 1\nb = 2", "a = 1\nb = 2\n", b"a = 1\nwide = 2"),
    OnDisk("CRLF", b"a = 1\r\nb = 2\r\n", "a = 1\nb = 2\n", b"a = 1\r\nwide = 2\r\n"),
    OnDisk("CRLF, open", b"a = 1\r\nb = 2", "a = 1\nb = 2\n", b"a = 1\r\nwide = 2"),
    OnDisk("CR", b"a = 1\rb = 2\r", "a = 1\nb = 2\n", b"a = 1\rwide = 2\r"),
    OnDisk(
        "both",
        b"a = 1\r\nb = 2\nc = 3\r\nd = 4",
        "a = 1\nb = 2\nc = 3\nd = 4\n",
        b"a = 1\r\nwide = 2\r\nc = 3\r\nd = 4",
    ),
    OnDisk(
        "a mark before it",
        b"\xef\xbb\xbfa = '\xc3\xa9'\nb = 2\n",
        "a = 'é'\nb = 2\n",
        b"\xef\xbb\xbfa = '\xc3\xa9'\nwide = 2\n",
    ),
    OnDisk(
        "a cookie",
        b"# -*- coding: latin-1 -*-\na = '\xe9'\nb = 2\n",
        "# -*- coding: latin-1 -*-\na = 'é'\nb = 2\n",
        b"# -*- coding: latin-1 -*-\na = '\xe9'\nwide = 2\n",
    ),
    OnDisk(
        "a form feed", b"a = 1\n\x0c\nb = 2\n", "a = 1\n\x0c\nb = 2\n", b"a = 1\n\x0c\nwide = 2\n"
    ),
)


def rename(text: str, new_text: str = "wide") -> TextEdit:
    """An edit of the `b` that begins a line."""
    line = text.split("\n").index("b = 2") + 1
    return TextEdit(Span("k", line, 0, line, 1), new_text)


@pytest.mark.parametrize("case", ON_DISK, ids=lambda case: case.name)
def test_a_change_keeps_encoding_and_line_ends(case: OnDisk, tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_bytes(case.before)
    found = read_text(path)
    assert found.text == case.text
    document = Library().find(str(path))
    assert document is not None
    assert document.source.text == case.text
    write(path, found.edited([rename(case.text)]))
    assert path.read_bytes() == case.after


@pytest.mark.parametrize("case", ON_DISK, ids=lambda case: case.name)
def test_no_change_gives_the_same_bytes(case: OnDisk, tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_bytes(case.before)
    assert read_text(path).edited([]) == case.before


def test_new_lines_end_as_the_others_do(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_bytes(b"a = 1\r\nb = 2\r\nc = 3\n")
    edit = rename(read_text(path).text, "x = 0\ny = 0\nb")
    assert read_text(path).edited([edit]) == b"a = 1\r\nx = 0\r\ny = 0\r\nb = 2\r\nc = 3\n"


def test_a_character_that_the_encoding_lacks_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_bytes(b"# coding: latin-1\nb = 2\n")
    with pytest.raises(NotWritten) as no:
        read_text(path).edited([rename("# coding: latin-1\nb = 2\n", "λ")])
    assert str(no.value) == "`m.py` is written in iso-8859-1, which lacks a character of the fix"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"# coding: nonsense\n", "`m.py` cannot be decoded"),
        (b"a = '\xff'\n", "`m.py` cannot be decoded"),
        (None, "`m.py` cannot be read: No such file or directory"),
    ],
)
def test_what_is_no_python_text_is_refused(content: bytes | None, why: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "m.py").write_bytes(content)
    with pytest.raises(NotWritten) as no:
        read_text(tmp_path / "m.py")
    assert str(no.value) == why


def test_a_write_keeps_the_mode_and_leaves_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_bytes(b"b = 2\n")
    path.chmod(0o640)
    write(path, b"wide = 2\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [one.name for one in tmp_path.iterdir()] == ["m.py"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    path = tmp_path / "real" / "m.py"
    path.write_bytes(b"b = 2\n")
    link = tmp_path / "link.py"
    link.symlink_to(path)
    write(link, b"wide = 2\n")
    assert link.is_symlink()
    assert path.read_bytes() == b"wide = 2\n"


def test_a_write_that_fails_leaves_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.py"
    path.write_bytes(b"b = 2\n")

    def full(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(NotWritten) as no:
        write(path, b"wide = 2\n")
    assert str(no.value) == "`m.py` cannot be written: No space left on device"
    assert path.read_bytes() == b"b = 2\n"
    assert [one.name for one in tmp_path.iterdir()] == ["m.py"]


def test_a_file_of_the_users_is_editable(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text("b = 2\n")
    assert is_editable(str(path))
    document = Library().find(str(path))
    assert document is not None
    assert document.source.editable


def test_a_file_that_is_read_only_is_not(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text("b = 2\n")
    path.chmod(0o444)
    assert not is_editable(str(path))


@pytest.mark.parametrize("folder", ["site-packages", "dist-packages"])
def test_an_installed_package_is_not(folder: str, tmp_path: Path) -> None:
    path = tmp_path / folder / "package" / "m.py"
    path.parent.mkdir(parents=True)
    path.write_text("b = 2\n")
    assert not is_editable(str(path))


def test_a_link_to_an_installed_package_is_not(tmp_path: Path) -> None:
    link = tmp_path / "m.py"
    link.symlink_to(Path(pytest.__file__))
    assert not is_editable(str(link))


@pytest.mark.parametrize(
    "name", [os.__file__, pytest.__file__, sys.executable, sysconfig.get_path("stdlib"), "<x>", ""]
)
def test_pythons_own_and_what_is_no_file_are_not(name: str) -> None:
    assert not is_editable(name)


def test_a_digest_is_that_of_the_text_in_utf_8() -> None:
    expected = "4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c"
    assert text_digest("é") == expected
