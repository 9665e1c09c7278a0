"""HTML that stands alone: what is in it, what is not, and that it holds no more than text."""

from __future__ import annotations

import dataclasses
import re
import shutil
from html.parser import HTMLParser
from typing import Any

import pytest

from pallas_magic.render.html import render_html
from pallas_magic.render.style import ROOT, style_sheet
from tests.render import samples, shapes

REPORTS = [samples.histogram, samples.proving, *shapes.ALL]
ELEMENTS = frozenset(
    {
        *("section", "article", "div", "p", "h3", "h4", "h5", "h6", "ul", "ol", "li"),
        *("details", "summary", "pre", "code", "mark", "ins", "del"),
        *("span", "b", "a", "br", "style", "img"),
        *("table", "caption", "thead", "tbody", "tr", "th", "td"),
    }
)
ATTRIBUTES = frozenset(
    {
        *("class", "style", "tabindex", "aria-label", "aria-hidden", "title", "href", "rel"),
        *("id", "role", "scope", "rowspan", "src", "alt", "width", "height"),
    }
)
DRAWN = "data:image/svg+xml,%3Csvg%20xmlns"
PAGE = "# `x`\n\n<script>alert(1)</script>\n\n- [a](https://example.org/)\n"


class Reader(HTMLParser):
    """Reads a document strictly: every element closed where it belongs."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: list[tuple[tuple[str, ...], str]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in ("br", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((tuple(self.open), data))

    def text(self, inside: str = "section") -> str:
        return "".join(text for path, text in self.texts if inside in path)


@pytest.mark.parametrize("make", REPORTS, ids=lambda make: make.__name__)
def test_only_harmless_elements(make: Any) -> None:
    read = Reader(render_html(make(), {"PM101": PAGE}))
    assert {tag for tag, _ in read.elements} <= ELEMENTS
    assert {name for _, attributes in read.elements for name in attributes} <= ATTRIBUTES
    assert [tag for tag, _ in read.elements].count("style") == 1
    for tag, attributes in read.elements:
        assert attributes.get("href", "https://").startswith(("https://", "#pm-")), tag
        assert attributes.get("src", DRAWN).startswith(DRAWN), tag


@pytest.mark.parametrize("make", REPORTS, ids=lambda make: make.__name__)
def test_without_its_sheet_no_style_needs_a_variable(make: Any) -> None:
    read = Reader(render_html(make(), {}, styled=False))
    styles = {attributes.get("style", "") for _, attributes in read.elements}
    assert "style" not in {tag for tag, _ in read.elements}
    assert not any("var(" in style or "color-mix" in style for style in styles)


def test_injected_text_is_text() -> None:
    read = Reader(render_html(shapes.injected(), {}))
    shown = shapes.INJECTION.replace("\x1b", "␛").replace("\u202e", "\ufffd")
    assert read.text().count(shown) > 10
    assert shapes.INJECTION not in read.text()


def test_code_marks_and_labels() -> None:
    read = Reader(render_html(samples.histogram(), {}))
    marks = [text for path, text in read.texts if "mark" in path]
    assert marks[:2] == ["counts_ref[...]", "pltpu.SMEM"]
    lines = read.text("pre").split("\n")
    assert " 9      counts_ref[...] = per_lane" in lines
    assert "        ↑ vector store" in lines
    assert f"{' ' * 49}↑ put in SMEM here" in lines


def test_diffs_are_ins_and_del() -> None:
    read = Reader(render_html(samples.histogram(), {}))
    assert "10 +         counts_ref[i] = per_lane[i]" in read.text("ins")
    assert " 9 -     counts_ref[...] = per_lane" in read.text("del")


def test_what_to_read_without_a_mouse_or_a_style_sheet() -> None:
    text = " ".join(Reader(render_html(samples.histogram(), {}, styled=False)).text().split())
    for part in (
        "2 errors in 1 kernel histogram_kernel · lowering for TPU v5e",
        "PM101 counts_ref is in SMEM, which holds scalars; this stores an int32[128] vector",
        "Fix 1: Move counts_ref to VMEM 1 error remains · same values ✓",
        (
            "PM102 total_ref is in VMEM, which takes vectors; this stores one scalar"
            " · In[4], line 10 · 2 fixes"
        ),
        "not shown to give the same values: interpret mode took too long",
        "Fixes 1 and 3 together: lowers ✓ · same values ✓",
        "%%pallas_check --fix 1 puts fix 1 into the cell",
    ):
        assert part in text


def test_the_first_diagnostic_is_open_and_the_others_folded() -> None:
    read = Reader(render_html(samples.histogram(), {}))
    assert [tag for tag, _ in read.elements].count("h3") == 1
    folded = [a for tag, a in read.elements if tag == "details" and "next" in a.get("class", "")]
    assert len(folded) == 1
    assert "open" not in folded[0]


def test_proving_and_folded_diffs_say_so() -> None:
    assert "· proving…" in Reader(render_html(samples.proving(), {})).text()
    assert "Show 17 changed lines" in Reader(render_html(shapes.long_fix(), {})).text("summary")


def test_what_is_going_on_is_told() -> None:
    found = render_html(samples.proving(), {}, progress="proving 2 of <4>")
    assert "lowering for TPU v5e · proving 2 of <4>…" in Reader(found).text()
    clean = Reader(render_html(shapes.clean(), {}, styled=False, progress="compiling 3 of 9"))
    assert clean.text("p") == "compiling 3 of 9…"


def test_a_clean_cell_is_quiet() -> None:
    read = Reader(render_html(shapes.clean(), {}, styled=False))
    assert read.text().split("\n") == [
        "",
        (
            "histogram ✓ lowers for TPU v5e (14 ms)"
            "flash_attention ✓ lowers for TPU v5e (3 calls, 1.7 s)"
            "softmax skipped for H100: a Triton kernel; Mosaic GPU targets do not take it"
        ),
        "",
    ]


def test_every_rule_of_the_sheet_is_under_our_root() -> None:
    sheet = re.sub(
        r"@(?:media|supports) [^{]*\{(.*?\})\s*\}", r"\1", style_sheet(), flags=re.DOTALL
    )
    for selectors in re.findall(r"([^{}]+)\{[^}]*\}", sheet):
        for selector in selectors.split(","):
            assert selector.strip().startswith(f".{ROOT}"), selector
    assert "<" not in style_sheet()


@pytest.mark.browser
def test_nothing_runs_in_a_browser() -> None:
    from playwright.sync_api import Dialog, sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--headless", "--no-sandbox", "--disable-gpu"],
        )
        page = browser.new_page(viewport={"width": 400, "height": 300})
        said: list[str] = []

        def heard(dialog: Dialog) -> None:
            said.append(dialog.message)
            dialog.dismiss()

        page.on("dialog", heard)
        page.set_content("<!doctype html>" + render_html(shapes.injected(), {}))
        assert page.locator(f"script, img:not([src^='{DRAWN}']), button").count() == 0
        # Code may scroll within its box, the page never sideways.
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
        browser.close()
    assert said == []


@pytest.mark.parametrize("name", ["PM101", "PM999"])
def test_no_line_is_blank_for_markdown_ends_html_there(name: str) -> None:
    report = samples.histogram()
    original = "first\n\n\n    [a link](javascript:x)\n \nlast"
    found = [dataclasses.replace(one, code=name, original=original) for one in report.diagnostics]
    html = render_html(dataclasses.replace(report, diagnostics=tuple(found)), styled=False)
    assert all(line.strip() for line in html.split("\n"))
    assert "first&#10;&#10;\n    [a link](javascript:x)&#10; \nlast" in html
