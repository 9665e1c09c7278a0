"""The card and its fixes as ipywidgets, of the oldest and the newest release."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ipywidgets
import pytest

from pallas_magic.render.widget import fix_bar, update_fix_bar, widget
from pallas_magic.report import Report
from tests.render import samples, shapes


def inside(box: Any) -> Iterator[Any]:
    yield box
    for child in getattr(box, "children", ()):
        yield from inside(child)


def of_kind(box: Any, kind: type) -> list[Any]:
    return [found for found in inside(box) if type(found) is kind]


def descriptions(report: Report) -> list[str]:
    return [button.description for button in of_kind(fix_bar(report), ipywidgets.Button)]


def test_each_insertable_fix_and_all_together_have_a_button() -> None:
    assert descriptions(samples.histogram()) == [
        "Show the cell with fix 1",
        "Show the cell with fix 2",
        "Show the cell with fix 3",
        "Show the cell with fix 4",
        "Show the cell with all 2 fixes",
    ]


@pytest.mark.parametrize("make", [samples.proving, shapes.in_file, shapes.idea, shapes.clean])
def test_others_have_none(make: Any) -> None:
    assert descriptions(make()) == []


def test_buttons_are_named_with_their_fix() -> None:
    button = of_kind(fix_bar(samples.histogram()), ipywidgets.Button)[0]
    assert button.tooltip == "Show the cell to copy with fix 1: Move counts_ref to VMEM"


def test_a_click_shows_the_fixed_cell_and_another_hides_it() -> None:
    report = samples.histogram()
    row = of_kind(fix_bar(report), ipywidgets.VBox)[1]
    _, button, box = row.children
    assert box.layout.display == "none"
    button.click()
    assert box.layout.display == ""
    assert button.description == "Hide the cell with fix 1"
    button.click()
    assert box.layout.display == "none"
    assert button.description == "Show the cell with fix 1"


def test_the_text_to_copy_is_the_fixed_cell() -> None:
    report = samples.histogram()
    areas = of_kind(fix_bar(report), ipywidgets.Textarea)
    text = report.sources["cell-4"].text
    expected = [fix.apply(text) for fix in report.fixes()]
    expected.append(report.fixes()[2].apply(report.fixes()[0].apply(text)))
    assert [area.value for area in areas] == expected


def test_the_command_is_named() -> None:
    shown = [html.value for html in of_kind(fix_bar(samples.histogram()), ipywidgets.HTML)]
    named = [text for text in shown if "Copy this over the cell" in text]
    assert "<code>%%pallas_check --fix 1</code>" in named[0]
    assert "<code>%%pallas_check --fix</code>" in named[-1]


def test_a_bar_is_updated_in_place() -> None:
    bar = fix_bar(samples.proving())
    model = bar.model_id
    update_fix_bar(bar, samples.histogram())
    assert bar.model_id == model
    assert len(of_kind(bar, ipywidgets.Button)) == 5
    update_fix_bar(bar, shapes.clean())
    assert bar.children == ()


@pytest.mark.parametrize("make", shapes.ALL, ids=lambda make: make.__name__)
def test_the_whole_card_is_one_box(make: Any) -> None:
    box = widget(make())
    assert type(box) is ipywidgets.VBox
    card, _ = box.children
    assert "<section" in card.value
    assert "<script" not in "".join(html.value for html in of_kind(box, ipywidgets.HTML))
