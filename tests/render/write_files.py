"""Writes what the tests here compare with: ``python -m tests.render.write_files``.

Look at the difference before you commit it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from pallas_magic import render
from pallas_magic.render.text import render_text
from pallas_magic.report import Report
from tests.render import chip_shapes, samples, shapes

Sample = Callable[[], Report]

DATA = Path(__file__).parent / "data"
PAYLOADS = Path(__file__).parents[2] / "labextension" / "test-payloads"

TEXTS: dict[str, tuple[Sample, int]] = {
    "histogram-60": (samples.histogram, 60),
    "histogram-100": (samples.histogram, 100),
    "proving": (samples.proving, 80),
    "chips-50": (chip_shapes.chips, 50),
    **{make.__name__: (make, 80) for make in shapes.ALL},
}
# What the notebook extension is tested with; no versions are in these.
SHARED: tuple[Sample, ...] = (
    samples.histogram,
    samples.proving,
    shapes.across_cells,
    chip_shapes.chips,
    chip_shapes.clean_chips,
    chip_shapes.memory,
    shapes.clean,
    shapes.in_file,
    shapes.injected,
    shapes.long_fix,
    shapes.three_marks,
)


def text_of(name: str) -> str:
    """The text that stands in ``data/<name>.txt``."""
    make, width = TEXTS[name]
    return render_text(make(), width) + "\n"


def payload_of(make: Sample) -> str:
    """The text that stands in the notebook extension's payload of the same name."""
    payload = render.payload(make(), samples.PAGES)
    return json.dumps(payload, indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    for name in TEXTS:
        (DATA / f"{name}.txt").write_text(text_of(name), encoding="utf-8")
    for make in SHARED:
        (PAYLOADS / f"{make.__name__}.json").write_text(payload_of(make), encoding="utf-8")


if __name__ == "__main__":
    main()
