"""The comm by which a page has files written, and ``%pallas_fix`` for those without one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pallas_magic.source.files import text_digest
from tests.ipython.cells import checked
from tests.ipython.kernel import IMPORTS, LOAD, Kernel
from tests.ipython.terminal import Terminal, plain, running_terminal

TARGET = "pallas_magic.fix"
X = "jnp.ones((8, 128), jnp.float32)"
LAYERS = f"""\
{IMPORTS}

def scale(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0


def scaled(x):
    return pl.pallas_call(
        scale, out_shape=x, out_specs=pl.BlockSpec(memory_space=pltpu.SMEM)
    )(x)
"""
FIXED = LAYERS.replace("pltpu.SMEM", "pltpu.VMEM")


@pytest.fixture
def layers(tmp_path: Path) -> Path:
    path = tmp_path / f"layers_{tmp_path.name}.py"
    path.write_text(LAYERS)
    return path


def use(path: Path) -> str:
    # Two versions of one size in one second are the same to a cache of bytecode.
    setup = f"import sys; sys.dont_write_bytecode = True; sys.path.insert(0, {str(path.parent)!r})"
    return f"{setup}; import {path.stem} as layers"


def edits_of(payload: dict[str, Any]) -> list[dict[str, Any]]:
    """What a page asks for to insert the first fix of a report."""
    fix = next(fix for one in payload["diagnostics"] for fix in one["fixes"])
    keys = {edit["span"]["source"] for edit in fix["edits"]}
    return [
        {
            "path": key,
            "old_text_sha256": text_digest(payload["sources"][key]["text"]),
            "edits": [
                {**{k: v for k, v in edit["span"].items() if k != "source"}, "new_text": new}
                for edit in fix["edits"]
                if edit["span"]["source"] == key and isinstance(new := edit["new_text"], str)
            ],
        }
        for key in keys
    ]


def answer(kernel: Kernel, **request: Any) -> dict[str, Any]:
    messages = kernel.ask(TARGET, {"version": 1, **request})
    assert [kind for kind, _ in messages] == ["comm_msg", "comm_close"]
    return messages[0][1]


def test_a_fix_is_written_checked_again_and_taken_back(kernel: Kernel, layers: Path) -> None:
    kernel.good(use(layers))
    payload = kernel.run(checked(f"layers.scaled({X})")).card
    written = answer(kernel, request="write", edits=edits_of(payload))
    assert (written["ok"], written["files"]) == (True, [layers.name])
    assert layers.read_text() == FIXED
    again = kernel.run("import importlib; importlib.reload(layers)")
    assert again.ok
    assert not kernel.run(checked(f"layers.scaled({X})")).card["diagnostics"]
    assert answer(kernel, request="undo", token=written["token"])["ok"]
    assert layers.read_text() == LAYERS


def test_a_file_that_was_only_read_is_not_written(kernel: Kernel, layers: Path) -> None:
    edits = [{"path": str(layers), "old_text_sha256": text_digest(LAYERS), "edits": []}]
    assert answer(kernel, request="write", edits=edits) == {
        "ok": False,
        "reason": "no report named this file as one that may be changed",
    }


def test_without_the_extension_nobody_answers(fresh: Kernel) -> None:
    asked = {"version": 1, "request": "undo", "token": "x"}
    closed: list[tuple[str, dict[str, Any]]] = [("comm_close", {})]
    assert fresh.ask(TARGET, asked) == closed
    fresh.good(LOAD)
    assert fresh.ask(TARGET, asked)[0][1]["ok"] is False
    fresh.good("%unload_ext pallas_magic")
    assert fresh.ask(TARGET, asked) == closed
    fresh.good("%reload_ext pallas_magic")
    assert fresh.ask(TARGET, asked)[0][1]["ok"] is False


def test_in_a_notebook_a_file_is_written_by_the_magic(kernel: Kernel, layers: Path) -> None:
    kernel.good(use(layers))
    kernel.run(checked(f"layers.scaled({X})"))
    refused = kernel.run("%pallas_fix 1", watched=False)
    assert refused.failure == (
        "UsageError: pallas_fix: nothing was written: nobody can be asked here; "
        "`--yes` does not ask"
    )
    assert "+        scale, out_shape=x, out_specs=pl.BlockSpec(memory_space=pltpu.VMEM)" in (
        refused.printed
    )
    assert layers.read_text() == LAYERS
    assert kernel.good("%pallas_fix 1 --yes").printed == (
        f"Wrote {layers.name} with fix 1: move `o_ref` to VMEM. Reload the module to use it.\n"
    )
    assert layers.read_text() == FIXED
    assert kernel.run("%pallas_fix 1 --yes").failure == (
        "UsageError: pallas_fix: nothing was written: "
        f"`{layers.name}` is not what was checked: check it again"
    )


def test_an_installed_package_is_shown_and_not_written(kernel: Kernel, layers: Path) -> None:
    package = layers.parent / "site-packages" / layers.name
    package.parent.mkdir()
    layers.rename(package)
    kernel.good(use(package))
    payload = kernel.run(checked(f"layers.scaled({X})")).card
    assert payload["sources"][str(package)]["editable"] is False
    assert kernel.run("%pallas_fix 1 --yes").failure == (
        "UsageError: pallas_fix: fix 1: move `o_ref` to VMEM changes "
        f"{package.name}, which cannot be written to"
    )
    assert not answer(kernel, request="write", edits=edits_of(payload))["ok"]
    assert package.read_text() == LAYERS


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    with running_terminal(tmp_path_factory.mktemp("ipython")) as opened:
        yield opened


@pytest.mark.parametrize(
    ("said", "text", "told"),
    [
        ("n", LAYERS, "Nothing was written."),
        ("", LAYERS, "Nothing was written."),
        ("y", FIXED, "Reload the module to use it."),
    ],
)
def test_at_a_terminal_it_shows_the_change_and_asks(
    terminal: Terminal, layers: Path, said: str, text: str, told: str
) -> None:
    terminal.type(use(layers))
    terminal.run(checked(f"layers.scaled({X})"))
    shown = plain(terminal.type("%pallas_fix 1", r"\[y/N\] $"))
    lines = shown.split("\n")
    assert "-        scale, out_shape=x, out_specs=pl.BlockSpec(memory_space=pltpu.SMEM)" in lines
    assert "+        scale, out_shape=x, out_specs=pl.BlockSpec(memory_space=pltpu.VMEM)" in lines
    assert lines[-1] == f"Write {layers.name} with fix 1: move `o_ref` to VMEM? "
    assert told in plain(terminal.type(said))
    assert layers.read_text() == text
