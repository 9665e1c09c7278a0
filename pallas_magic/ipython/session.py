"""What is running in one IPython shell: a stack of cells, from pre_run_cell to post_run_cell.

Silent requests fire neither event, so nothing of ours happens in them.
"""

from __future__ import annotations

import dataclasses
import threading
from typing import TYPE_CHECKING, Any

from pallas_magic.ipython.ran import Ran

if TYPE_CHECKING:
    from pallas_magic.engine import Watch
    from pallas_magic.ipython.check import Check
    from pallas_magic.ipython.library import CellLibrary


_LONGEST_ID = 1000


@dataclasses.dataclass(frozen=True)
class Deferred:
    """An exception that is not shown until the check knows whether it explains it."""

    error: BaseException
    arguments: tuple[Any, ...]
    options: dict[str, Any]


@dataclasses.dataclass(eq=False)
class Frame:
    """A cell that is running, with the check or the explained error that belongs to it."""

    info: Any
    ran: Ran
    check: Check | None = None
    error: BaseException | None = None
    deferred: Deferred | None = None
    explained: Watch | None = None


class _Stack(threading.local):
    """One stack a thread: subshells run cells beside the main one."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []


class Session:
    """The cells of one shell that are running and that ran."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self._all_ran: list[Ran] = []
        self._library: CellLibrary | None = None
        self._stack = _Stack()
        self._counter_moves_first: bool | None = None

    @property
    def library(self) -> CellLibrary:
        """The documents of all cells; not imported before it is wanted."""
        if self._library is None:
            from pallas_magic.ipython.library import CellLibrary

            self._library = CellLibrary(self.shell, self._all_ran)
        return self._library

    @property
    def frame(self) -> Frame | None:
        """The innermost running cell, ``None`` in a silent request."""
        return self._stack.frames[-1] if self._stack.frames else None

    def checked_frame(self) -> Frame | None:
        """The innermost running cell under a check: a nested cell belongs to its outer one."""
        frames = reversed(self._stack.frames)
        return next((frame for frame in frames if frame.check and frame.check.working), None)

    def enter_running_cell(self) -> None:
        """Take up the cell that loads the extension: its pre_run_cell has passed."""
        result = getattr(self.shell.displayhook, "exec_result", None)
        if result is None or getattr(result, "info", None) is None:
            return
        if result.execution_count is not None:
            self._counter_moves_first = self.shell.execution_count > result.execution_count
        self.enter(result.info)

    def enter(self, info: Any) -> None:
        """A cell begins."""
        ran = self._ran(info)
        self._all_ran.append(ran)
        self._stack.frames.append(Frame(info, ran))

    def leave(self, result: Any) -> Frame | None:
        """The frame of the cell that ended with ``result``; what it left above is dropped."""
        frames = self._stack.frames
        info = getattr(result, "info", None)
        place = next((n for n, frame in enumerate(frames) if frame.info is info), len(frames) - 1)
        if place < 0 or (info is not None and frames[place].info is not info):
            return None
        frame = frames[place]
        del frames[place:]
        count = getattr(result, "execution_count", None)
        if count is not None and getattr(info, "store_history", False):
            self._counter_moves_first = count < max(frame.ran.counts)
            frame.ran.counts = (count,)
        return frame

    def drop_all(self) -> list[Frame]:
        """Empty the stack, for unloading in the middle of a cell."""
        frames, self._stack.frames = self._stack.frames, []
        return frames

    def is_sent(self, ran: Ran) -> bool:
        """Whether a front end replaces ``ran``'s own text when it is told to replace the cell.

        Code that a cell, or a widget's button, runs is not the cell that was sent.
        """
        if getattr(self.shell, "get_parent", None) is None:
            return True
        whole = ran.outer or ran
        return bool(_message(self.shell).get("content", {}).get("code") == whole.text)

    def asks_for_check(self) -> bool:
        """Whether a front end sent the cell that begins to be checked as it stands.

        Its text has no `%%pallas_check` then, so that positions are those of what its user sees.
        """
        return len(self._stack.frames) == 1 and bool(
            _message(self.shell).get("metadata", {}).get("pallas_check")
        )

    def _ran(self, info: Any) -> Ran:
        code = str(info.raw_cell)
        message = _message(self.shell)
        named = message.get("metadata", {}).get("cellId") or getattr(info, "cell_id", None)
        # What a front end sends is not trusted: it comes back to pages in every report.
        cell_id = named if isinstance(named, str) and len(named) <= _LONGEST_ID else None
        executed = getattr(info, "transformed_cell", None)
        counts = self._possible_counts(info)
        sent = str(message.get("content", {}).get("code", code))
        outer = self._stack.frames[0].ran if self._stack.frames else None
        if outer is not None and self._is_body(code, outer.text):
            return Ran(code, outer.text, outer.cell_id, counts, executed, outer)
        if outer is None and sent != code and self._is_body(code, sent):
            return Ran(code, sent, cell_id, counts, executed)
        return Ran(code, code, cell_id if sent == code else None, counts, executed)

    def _is_body(self, code: str, text: str) -> bool:
        from pallas_magic.ipython.cells import body_start

        return body_start(self.shell, text, code) is not None

    def _possible_counts(self, info: Any) -> tuple[int, ...]:
        count = int(self.shell.execution_count)
        if not info.store_history:
            return (count,)
        if self._counter_moves_first is None:
            return (count, count - 1)
        return (count - 1,) if self._counter_moves_first else (count,)


def _message(shell: Any) -> dict[str, Any]:
    """The request that is being answered; empty in a terminal or within a comm message."""
    get_parent = getattr(shell, "get_parent", None)
    message = get_parent() if get_parent is not None else {}
    kind = (message or {}).get("header", {}).get("msg_type")
    return message if kind == "execute_request" else {}
