"""A notebook in a browser, as a test speaks of it: cells, cards, keys, screenshots."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    from tests.browser.server import Server

Host = Literal["lab", "notebook"]
PATHS: dict[Host, str] = {"lab": "lab/tree", "notebook": "notebooks"}

PANEL = "window.jupyterapp.shell.currentWidget"
CELL = f"{PANEL}.content.widgets[index]"


@dataclass(frozen=True)
class NotebookPage:
    """One open notebook; cells are counted from 0."""

    page: Page
    server: Server
    host: Host
    name: str

    @classmethod
    def open(cls, page: Page, server: Server, host: Host, name: str) -> NotebookPage:
        """Open a notebook of the server's folder and wait until its cells stand."""
        page.goto(f"{server.url}/{PATHS[host]}/{name}" + ("?reset" if host == "lab" else ""))
        opened = cls(page, server, host, name)
        opened.wait_until_drawn()
        return opened

    def wait_until_drawn(self) -> None:
        """Wait until the notebook is the current widget and its cells and outputs are drawn."""
        self.page.wait_for_function(
            f"""() => window.jupyterapp && {PANEL}?.content?.widgets?.length
                && {PANEL}.context.isReady && document.querySelector('.jp-Cell')
                && {PANEL}.content.widgets.filter(cell => cell.node.isConnected).every(cell => {{
                    const [drawn, known] = [cell.outputArea?.widgets, cell.model.outputs];
                    return !cell.isPlaceholder() && (drawn?.length ?? 0) >= (known?.length ?? 0);
                }})"""
        )

    def wait_for_kernel(self) -> None:
        """Wait until the kernel has answered and is idle."""
        self.page.wait_for_function(
            f"() => {PANEL}.sessionContext.session?.kernel?.status==='idle'"
        )

    def open_beside(self, name: str) -> None:
        """Open another notebook at the side, in JupyterLab; it is the current one then."""
        self.page.evaluate(
            """path => window.jupyterapp.commands.execute('docmanager:open',
                {path, options: {mode: 'split-right'}})""",
            name,
        )
        self.page.wait_for_function(
            f"name => {PANEL}.context?.path === name && {PANEL}.context.isReady", arg=name
        )

    def cell(self, index: int) -> Locator:
        """A cell of the current notebook."""
        panel = self.page.evaluate(f"() => {PANEL}.id")
        return self.page.locator(f'[id="{panel}"] [data-windowed-list-index="{index}"]')

    def editor(self, index: int) -> Locator:
        return self.cell(index).locator(".cm-content")

    def card(self, index: int) -> Locator:
        """The card under a cell."""
        return self.cell(index).locator(".pm-card")

    def button(self, index: int, name: str) -> Locator:
        """A button of the card under a cell, by what a screen reader calls it."""
        return self.card(index).get_by_role("button", name=name)

    def cell_text(self, index: int, name: str | None = None) -> str:
        """The text of a cell, of the current notebook or of another that is open."""
        text: str = self.page.evaluate(
            f"""([index, name]) => Array.from(window.jupyterapp.shell.widgets('main'))
                .find(panel => name ? panel.context?.path === name : panel === {PANEL})
                .content.widgets[index].model.sharedModel.getSource()""",
            [index, name],
        )
        return text

    def set_cell_text(self, index: int, text: str) -> None:
        """Change a cell as another program would, past its editor."""
        self.page.evaluate(
            f"([index, text]) => {CELL}.model.sharedModel.setSource(text)", [index, text]
        )

    def run(self, index: int) -> None:
        """Run a cell and wait until it has ended."""
        self.wait_for_kernel()
        self._at(
            index,
            f"({PANEL}.content.activeCellIndex = index,"
            " window.jupyterapp.commands.execute('notebook:run-cell'))",
        )

    def check_from_toolbar(self, index: int) -> None:
        """Press "Check Kernel" in a cell's toolbar."""
        self.wait_for_kernel()
        self.activate(index)
        self.cell(index).locator('[data-command="pallas-magic:check-kernel"]').click()

    def start(self, index: int) -> None:
        """Run a cell and do not wait for its end."""
        self.wait_for_kernel()
        self._at(
            index,
            f"({PANEL}.content.activeCellIndex = index,"
            " void window.jupyterapp.commands.execute('notebook:run-cell'))",
        )

    def output_kinds(self, index: int) -> list[str]:
        """The MIME types of all outputs of a cell."""
        kinds: list[str] = self._at(
            index, f"{CELL}.model.outputs.toJSON().flatMap(one => Object.keys(one.data ?? {{}}))"
        )
        return kinds

    def command(self, name: str) -> None:
        """Execute one of the application's commands, as its palette does."""
        self.page.evaluate("name => window.jupyterapp.commands.execute(name)", name)

    def activate(self, index: int) -> None:
        """Make a cell the active one, in command mode."""
        self._at(
            index,
            f"{{ {PANEL}.content.activeCellIndex = index; {PANEL}.content.mode = 'command'; }}",
        )

    def scroll_to(self, index: int) -> None:
        """Make a cell the active one and bring it into the page."""
        self.activate(index)
        self._at(index, f"{PANEL}.content.scrollToItem(index)")

    def setting(self, plugin: str, name: str, value: object) -> None:
        """Set one of a plugin's settings, as the settings editor does."""
        self.page.evaluate(
            """async ([plugin, name, value]) => {
                const tokens = [...window.jupyterapp.pluginRegistry._services.keys()];
                const token = tokens.find(({name}) => name.endsWith(':ISettingRegistry'));
                const settings = await window.jupyterapp.resolveRequiredService(token);
                await settings.set(plugin, name, value);
            }""",
            [plugin, name, value],
        )

    def update_from_kernel(self, code: str) -> None:
        """Execute code in the kernel beside any cell, as a thread of it would, and wait for it."""
        self.page.evaluate(
            f"code => {PANEL}.sessionContext.session.kernel.requestExecute({{code}}).done", code
        )

    def kill_kernel(self) -> None:
        self.page.evaluate(f"() => {PANEL}.sessionContext.shutdown()")

    def save(self) -> None:
        self.page.evaluate(f"() => {PANEL}.context.save()")

    def reload(self) -> None:
        """Load the page again, as it was last saved."""
        self.page.reload()
        self.wait_until_drawn()

    def undo(self) -> None:
        """Ctrl-Z where the focus is."""
        self.page.keyboard.press("Control+z")

    def redo(self) -> None:
        self.page.keyboard.press("Control+Shift+z")

    def announced(self) -> Locator:
        """The live region: what a screen reader said last."""
        return self.page.locator(".pm-live")

    def theme(self, name: Literal["JupyterLab Light", "JupyterLab Dark"]) -> None:
        self.page.evaluate(
            "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})", name
        )
        dark = "false" if name.endswith("Dark") else "true"
        self.page.wait_for_selector(f'body[data-jp-theme-light="{dark}"]', state="attached")

    def screenshot(self, name: str, locator: Locator | None = None) -> None:
        """A picture in ``PALLAS_MAGIC_SCREENSHOTS``; nothing where that is not set."""
        if folder := os.environ.get("PALLAS_MAGIC_SCREENSHOTS"):
            Path(folder).mkdir(parents=True, exist_ok=True)
            path = Path(folder, f"{self.host}-{name}.png")
            (locator or self.page).screenshot(path=path, animations="disabled")

    def _at(self, index: int, expression: str) -> Any:
        return self.page.evaluate(f"index => {expression}", index)
