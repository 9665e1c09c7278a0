"""Loading and unloading: everything that is put into a shell, and how it is taken out."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from IPython.core.error import UsageError

from pallas_magic.ipython.completion import Completion
from pallas_magic.ipython.file_fix_comm import FileFixComm
from pallas_magic.ipython.host import Host
from pallas_magic.ipython.magics import PallasMagics
from pallas_magic.ipython.transform import arm_check
from pallas_magic.source.host import offer_library, withdraw_library

if TYPE_CHECKING:
    from pallas_magic.source.document import Library


class Extension:
    """The extension in one shell."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._host = Host(shell)
        self._magics = PallasMagics(self._host)
        self._completion = Completion(self._host)
        self._files = FileFixComm(self._host)
        self._replaced: dict[tuple[str, str], Any] = {}
        # The same objects go out that came in: IPython 7 compares callbacks by identity.
        self._callbacks = {"pre_run_cell": self._pre_run_cell, "post_run_cell": self._post_run_cell}

    def load(self) -> None:
        """Put transformer, events, magics and the traceback hook in place."""
        self._host.session.enter_running_cell()
        self._shell.input_transformers_cleanup.append(arm_check)
        for event, callback in self._callbacks.items():
            self._shell.events.register(event, callback)
        for kind, name, function in self._own_magics():
            table = self._shell.magics_manager.magics[kind]
            if name in table:
                self._replaced[kind, name] = table[name]
            table[name] = function
        self._host.hook.install()
        self._completion.install()
        self._files.install()
        self._host.pages.install()
        offer_library(self._library)
        self._shell.configurables.append(self._host.settings)

    def unload(self) -> None:
        """Take everything out again, a check that is open included."""
        from pallas_magic.ipython.compilers import name_the_command

        self._host.hook.remove()
        self._completion.remove()
        self._files.remove()
        self._host.pages.remove()
        withdraw_library(self._library)
        if self._host.settings in self._shell.configurables:
            self._shell.configurables.remove(self._host.settings)
        name_the_command()
        for frame in self._host.session.drop_all():
            if frame.check is not None:
                frame.check.close()
        for kind, name, function in self._own_magics():
            table = self._shell.magics_manager.magics[kind]
            if table.get(name) == function:
                del table[name]
                if (kind, name) in self._replaced:
                    table[name] = self._replaced[kind, name]
        for event, callback in self._callbacks.items():
            self._shell.events.unregister(event, callback)
        self._shell.input_transformers_cleanup.remove(arm_check)

    def _library(self) -> Library:
        return self._host.session.library

    def _own_magics(self) -> list[tuple[str, str, Any]]:
        return [
            (kind, name, function)
            for kind, names in self._magics.tables().items()
            for name, function in names.items()
        ]

    def _pre_run_cell(self, info: Any) -> None:
        with self._host.faults.kept("taking note of this cell"):
            self._host.session.enter(info)
            if self._host.session.asks_for_check():
                self._check_as_it_stands()

    def _check_as_it_stands(self) -> None:
        try:
            self._magics.pallas_check_begin("")
        except UsageError as error:
            # No cell can be stopped from here: it runs, and is told not to be checked.
            said = str(error).removesuffix("Nothing was run.")
            print(f"{said}This cell was not checked.", file=sys.stderr)

    def _post_run_cell(self, result: Any) -> None:
        frame = self._host.session.leave(result)
        if frame is not None and frame.check is None and frame.explained is None:
            error = getattr(result, "error_in_exec", None)
            with self._host.faults.kept("explaining this error"):
                self._host.hook.explain_unshown(frame, error)
        if self._host.session.frame is None:
            self._host.hook.forget()
        if frame is None or (frame.check is None and frame.explained is None):
            return
        from pallas_magic.ipython.ending import end_checked_cell, end_explained_cell, error_of

        if frame.check is not None:
            with self._host.faults.kept("ending the check"):
                frame.check.close(error_of(frame, result))
        if result is None:
            return
        if frame.check is not None and frame.check.working:
            end_checked_cell(self._host, frame, frame.check, result)
        elif frame.explained is not None:
            end_explained_cell(self._host, frame, result)


_loaded: WeakKeyDictionary[Any, Extension] = WeakKeyDictionary()


def load(shell: Any) -> None:
    """Load into ``shell``, unless it is loaded already."""
    if shell not in _loaded:
        extension = Extension(shell)
        extension.load()
        _loaded[shell] = extension


def unload(shell: Any) -> None:
    """Unload from ``shell``; nothing stays behind."""
    extension = _loaded.pop(shell, None)
    if extension is not None:
        extension.unload()
