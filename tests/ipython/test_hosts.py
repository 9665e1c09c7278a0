"""Hosts that lack something: by protocol, as far as a kernel sees of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pallas_magic.report import Report
from tests.ipython.cells import BAD, GOOD, checked
from tests.ipython.kernel import CARD, IMPORTS, LOAD, WIDGET, Kernel

# Colab, VS Code and nbclassic, as they name the cell of an execute request.
NAMES = {
    "nbclassic": None,
    "vscode": "vscode-notebook-cell:/home/ann/a%20b/kernels.ipynb#W2sZmlsZQ%3D%3D",
    "lab": "0c4ad6d4-21b5-4b6f-8a2e-0f6e3f0a0c1e",
}
HIDE = """\
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.split('.')[0] == {name!r}:
            raise ImportError(name)
sys.meta_path.insert(0, Hidden())
"""
HOSTILE = {
    "a number": 7,
    "a list": ["0c4ad6d4"],
    "an object": {"__class__": "str"},
    "markup": "<img src=x onerror=alert(1)>",
    "long": "x" * 100_000,
    "true": True,
}
SCRIPT = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"


@pytest.mark.parametrize("host", NAMES)
def test_a_cell_is_checked_whatever_names_it(kernel: Kernel, host: str) -> None:
    outcome = kernel.run(checked(BAD), cell_id=NAMES[host])
    (source,) = outcome.card["sources"].values()
    assert (source["cell_id"], source["text"]) == (NAMES[host], checked(BAD))
    card, bar = outcome.displays
    assert set(card) == {CARD, "text/html", "text/plain"}
    assert "%%pallas_check --fix 1</code> puts fix 1 into the cell" in card["text/html"]
    assert WIDGET in bar


@pytest.mark.parametrize("host", NAMES)
def test_a_fix_replaces_the_executed_cell_in_each(kernel: Kernel, host: str) -> None:
    replaced = kernel.good(checked(BAD, "--fix 1"), cell_id=NAMES[host]).next_input
    assert replaced is not None
    assert replaced["text"] == checked(GOOD)


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_a_front_end_calls_a_cell_is_not_trusted(kernel: Kernel, kind: str) -> None:
    outcome = kernel.run(checked(BAD), cell_id=HOSTILE[kind])
    (source,) = outcome.card["sources"].values()
    named = HOSTILE[kind]
    usable = isinstance(named, str) and len(named) <= 1000
    assert source["cell_id"] == (named if usable else None)
    assert "onerror" not in outcome.displays[0]["text/html"]
    assert Report.from_dict(outcome.card).diagnostics


def test_markup_in_the_users_text_is_text(kernel: Kernel) -> None:
    cell = BAD.replace("* 2.0", f"* 2.0  # {SCRIPT}")
    outcome = kernel.run(checked(cell))
    html = outcome.displays[0]["text/html"]
    assert "&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert "<script" not in html
    assert "<img" not in html


@pytest.mark.parametrize(
    "damage",
    [
        {"version": 2},
        {"diagnostics": "none"},
        {"diagnostics": [{"code": 1}]},
        {"sources": []},
        {"kernels": None},
        {"proving": "no"},
    ],
    ids=json.dumps,
)
def test_a_payload_that_was_edited_is_refused_with_the_field(
    kernel: Kernel, damage: dict[str, Any]
) -> None:
    card = kernel.run(checked(BAD)).card
    (field,) = damage
    with pytest.raises(ValueError, match=field):
        Report.from_dict({**card, **damage})


def test_edits_out_of_range_are_refused(kernel: Kernel) -> None:
    payload = json.loads(json.dumps(kernel.run(checked(BAD)).card))
    (edit,) = payload["diagnostics"][0]["fixes"][0]["edits"]
    edit["span"].update(start_line=900, end_line=901)
    (fix,) = Report.from_dict(payload).fixes()
    with pytest.raises(ValueError, match="900"):
        fix.apply(checked(BAD))


def test_without_ipywidgets_the_card_is_html(fresh: Kernel) -> None:
    fresh.good(HIDE.format(name="ipywidgets"))
    fresh.good(LOAD)
    fresh.good(IMPORTS)
    outcome = fresh.run(checked(BAD))
    (card,) = outcome.displays
    assert set(card) == {CARD, "text/html", "text/plain"}
    assert outcome.warned == ""
    assert "No widgets" not in str(fresh.good("%pallas_doctor").displays)


def test_without_html_the_card_is_text(fresh: Kernel) -> None:
    fresh.good(LOAD)
    fresh.good(IMPORTS)
    fresh.good(
        "import pallas_magic.render.html as drawn\n"
        "def fails(*args, **options):\n    raise RuntimeError('no HTML here')\n"
        "drawn.render_html = fails"
    )
    outcome = fresh.run(checked(BAD))
    card = outcome.displays[0]
    assert "text/html" not in card
    assert card["text/plain"].startswith("error[PM101]: `o_ref` is in SMEM")
    assert "pallas_magic failed while drawing the card" in outcome.warned
