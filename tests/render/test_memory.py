"""On-chip memory: bars, buffers, and nothing where nothing is known."""

from __future__ import annotations

import dataclasses
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree as ET

import pytest

from pallas_magic.render.card import build_card
from pallas_magic.render.html import render_html
from pallas_magic.render.html_memory import HEIGHT, WIDTH, bar_svg
from pallas_magic.render.model import CardMemory, MemoryBar
from pallas_magic.render.text import render_text
from pallas_magic.report import Report
from tests.render import chip_shapes, samples, shapes
from tests.render.chip_shapes import BLOCK, OK, buffer, kernel, registers, vmem
from tests.render.test_html import Reader

SVG = "{http://www.w3.org/2000/svg}"


def memory(report: Report) -> CardMemory:
    found = build_card(report, {}).memory
    assert found is not None
    return found


def one(*resources: Any, target: str = "tpu:v4") -> Report:
    return Report((kernel("k", target, OK, OK, *resources),), (), {})


def test_a_bar_and_its_buffers() -> None:
    found = memory(chip_shapes.memory())
    assert found.gist == "15.1 of 16 MiB of VMEM"
    [only] = found.kernels
    assert (only.kernel, only.calls, only.space) == ("matmul_kernel", "", "VMEM")
    [bar] = only.bars
    assert (bar.chips, bar.words, bar.rest_words) == ("TPU v4", "15.1 of 16 MiB", "80 KiB")
    assert (bar.used, bar.limit, bar.parts, bar.rest) == (
        15 * BLOCK + 81_920,
        16 << 20,
        (14 * BLOCK, BLOCK),
        81_920,
    )
    [table] = only.tables
    assert table.chips == ""
    assert [dataclasses.astuple(row) for row in table.buffers] == [
        ("x_ref", "float32[512, 512]", "7 MiB × 2", "14 MiB"),  # noqa: RUF001
        ("without a name", "float32[512, 512]", "1 MiB", "1 MiB"),
    ]


def test_chips_that_are_alike_are_one_bar() -> None:
    matmul, scale = memory(chip_shapes.clean_chips()).kernels
    assert [(bar.chips, bar.words) for bar in matmul.bars] == [
        ("TPU v4", "2.3 of 16 MiB"),
        ("TPU v5e, v6e and v7x", "2.3 of 128 MiB"),
    ]
    assert len(matmul.tables) == 1
    assert [(bar.chips, bar.words, bar.rest_words) for bar in scale.bars] == [
        ("TPU v4", "96 KiB of 16 MiB", ""),
        ("TPU v5e, v6e and v7x", "96 KiB of 128 MiB", ""),
    ]
    assert (
        memory(chip_shapes.clean_chips()).gist
        == "at most 2.3 of 16 MiB of VMEM, by matmul on TPU v4"
    )


def test_buffers_that_differ_are_told_by_chip() -> None:
    kernels = (
        kernel("k", "tpu:v4", OK, OK, vmem(100, 60, buffer("a", 40))),
        kernel("k", "tpu:v5e", OK, OK, vmem(100, 60)),
    )
    [only] = memory(Report(kernels, (), {})).kernels
    assert [table.chips for table in only.tables] == ["TPU v4"]


@pytest.mark.parametrize(
    ("entry", "target", "space", "words"),
    [
        (registers(168), "gpu:h100", "registers", "168 of 255 a thread"),
        (vmem(0, 2048), "tpu:v4", "VMEM", "2 KiB"),
        (vmem(1 << 20, 512), "tpu:v4", "VMEM", "512 bytes of 1 MiB"),
        ({**vmem(232_448, 2048), "space": "smem"}, "gpu:h100", "shared memory", "2 of 227 KiB"),
        ({**vmem(1 << 20, 2048), "space": "smem"}, "tpu:v4", "SMEM", "2 KiB of 1 MiB"),
    ],
)
def test_words(entry: dict[str, Any], target: str, space: str, words: str) -> None:
    [only] = memory(one(entry, target=target)).kernels
    assert (only.space, only.bars[0].words) == (space, words)


def test_gist_of_registers() -> None:
    report = one(registers(168), target="gpu:h100")
    assert memory(report).gist == "168 of 255 registers a thread"


@pytest.mark.parametrize(
    "entry",
    [
        {},
        {**vmem(10, 5), "used": -1},
        {**vmem(10, 5), "used": True},
        {**vmem(10, 5), "limit": 1e9},
        {**vmem(10, 5), "limit": 10**30},
        {**vmem(10, 5), "space": None},
        {**vmem(10, 5), "buffers": None},
        {**vmem(10, 5), "buffers": ["x"]},
        vmem(10, 5, {**buffer("x", 4), "copies": 0}),
        vmem(10, 5, {**buffer("x", 4), "type": 3}),
    ],
)
def test_what_no_compile_stage_writes_is_left_out(entry: dict[str, Any]) -> None:
    assert build_card(one(entry), {}).memory is None
    whole = memory(one(entry, vmem(10, 5))).kernels
    assert [found.bars[0].words for found in whole] == [
        "5 bytes of 10 bytes".replace(" bytes", "", 1)
    ]


