"""A card while its check goes on: shown early, updated in place, from a kernel."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.conftest import OpenNotebook, lab_only
from tests.browser.notebook_page import NotebookPage
from tests.browser.payloads import (
    CELL_ID,
    FIX_1,
    MIME,
    SAMPLE,
    TEXT,
    counts_fixed,
    total_fixed,
)
from tests.browser.server import Server, code_cell

# A magic of this name in the kernel's place: it shows the sample as it is being proved.
STAND_IN = f"""
import json
from IPython.core.magic import register_cell_magic
from IPython.display import display, update_display

sample = json.load(open({str(SAMPLE)!r}))

@register_cell_magic
def pallas_check(line, cell):
    proving = json.loads(json.dumps(sample))
    proving["card"]["state"] = "proving"
    display({{"{MIME}": proving, "text/plain": "proving"}}, raw=True, display_id="card")

def done():
    update_display({{"{MIME}": sample, "text/plain": "done"}}, raw=True, display_id="card")
"""


def _checked(server: Server, open_notebook: OpenNotebook) -> NotebookPage:
    cells = [
        code_cell(STAND_IN, "stand-in"),
        code_cell(TEXT, CELL_ID),
        code_cell("done()", "done"),
    ]
    server.write_notebook("update.ipynb", cells)
    opened = open_notebook("update.ipynb")
    opened.run(0)
    opened.run(1)
    expect(opened.card(1)).to_be_visible()
    return opened


def test_nothing_is_offered_before_it_is_proved(
    server: Server, open_notebook: OpenNotebook
) -> None:
    opened = _checked(server, open_notebook)
    expect(opened.card(1).locator(".pm-status")).to_have_text("proving…")
    expect(opened.card(1).get_by_role("button", name="Insert")).to_have_count(0)
    opened.screenshot("proving")
    opened.run(2)
    expect(opened.card(1).locator(".pm-status")).to_be_empty()
    opened.button(1, FIX_1).click()
    assert opened.cell_text(1) == counts_fixed(TEXT)


def test_an_update_keeps_folds_and_focus(server: Server, open_notebook: OpenNotebook) -> None:
    opened = _checked(server, open_notebook)
    card = opened.card(1)
    first, second = card.locator(".pm-finding").all()
    first.click()
    second.click()
    card.get_by_text("JAX's own error").last.click()
    second.focus()
    opened.update_from_kernel("done()")
    expect(card.locator(".pm-status")).to_be_empty()
    expect(card.locator(".pm-diagnostic").nth(0)).not_to_have_attribute("open", "")
    expect(card.locator(".pm-diagnostic").nth(1)).to_have_attribute("open", "")
    expect(card.locator(".pm-original").last).to_be_visible()
    expect(card.locator(".pm-finding").nth(1)).to_be_focused()


@lab_only
def test_a_cell_changed_meanwhile_stays_stale(server: Server, open_notebook: OpenNotebook) -> None:
    opened = _checked(server, open_notebook)
    opened.editor(1).press("End")
    opened.page.keyboard.type("#")
    opened.run(2)
    expect(opened.card(1).locator(".pm-status")).to_have_text("cell changed: run again")
    expect(opened.button(1, FIX_1)).to_be_disabled()


@lab_only
def test_running_again_starts_afresh(server: Server, open_notebook: OpenNotebook) -> None:
    opened = _checked(server, open_notebook)
    opened.run(2)
    opened.button(1, FIX_1).click()
    opened.undo()
    opened.run(1)
    opened.run(2)
    opened.button(1, "Insert all 2 fixes: 1, 3").click()
    assert opened.cell_text(1) == counts_fixed(total_fixed(TEXT))


def test_what_is_saved_is_the_last_card(server: Server, open_notebook: OpenNotebook) -> None:
    opened = _checked(server, open_notebook)
    opened.run(2)
    opened.save()
    [output] = server.read_notebook("update.ipynb")["cells"][1]["outputs"]
    assert output["data"][MIME]["card"]["state"] == "done"
    opened.reload()
    opened.button(1, FIX_1).click()
    assert opened.cell_text(1) == counts_fixed(TEXT)


@lab_only
def test_a_console_shows_the_card_without_buttons(
    server: Server, open_notebook: OpenNotebook
) -> None:
    server.write_notebook("beside.ipynb", [code_cell("1", "one")])
    opened = open_notebook("beside.ipynb")
    code = f"{STAND_IN}\nget_ipython().run_cell_magic('pallas_check', '', 'pass')\ndone()"
    opened.page.evaluate(
        """async code => {
            const {commands} = window.jupyterapp;
            const kernelPreference = {name: 'python3'};
            const panel = await commands.execute('console:create', {kernelPreference});
            await panel.sessionContext.ready;
            await panel.console.inject(code);
        }""",
        code,
    )
    card = opened.page.locator(".jp-CodeConsole .pm-card")
    expect(card.locator("mark").first).to_have_text("counts_ref[...]")
    expect(card.locator("button:visible")).to_have_count(0)
