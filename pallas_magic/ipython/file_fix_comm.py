"""The comm over which a page has the kernel write fixes to files.

A request opens a comm of the target ``pallas_magic.fix`` with
``{version: 1, request: "write", edits: [{path, old_text_sha256, edits: [
{start_line, start_col, end_line, end_col, new_text}]}]}`` or
``{version: 1, request: "undo", token}``. It is answered once, by ``{ok: true,
files: [label], token}`` or ``{ok: false, reason}``, and the comm is closed.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from pallas_magic.report import Span, TextEdit

if TYPE_CHECKING:
    from pallas_magic.ipython.fault import Faults
    from pallas_magic.ipython.file_fixes import FileEdits, FileFixes, Written
    from pallas_magic.ipython.host import Host

TARGET = "pallas_magic.fix"
_VERSION = 1
_POSITIONS = ("start_line", "start_col", "end_line", "end_col")
_FAILED = "pallas_magic failed; the cell that runs next says more"


class FileFixComm:
    """The target in one shell's kernel; nothing where there is none."""

    def __init__(self, host: Host) -> None:
        self._faults: Faults = host.faults
        self._host = host
        self._manager = getattr(getattr(host.shell, "kernel", None), "comm_manager", None)

    def install(self) -> None:
        if self._manager is not None:
            self._manager.register_target(TARGET, self.opened)

    def remove(self) -> None:
        if self._manager is not None:
            with contextlib.suppress(KeyError):  # someone took it out already
                self._manager.unregister_target(TARGET, self.opened)

    def opened(self, comm: Any, message: Any) -> None:
        """Answer the request that ``message`` opens ``comm`` with."""
        answer: dict[str, Any] = {"ok": False, "reason": _FAILED}
        with self._faults.kept("writing a fix to a file"):
            answer = answered(self._host.files, message["content"]["data"])
        comm.send(answer)
        comm.close()


def answered(files: FileFixes, request: Any) -> dict[str, Any]:
    """What is answered to ``request``, which anything may have sent."""
    from pallas_magic.ipython.file_fixes import NotWritten

    try:
        written = _done(files, request)
    except NotWritten as no:
        return {"ok": False, "reason": str(no)}
    return {"ok": True, "files": list(written.labels), "token": written.token}


def _done(files: FileFixes, request: Any) -> Written:
    from pallas_magic.ipython.file_fixes import NotWritten

    if not isinstance(request, dict) or request.get("version") != _VERSION:
        raise NotWritten("the page and the kernel have different versions of pallas_magic")
    if request.get("request") == "write" and isinstance(request.get("edits"), list):
        return files.write([_file_edits(one) for one in request["edits"]])
    if request.get("request") == "undo" and isinstance(request.get("token"), str):
        return files.undo(request["token"])
    raise NotWritten("the request is not understood")


def _file_edits(given: Any) -> FileEdits:
    from pallas_magic.ipython.file_fixes import FileEdits, NotWritten

    match given:
        case {"path": str() as path, "old_text_sha256": str() as digest, "edits": list() as edits}:
            return FileEdits(path, digest, tuple(_edit(path, one) for one in edits))
    raise NotWritten("the request is not understood")


def _edit(path: str, given: Any) -> TextEdit:
    from pallas_magic.ipython.file_fixes import NotWritten

    known = isinstance(given, dict) and isinstance(given.get("new_text"), str)
    numbers = [given.get(name) for name in _POSITIONS] if known else []
    if not known or not all(type(number) is int and number >= 0 for number in numbers):
        raise NotWritten("the request is not understood")
    start_line, start_col, end_line, end_col = numbers
    if (start_line, start_col) > (end_line, end_col) or "\r" in given["new_text"]:
        raise NotWritten("the request is not understood")
    return TextEdit(Span(path, start_line, start_col, end_line, end_col), given["new_text"])
