"""A Jupyter server of a test's own: a free port, empty folders, the extension as built here."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

ROOT = Path(__file__).parents[2]
EXTENSION = ROOT / "labextension" / "dist"
START_SECONDS = 90
STOP_SECONDS = 20

SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "@jupyterlab/apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/docmanager-extension/plugin": {"autosave": False},
}


@dataclass(frozen=True)
class Server:
    """A running server; ``folder`` is where it finds notebooks."""

    url: str
    folder: Path

    def write_notebook(self, name: str, cells: list[dict[str, Any]]) -> str:
        """Put a notebook of these cells into the server's folder; returns ``name``."""
        notebook = {
            "cells": cells,
            "metadata": {
                "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}
            },
            "nbformat": 4,
            "nbformat_minor": 5,
        }
        (self.folder / name).write_text(json.dumps(notebook))
        return name

    def read_notebook(self, name: str) -> dict[str, Any]:
        """The notebook as it was last saved."""
        content: dict[str, Any] = json.loads((self.folder / name).read_text())
        return content

    def start_kernel(self) -> str:
        """Start a kernel of no notebook yet; returns its id."""
        return str(self._post("kernels", {"name": "python3"})["id"])

    def use_kernel(self, name: str, kernel: str) -> None:
        """Let a notebook run in a kernel that is there already."""
        session = {"path": name, "name": name, "type": "notebook", "kernel": {"id": kernel}}
        self._post("sessions", session)

    def _post(self, path: str, content: dict[str, Any]) -> dict[str, Any]:
        headers = {"Content-Type": "application/json"}
        request = Request(f"{self.url}/api/{path}", json.dumps(content).encode(), headers)
        with urlopen(request) as answer:
            answered: dict[str, Any] = json.load(answer)
        return answered

    def stop_kernels(self) -> None:
        """End every kernel that a notebook has started.

        One that is only starting cannot be told or ended yet; the server ends it when it stops.
        """
        with suppress(HTTPError), urlopen(f"{self.url}/api/kernels") as answer:
            for kernel in json.load(answer):
                url = f"{self.url}/api/kernels/{kernel['id']}"
                with suppress(HTTPError):
                    urlopen(Request(url, method="DELETE")).close()


def code_cell(
    source: str, cell_id: str, outputs: list[dict[str, Any]] | None = None, **metadata: Any
) -> dict[str, Any]:
    """A code cell for :meth:`Server.write_notebook`."""
    return {
        "cell_type": "code",
        "id": cell_id,
        "metadata": metadata,
        "execution_count": 1 if outputs else None,
        "source": source,
        "outputs": outputs or [],
    }


def display_output(bundle: Mapping[str, Any]) -> dict[str, Any]:
    """The output that ``display(bundle, raw=True)`` leaves in a notebook."""
    return {"output_type": "display_data", "data": dict(bundle), "metadata": {}}


@contextmanager
def running_server(base: Path) -> Iterator[Server]:
    """JupyterLab and, where it is installed, Notebook 7, until the block ends.

    ``PALLAS_MAGIC_JUPYTER_PYTHON`` names another environment's interpreter to
    serve from, so that one suite covers several releases.
    """
    folder = base / "notebooks"
    folder.mkdir()
    command = [
        os.environ.get("PALLAS_MAGIC_JUPYTER_PYTHON", sys.executable),
        *("-m", "jupyter", "lab", "--no-browser", "--allow-root", "--ip=127.0.0.1", "--port=0"),
        *("--IdentityProvider.token=", "--ServerApp.password=", f"--ServerApp.root_dir={folder}"),
        "--ServerApp.disable_check_xsrf=True",
        *("--LabApp.expose_app_in_browser=True", "--JupyterNotebookApp.expose_app_in_browser=True"),
    ]
    environment = {**os.environ, **_own_folders(base)}
    process = subprocess.Popen(
        command, cwd=base, env=environment, stderr=subprocess.PIPE, text=True
    )
    try:
        yield Server(_address(process), folder)
    finally:
        process.terminate()
        _wait(process)


def _wait(process: subprocess.Popen[str]) -> None:
    """Wait for a server's end; one that hangs in ending fails no test and is not left behind."""
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _own_folders(base: Path) -> dict[str, str]:
    """Environment for folders that hold nothing of the machine's user."""
    names = {name: base / name.lower() for name in ("CONFIG", "DATA", "RUNTIME")}
    for path in names.values():
        path.mkdir()
    # JUPYTER_PATH comes before an installed copy, which may be of an earlier build.
    extensions = base / "share" / "labextensions"
    extensions.mkdir(parents=True)
    (extensions / "pallas-magic").symlink_to(EXTENSION, target_is_directory=True)
    for name, values in SETTINGS.items():
        file = names["CONFIG"] / "lab" / "user-settings" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(values))
    folders = {f"JUPYTER_{name}_DIR": str(path) for name, path in names.items()}
    return {**folders, "JUPYTER_PATH": str(extensions.parent)}


def _address(process: subprocess.Popen[str]) -> str:
    """Where the server says that it listens; its log is read on, so that it never blocks."""
    assert process.stderr is not None
    log: list[str] = []
    guard = threading.Timer(START_SECONDS, process.kill)
    guard.start()
    for line in process.stderr:
        log.append(line)
        if found := re.search(r"http://127\.0\.0\.1:\d+", line):
            guard.cancel()
            threading.Thread(target=process.stderr.read, daemon=True).start()
            return found[0]
    guard.cancel()
    raise RuntimeError("the Jupyter server did not start:\n" + "".join(log[-30:]))
