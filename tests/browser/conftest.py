"""Fixtures for browser tests: one server and one Chromium for the folder, a page for each test."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.notebook_page import Host, NotebookPage
from tests.browser.server import EXTENSION, Server, running_server

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

# An environment for the library's own tests need not have a browser's tools.
NEEDS = ("hatchling", "jupyterlab", "playwright")
collect_ignore_glob = [] if all(map(find_spec, NEEDS)) else ["test_*.py"]

CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

OpenNotebook = Callable[[str], NotebookPage]
Kept = Callable[[list[dict[str, Any]]], NotebookPage]

# For what no host has a part in: once is enough.
lab_only = pytest.mark.parametrize("host", ["lab"], indirect=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "browser" in item.path.parts:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    from hatch_build import is_current

    if not is_current(EXTENSION.parent):
        pytest.fail("labextension/dist is not of these sources: `python hatch_build.py` builds it")
    with running_server(tmp_path_factory.mktemp("jupyter")) as running:
        yield running


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    executable = shutil.which("chromium") or shutil.which("google-chrome")
    if executable is None and "CI" not in os.environ:
        pytest.skip("no Chromium on PATH")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=executable, args=CHROMIUM_FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 1600})
    opened = context.new_page()
    opened.on("dialog", lambda dialog: dialog.accept())
    yield opened
    context.close()


@pytest.fixture(params=["lab", "notebook"])
def host(request: pytest.FixtureRequest) -> Host:
    """Each test that uses it runs in JupyterLab and in Notebook 7."""
    hosts = os.environ.get("PALLAS_MAGIC_HOSTS", "lab,notebook").split(",")
    if request.param not in hosts:
        pytest.skip(f"PALLAS_MAGIC_HOSTS leaves out {request.param}")
    chosen: Host = request.param
    return chosen


@pytest.fixture
def open_notebook(page: Page, server: Server, host: Host) -> Iterator[OpenNotebook]:
    """Opens a notebook of the server's folder by its file name; its kernel ends with the test."""
    yield lambda name: NotebookPage.open(page, server, host, name)
    server.stop_kernels()


@pytest.fixture(scope="module")
def kernel_id(server: Server) -> Iterator[str]:
    """One kernel for the notebooks of a file: it imports JAX once."""
    yield server.start_kernel()
    server.stop_kernels()


@pytest.fixture
def kept(
    page: Page, server: Server, host: Host, kernel_id: str, request: pytest.FixtureRequest
) -> Kept:
    """Opens a notebook of these cells, named after its test, on the file's one kernel."""
    name = f"{request.node.originalname}-{host}.ipynb"

    def open_kept(cells: list[dict[str, Any]]) -> NotebookPage:
        server.write_notebook(name, cells)
        server.use_kernel(name, kernel_id)
        return NotebookPage.open(page, server, host, name)

    return open_kept
