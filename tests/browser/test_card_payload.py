"""How the card is drawn: from the payload of a saved notebook, without an engine or a kernel."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OpenNotebook, lab_only
from tests.browser.notebook_page import NotebookPage
from tests.browser.payloads import FIX_1, MIME, TEXT, Payload, card_cell, sample
from tests.browser.server import Server, code_cell, display_output

HOSTILE = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'


@pytest.fixture
def opened(server: Server, open_notebook: OpenNotebook) -> NotebookPage:
    server.write_notebook("card.ipynb", [card_cell()])
    return open_notebook("card.ipynb")


def test_header_counts_and_first_finding_is_open(opened: NotebookPage) -> None:
    card = opened.card(0)
    expect(card.locator(".pm-head b")).to_have_text("2 errors in 1 kernel")
    expect(card.locator(".pm-head .pm-dim")).to_have_text("histogram_kernel · lowering for TPU v5e")
    first, second = card.locator(".pm-diagnostic").all()
    expect(first).to_have_attribute("open", "")
    expect(second).not_to_have_attribute("open", "")
    expect(second.locator(".pm-finding")).to_have_text(
        "PM102 total_ref is in VMEM, which takes vectors; this stores one scalar "
        "In[4], line 10 · 2 fixes"
    )
    opened.screenshot("card-light")


@lab_only
def test_a_mark_is_described_by_its_label(opened: NotebookPage) -> None:
    marks = opened.card(0).locator("details[open] mark")
    expect(marks).to_have_text(["counts_ref[...]", "pltpu.SMEM"])
    for mark, label in zip(marks.all(), ["↑ vector store", "↑ put in SMEM here"], strict=True):
        described_by = mark.get_attribute("aria-describedby")
        expect(opened.page.locator(f"[id='{described_by}']")).to_have_text(label)


def test_a_label_stands_under_its_mark(opened: NotebookPage) -> None:
    card = opened.card(0)
    expect(card.locator("details[open] mark")).to_have_count(2)
    marks = card.locator("details[open] mark").all()
    labels = card.locator("details[open] .pm-says").all()
    for mark, label in zip(marks, labels, strict=True):
        above, below = mark.bounding_box(), label.bounding_box()
        assert above is not None
        assert below is not None
        assert abs(above["x"] - below["x"]) < 1
        assert above["y"] < below["y"] < above["y"] + 2.5 * above["height"]


@lab_only
def test_line_numbers_are_not_copied_with_the_code(opened: NotebookPage) -> None:
    window = opened.card(0).locator(".pm-window").first
    assert window.inner_text().splitlines()[:2] == [
        "def histogram_kernel(x_ref, counts_ref, total_ref):",
        "    block = x_ref[...]",
    ]


@lab_only
def test_the_rule_page_is_rendered_when_opened(opened: NotebookPage) -> None:
    card = opened.card(0)
    expect(card.locator(".pm-page").first).to_be_empty()
    card.get_by_text("Why").first.click()
    expect(card.locator(".pm-page h2").first).to_contain_text("What it means")
    card.get_by_text("JAX's own error").first.click()
    expect(card.locator(".pm-original").first).to_contain_text("Cannot store a vector to SMEM")
    opened.screenshot("card-unfolded")


def test_dark_and_narrow(opened: NotebookPage) -> None:
    opened.theme("JupyterLab Dark")
    opened.card(0).locator("summary").nth(0).hover()
    opened.screenshot("card-dark")
    opened.page.set_viewport_size({"width": 560, "height": 1800})
    if opened.host == "lab":
        opened.command("application:toggle-left-area")
    box = opened.card(0).bounding_box()
    assert box is not None
    overflow = opened.card(0).evaluate("card => card.scrollWidth - card.clientWidth")
    assert overflow <= 0, "only code may scroll sideways"
    opened.screenshot("card-dark-narrow")
    opened.theme("JupyterLab Light")
    opened.screenshot("card-light-narrow")


def _hostile(payload: Payload) -> None:
    card = payload["card"]
    card["title"] = HOSTILE
    card["subtitle"] = [["code", HOSTILE]]
    card["diagnostics"][0]["message"] = [["text", HOSTILE]]
    card["diagnostics"][0]["page"] = f"# Page\n\n{HOSTILE}\n\n[link](javascript:window.hacked=1)"
    card["diagnostics"][0]["original"] = HOSTILE
    card["diagnostics"][0]["windows"][0]["lines"][0]["segments"] = [["k", HOSTILE, None]]
    payload["diagnostics"][0]["message"] = HOSTILE


@lab_only
def test_text_of_a_payload_is_never_markup(server: Server, open_notebook: OpenNotebook) -> None:
    server.write_notebook("hostile.ipynb", [card_cell(sample(_hostile))])
    opened = open_notebook("hostile.ipynb")
    card = opened.card(0)
    expect(card.locator(".pm-head b")).to_have_text(HOSTILE)
    card.get_by_text("Why").first.click()
    expect(card.locator(".pm-page h1")).to_contain_text("Page")
    assert card.locator("script, img[onerror], a[href^='javascript']").count() == 0
    assert opened.page.evaluate("window.hacked") is None


@lab_only
def test_a_bad_payload_is_refused_in_one_line(server: Server, open_notebook: OpenNotebook) -> None:
    bad = sample(lambda payload: payload["card"].update(state="ready"))
    server.write_notebook("bad.ipynb", [card_cell(bad)])
    opened = open_notebook("bad.ipynb")
    expect(opened.cell(0).locator(".pm-refused")).to_have_text(
        "This output cannot be shown as a card: card.state: expected one of proving, done"
    )
    expect(opened.card(0)).to_have_count(0)


def test_an_empty_bundle_is_nothing(server: Server, open_notebook: OpenNotebook) -> None:
    bundles: list[dict[str, object]] = [
        {"text/plain": "before"},
        {MIME: {}, "text/plain": "unseen"},
        {"text/plain": "after"},
    ]
    outputs = [display_output(bundle) for bundle in bundles]
    server.write_notebook("empty.ipynb", [code_cell("1", "empty", outputs)])
    opened = open_notebook("empty.ipynb")
    expect(opened.cell(0).get_by_text("after")).to_be_visible()
    expect(opened.cell(0).get_by_text("unseen")).to_have_count(0)
    heights = (
        opened.cell(0)
        .locator(".jp-OutputArea-child")
        .evaluate_all("children => children.map(child => child.offsetHeight)")
    )
    assert heights[1] == 0
    assert heights[0] > 0


def _clean(payload: Payload) -> None:
    payload.update(ok=True, diagnostics=[], combined=None)
    line = [["code", "histogram"], ["text", " ✓ lowers for TPU v5e (14 ms)"]]
    payload["card"].update(title="1 kernel lowers", diagnostics=[], combined=None, kernels=[line])


def test_a_clean_check_is_one_quiet_line(server: Server, open_notebook: OpenNotebook) -> None:
    server.write_notebook("clean.ipynb", [card_cell(sample(_clean))])
    opened = open_notebook("clean.ipynb")
    expect(opened.card(0)).to_have_text("histogram ✓ lowers for TPU v5e (14 ms)")
    opened.screenshot("card-clean", opened.cell(0))


def _reportable(payload: Payload) -> None:
    payload["card"]["diagnostics"][0]["bug_report"] = "Kernel: histogram\nJAX 0.12"


@lab_only
def test_a_bug_report_is_copied(server: Server, open_notebook: OpenNotebook) -> None:
    server.write_notebook("bug.ipynb", [card_cell(sample(_reportable))])
    opened = open_notebook("bug.ipynb")
    opened.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    opened.button(0, "Copy as bug report").click()
    expect(opened.announced()).to_have_text("Copied")
    copied = opened.page.evaluate("navigator.clipboard.readText()")
    assert copied == "Kernel: histogram\nJAX 0.12"


@lab_only
def test_a_bug_report_is_offered_where_nothing_can_be_copied(
    server: Server, open_notebook: OpenNotebook
) -> None:
    server.write_notebook("bug.ipynb", [card_cell(sample(_reportable))])
    opened = open_notebook("bug.ipynb")
    opened.page.evaluate(
        "() => { delete Navigator.prototype.clipboard; document.execCommand = () => false; }"
    )
    opened.button(0, "Copy as bug report").click()
    offered = opened.card(0).get_by_label("Text to copy")
    expect(offered).to_be_focused()
    expect(offered).to_have_value("Kernel: histogram\nJAX 0.12")


@lab_only
def test_the_card_stands_without_buttons_in_a_view_of_its_own(
    opened: NotebookPage,
) -> None:
    opened.command("notebook:create-output-view")
    view = opened.page.locator(".jp-LinkedOutputView .pm-card")
    expect(view.locator("mark").first).to_have_text("counts_ref[...]")
    expect(view.locator(".pm-insert:visible")).to_have_count(0)
    expect(opened.page.locator(".jp-Notebook").get_by_role("button", name=FIX_1)).to_have_count(1)
    assert TEXT
