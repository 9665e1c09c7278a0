"""Fixes written to files: only to the user's, only where they are what was checked."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pallas_magic.ipython.file_fix_comm import answered
from pallas_magic.ipython.file_fixes import FileFixes
from pallas_magic.report import Report, Source
from pallas_magic.source.document import read_file
from pallas_magic.source.files import text_digest

TEXT = "space = 'SMEM'\nrest = 1\n"
FIXED = "space = 'VMEM'\nrest = 1\n"
EDIT = {"start_line": 1, "start_col": 9, "end_line": 1, "end_col": 13, "new_text": "VMEM"}


def file(path: Path, **changes: Any) -> dict[str, Any]:
    edits = [EDIT]
    return {"path": str(path), "old_text_sha256": text_digest(TEXT), "edits": edits, **changes}


def write(*files: dict[str, Any]) -> dict[str, Any]:
    return {"version": 1, "request": "write", "report": None, "edits": list(files)}


def undo(token: str) -> dict[str, Any]:
    return {"version": 1, "request": "undo", "token": token}


def knowing(*paths: Path, **changes: Any) -> FileFixes:
    """What knows the files from a report."""
    fixes = FileFixes()
    for path in paths:
        document = read_file(str(path))
        assert document is not None
        source = Source(**{**vars(document.source), **changes})
        fixes.learn(Report((), (), {document.key: source}))
    return fixes


def refused(fixes: FileFixes, request: Any) -> str:
    answer = answered(fixes, request)
    assert list(answer) == ["ok", "reason"]
    assert answer["ok"] is False
    return str(answer["reason"])


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "layers.py"
    path.write_text(TEXT)
    yield path
    path.parent.chmod(0o755)


def test_a_write_and_its_undo(path: Path) -> None:
    fixes = knowing(path)
    answer = answered(fixes, write(file(path)))
    assert (answer["ok"], answer["files"]) == (True, ["layers.py"])
    assert path.read_text() == FIXED
    assert answered(fixes, undo(answer["token"])) == answer
    assert path.read_text() == TEXT
    assert refused(fixes, undo(answer["token"])) == "nothing is known of this change any more"


def test_a_second_fix_of_a_file_that_the_first_one_left(path: Path) -> None:
    fixes = knowing(path)
    assert answered(fixes, write(file(path)))["ok"]
    again = {"start_line": 2, "start_col": 7, "end_line": 2, "end_col": 8, "new_text": "2"}
    second = file(path, old_text_sha256=text_digest(FIXED), edits=[again])
    assert answered(fixes, write(second))["ok"]
    assert path.read_text() == FIXED.replace("1", "2")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (TEXT.encode().replace(b"\n", b"\r\n"), FIXED.encode().replace(b"\n", b"\r\n")),
        (b"\xef\xbb\xbf" + TEXT.encode(), b"\xef\xbb\xbf" + FIXED.encode()),
        (TEXT.encode()[:-1], FIXED.encode()[:-1]),
    ],
)
def test_bytes_beside_the_change_stay(before: bytes, after: bytes, path: Path) -> None:
    path.write_bytes(before)
    path.chmod(0o600)
    answer = answered(fixes := knowing(path), write(file(path)))
    assert path.read_bytes() == after
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert answered(fixes, undo(answer["token"]))["ok"]
    assert path.read_bytes() == before


def test_a_cookie_is_kept(path: Path) -> None:
    text = "# coding: latin-1\n" + TEXT + "name = 'é'\n"
    path.write_bytes(text.encode("latin-1"))
    edit = {**EDIT, "start_line": 2, "end_line": 2}
    request = write(file(path, old_text_sha256=text_digest(text), edits=[edit]))
    assert answered(knowing(path), request)["ok"]
    assert path.read_bytes() == text.replace("SMEM", "VMEM").encode("latin-1")


def test_a_file_that_no_report_named_is_not_written(path: Path) -> None:
    other = path.with_name("other.py")
    other.write_text(TEXT)
    assert refused(knowing(path), write(file(other))) == (
        "no report named this file as one that may be changed"
    )
    assert other.read_text() == TEXT


def test_a_file_that_the_report_did_not_call_editable_is_not_written(path: Path) -> None:
    for changes in ({"editable": False}, {"kind": "cell"}):
        assert refused(knowing(path, **changes), write(file(path))).startswith("no report named")


def test_a_file_that_changed_is_not_written(path: Path) -> None:
    fixes = knowing(path)
    path.write_text(TEXT + "more = 2\n")
    why = "`layers.py` is not what was checked: check it again"
    assert refused(fixes, write(file(path))) == why
    digest = text_digest(TEXT + "more = 2\n")
    assert refused(fixes, write(file(path, old_text_sha256=digest))) == why


def test_a_file_that_became_read_only_is_not_written(path: Path) -> None:
    fixes = knowing(path)
    path.chmod(0o444)
    assert refused(fixes, write(file(path))) == "`layers.py` cannot be written to"


def test_a_file_that_became_a_link_to_a_package_is_not_written(path: Path) -> None:
    fixes = knowing(path)
    package = path.parent / "site-packages" / "layers.py"
    package.parent.mkdir()
    package.write_text(TEXT)
    path.unlink()
    path.symlink_to(package)
    assert refused(fixes, write(file(path))) == "`layers.py` cannot be written to"
    assert package.read_text() == TEXT


def test_a_file_that_is_gone_is_not_made(path: Path) -> None:
    fixes = knowing(path)
    path.unlink()
    assert refused(fixes, write(file(path))) == "`layers.py` cannot be written to"
    assert not path.exists()


def test_all_files_or_none(path: Path) -> None:
    other = path.with_name("other.py")
    other.write_text(TEXT)
    fixes = knowing(path, other)
    other.write_text("changed = True\n")
    assert refused(fixes, write(file(path), file(other))).startswith("`other.py` is not what")
    assert path.read_text() == TEXT


def test_what_was_written_comes_back_where_the_next_file_fails(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = path.with_name("other.py")
    other.write_text(TEXT)
    replace = Path.replace

    def full(self: Path, target: Path) -> Path:
        if target.name == "other.py":
            raise OSError(28, "No space left on device")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", full)
    said = refused(knowing(path, other), write(file(path), file(other)))
    assert said == "`other.py` cannot be written: No space left on device"
    assert (path.read_text(), other.read_text()) == (TEXT, TEXT)


def test_an_undo_of_what_was_changed_since_is_refused(path: Path) -> None:
    fixes = knowing(path)
    token = answered(fixes, write(file(path)))["token"]
    path.write_text(FIXED + "more = 2\n")
    assert refused(fixes, undo(token)) == "`layers.py` was changed since"
    assert path.read_text() == FIXED + "more = 2\n"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"edits": [{**EDIT, "start_line": 9, "end_line": 9}]}, "no line 9, column 9 in this text"),
        ({"edits": [EDIT, {**EDIT, "start_col": 8}]}, "two edits change the same text"),
    ],
)
def test_edits_that_do_not_fit_are_refused(changes: dict[str, Any], why: str, path: Path) -> None:
    request = write(file(path, **changes))
    assert refused(knowing(path), request) == f"the edits do not fit `layers.py`: {why}"
    assert path.read_text() == TEXT


@pytest.mark.parametrize(
    "edit",
    [
        None,
        {**EDIT, "new_text": None},
        {**EDIT, "new_text": "a\rb"},
        {**EDIT, "start_line": -1},
        {**EDIT, "start_line": True},
        {**EDIT, "end_col": 9.5},
        {**EDIT, "end_col": 3},
        {"new_text": "x"},
    ],
)
def test_edits_that_are_none_are_refused(edit: Any, path: Path) -> None:
    request = write(file(path, edits=[edit]))
    assert refused(knowing(path), request) == "the request is not understood"


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        (None, "the page and the kernel have different versions of pallas_magic"),
        ({"version": 2}, "the page and the kernel have different versions of pallas_magic"),
        ({"version": 1}, "the request is not understood"),
        ({"version": 1, "request": "run", "code": "1"}, "the request is not understood"),
        ({"version": 1, "request": "write"}, "the request is not understood"),
        ({"version": 1, "request": "write", "edits": [1]}, "the request is not understood"),
        ({"version": 1, "request": "write", "edits": []}, "no file is named"),
        ({"version": 1, "request": "undo", "token": 1}, "the request is not understood"),
        (undo("x"), "nothing is known of this change any more"),
    ],
)
def test_requests_that_are_none_are_refused(request_: Any, why: str) -> None:
    assert refused(FileFixes(), request_) == why


def test_one_file_is_named_once(path: Path) -> None:
    link = path.with_name("link.py")
    link.symlink_to(path)
    fixes = knowing(path, link)
    for request in (write(file(path), file(path)), write(file(path), file(link))):
        assert refused(fixes, request) == "one file is named twice"
    assert path.read_text() == TEXT