def test_buffers_beyond_what_is_used_are_no_parts_of_it() -> None:
    [bar] = memory(one(vmem(100, 50, buffer("a", 60)))).kernels[0].bars
    assert (bar.parts, bar.rest, bar.rest_words) == ((), 50, "")


def test_many_buffers_are_cut() -> None:
    entry = vmem(1000, 900, *(buffer(f"b{number}", 4) for number in range(50)))
    [table] = memory(one(entry)).kernels[0].tables
    assert len(table.buffers) == 41
    assert table.buffers[-1].name == "10 more"


@pytest.mark.parametrize("make", [samples.histogram, shapes.clean, shapes.nothing])
def test_no_memory_where_none_is_known(make: Any) -> None:
    assert build_card(make(), {}).memory is None
    assert "On-chip memory" not in render_html(make(), {})


def bar(used: int, limit: int, *parts: int) -> MemoryBar:
    return MemoryBar("", used, limit, parts, used - sum(parts), "", "")


@pytest.mark.parametrize(
    ("shown", "ends"),
    [
        (bar(50, 100, 30, 10), [200, 60, 80, 100]),
        (bar(100, 100, 100), [200, 200]),
        (bar(0, 100), [200]),
        # Whatever is used is seen.
        (bar(1, 1_000_000), [200, 2]),
        (bar(300, 100, 300), [200, 200]),
    ],
)
def test_a_bar_is_drawn_to_scale(shown: MemoryBar, ends: list[float]) -> None:
    shapes_in = ET.fromstring(bar_svg(shown)).findall(f"{SVG}rect")
    drawn = [float(one.get("x", "0")) + float(one.get("width", "0")) for one in shapes_in]
    assert drawn == pytest.approx(ends)
    assert {one.get("height") for one in shapes_in} == {str(HEIGHT)}
    assert drawn[0] == WIDTH


def test_a_bar_near_its_limit_has_another_colour() -> None:
    tight, wide = bar_svg(bar(95, 100)), bar_svg(bar(85, 100))
    assert "#c77d0a" in tight
    assert "#c77d0a" not in wide


def test_html_is_an_image_with_its_numbers_and_a_table() -> None:
    read = Reader(render_html(chip_shapes.memory(), {}, styled=False))
    [image] = [attributes for tag, attributes in read.elements if tag == "img"]
    assert image["alt"] == "VMEM on TPU v4: 15.1 of 16 MiB"
    assert unquote(image["src"]).startswith('data:image/svg+xml,<svg xmlns="http://www.w3.org')
    text = " ".join(read.text("details").split())
    assert text.startswith("On-chip memory · 15.1 of 16 MiB of VMEM matmul_kernel · VMEM TPU v4")
    assert "80 KiB of it is the compiler's own" in text
    assert "x_reffloat32[512, 512]7 MiB × 214 MiB" in text  # noqa: RUF001


def test_text_has_a_bar_and_a_line_for_each_buffer() -> None:
    assert render_text(chip_shapes.memory(), 80).split("\n") == [
        "matmul_kernel  ✓ compiles for TPU v4 (500 ms)",
        "matmul_kernel VMEM ███████████████████░ 15.1 of 16 MiB",
        "  x_ref               float32[512, 512]  7 MiB × 2 = 14 MiB",  # noqa: RUF001
        "  without a name      float32[512, 512]  1 MiB",
        "  the compiler's own                     80 KiB",
    ]


def test_text_of_many_buffers_has_bars_alone() -> None:
    entry = vmem(1000, 900, *(buffer(f"b{number}", 4) for number in range(30)))
    assert render_text(one(entry), 80).split("\n")[1:] == [
        "k  VMEM ██████████████████░░ 900 of 1000 bytes"
    ]


def test_text_of_an_error_is_of_the_error() -> None:
    report = samples.histogram()
    with_memory = dataclasses.replace(report, kernels=chip_shapes.memory().kernels)
    assert "█" not in render_text(with_memory, 80)
    assert build_card(with_memory, {}).memory is not None


def test_a_terminal_without_blocks_has_ascii() -> None:
    text = render_text(chip_shapes.memory(), 80, encoding="ascii")
    assert text.isascii()
    assert text.split("\n")[:3] == [
        "matmul_kernel  + compiles for TPU v4 (500 ms)",
        "matmul_kernel VMEM ###################. 15.1 of 16 MiB",
        "  x_ref               float32[512, 512]  7 MiB x 2 = 14 MiB",
    ]
    assert "█" in render_text(chip_shapes.memory(), 80, encoding="no such encoding")
    assert "█░ 15.1" in render_text(chip_shapes.memory(), 80, encoding="cp437")
