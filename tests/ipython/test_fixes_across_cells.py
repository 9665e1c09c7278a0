"""Fixes of kernels whose parts stand in several cells, of which one is checked."""

from __future__ import annotations

import dataclasses
import textwrap
from pathlib import Path
from typing import Any

import pytest

from tests.ipython.cells import checked
from tests.ipython.kernel import IMPORTS, LOAD, Kernel

SCALE = """\
def scale(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0
"""
X = "jnp.ones((8, 128), jnp.float32)"
SMEM = "pl.BlockSpec(memory_space=pltpu.SMEM)"
OUT = "jax.ShapeDtypeStruct((8, 128), jnp.float32)"


@dataclasses.dataclass(frozen=True)
class Session:
    """Cells of a notebook. The last is checked; the fix changes cell ``changed``, from 0."""

    name: str
    cells: tuple[str, ...]
    changed: int


SESSIONS = (
    Session(
        "a call put together in another cell",
        (SCALE, f"f = pl.pallas_call(scale, out_shape={OUT}, out_specs={SMEM})", f"f({X})"),
        1,
    ),
    Session(
        "a spec of another cell",
        (SCALE, f"in_smem = {SMEM}", f"pl.pallas_call(scale, {OUT}, out_specs=in_smem)({X})"),
        1,
    ),
    Session(
        "kernel, specs, call and its use in four cells",
        (
            SCALE,
            f"specs = [\n    {SMEM},\n]",
            f"""\
def entry(x):
    return pl.pallas_call(scale, out_shape={OUT}, in_specs=specs)(x)
""",
            f"jax.jit(entry)({X})",
        ),
        1,
    ),
    Session(
        "a cell that ran twice, the second time with another text",
        (
            SCALE,
            "in_smem = pl.BlockSpec()",
            f"in_smem = {SMEM}",
            f"pl.pallas_call(scale, {OUT}, out_specs=in_smem)({X})",
        ),
        2,
    ),
)


def moved_to_vmem(card: dict[str, Any]) -> dict[str, Any]:
    (found,) = card["diagnostics"]
    return next(fix for fix in found["fixes"] if "VMEM" in fix["name"])


def edited_sources(payload: dict[str, Any], number: int) -> list[dict[str, Any]]:
    fixes = [fix for one in payload["diagnostics"] for fix in one["fixes"]]
    (fix,) = [one for one in fixes if one["id"] == number]
    return [payload["sources"][edit["span"]["source"]] for edit in fix["edits"]]


@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: session.name)
def test_the_fix_is_proved_in_the_cell_that_it_changes(session: Session, kernel: Kernel) -> None:
    *earlier, last = session.cells
    for number, code in enumerate(earlier):
        kernel.good(code, cell_id=f"{session.name}-{number}")
    payload = kernel.run(checked(last), cell_id=f"{session.name}-checked").card
    fix = moved_to_vmem(payload["card"])
    assert fix["applicability"] == "safe"
    (source,) = edited_sources(payload, fix["id"])
    assert source["cell_id"] == f"{session.name}-{session.changed}"
    assert source["text"] == session.cells[session.changed]


def test_cells_that_ran_before_the_extension_was_loaded(fresh: Kernel) -> None:
    fresh.good(IMPORTS)
    fresh.good(SCALE)
    fresh.good(f"in_smem = {SMEM}")
    fresh.good(LOAD)
    payload = fresh.run(checked(f"pl.pallas_call(scale, {OUT}, out_specs=in_smem)({X})")).card
    fix = moved_to_vmem(payload["card"])
    assert fix["applicability"] == "safe"
    (source,) = edited_sources(payload, fix["id"])
    assert (source["label"], source["text"]) == ("In[3]", f"in_smem = {SMEM}")


def test_an_imported_module(kernel: Kernel, tmp_path: Path) -> None:
    path = tmp_path / f"layers_{tmp_path.name}.py"
    text = f"{IMPORTS}\n{SCALE}\nspec = {SMEM}\nf = pl.pallas_call(scale, {OUT}, out_specs=spec)\n"
    path.write_text(text)
    kernel.good(f"import sys; sys.path.insert(0, {str(tmp_path)!r})\nimport {path.stem} as layers")
    payload = kernel.run(checked(f"layers.f({X})")).card
    fix = moved_to_vmem(payload["card"])
    assert fix["applicability"] == "safe"
    (source,) = edited_sources(payload, fix["id"])
    assert source == {
        "kind": "file", "label": path.name, "text": text, "cell_id": None, "editable": True,
    }  # fmt: skip


@pytest.mark.parametrize("cell_id", ["kernel", None])
def test_an_array_that_becomes_an_operand(cell_id: str | None, kernel: Kernel) -> None:
    kernel.good("import numpy as np\nwindow = np.hanning(128).astype(np.float32)", cell_id="array")
    taper = SCALE.replace("2.0", "window").replace("scale", "taper")
    for before in ("taper = taper\n", ""):  # the cell as it was before does not count
        kernel.good(f"{taper}{before}", cell_id=cell_id)
    entry = f"def entry(x):\n    return pl.pallas_call(taper, out_shape={OUT})(x)\n"
    payload = kernel.run(checked(f"{entry}entry({X})"), cell_id="call").card
    (found,) = payload["card"]["diagnostics"]
    (fix,) = found["fixes"]
    assert (fix["name"], fix["applicability"]) == ("pass window as an operand", "safe")
    sources = edited_sources(payload, fix["id"])
    assert [source["cell_id"] for source in sources] == [cell_id, "call", cell_id]


def test_what_a_function_built_earlier_is_not_guessed_at(kernel: Kernel) -> None:
    kernel.good(SCALE)
    kernel.good(
        textwrap.dedent(f"""\
            def make(spec):
                return pl.pallas_call(scale, {OUT}, out_specs=spec)
            f = make({SMEM})
        """)
    )
    payload = kernel.run(checked(f"f({X})")).card
    fixes = [fix for one in payload["card"]["diagnostics"] for fix in one["fixes"]]
    assert all(fix["applicability"] == "display" for fix in fixes if "VMEM" in fix["name"])
