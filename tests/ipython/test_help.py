"""Help in place: pages of rules, `?`, the doctor, compilers, and fixes in a notebook."""

from __future__ import annotations

import platform
import re

import pytest

from pallas_magic.ipython.pages import FAMILIES, index_page, page_of
from pallas_magic.render.page_text import page_text
from pallas_magic.rules import all_rules, pages
from tests.ipython.cells import BAD, checked
from tests.ipython.kernel import CARD, WIDGET, Kernel

KNOWN = "\n".join(f"  {rule.code}  {rule.name}" for rule in all_rules())
IN_NOTEBOOK = (
    "UsageError: pallas_fix: in a notebook the fixed text would replace this cell, not the one "
    "that was checked. Press the button on the card, or put `%%pallas_check --fix{}` on top of the "
    "checked cell and run it."
)


@pytest.mark.parametrize(
    "named", ["PM101", "pm101", " `PM101`", "[PM101]", "smem-vector-store", "smem_vector_store"]
)
def test_a_page_is_found_by_code_and_name(named: str) -> None:
    assert page_of(named) == pages()["PM101"]


def test_a_notebook_gets_markdown_and_text(kernel: Kernel) -> None:
    outcome = kernel.good("%pallas_explain PM101")
    page = pages()["PM101"]
    assert outcome.displays == [{"text/markdown": page, "text/plain": page_text(page)}]
    assert outcome.printed == ""


def test_an_unknown_code_lists_the_known_ones(kernel: Kernel) -> None:
    outcome = kernel.run("%pallas_explain PM1")
    assert outcome.failure == f"UsageError: pallas_explain: no rule 'PM1'. The rules:\n{KNOWN}"
    assert outcome.warned == f"{outcome.failure}\n"
    assert not outcome.displays


def test_without_a_code_every_rule_is_listed(kernel: Kernel) -> None:
    (shown,) = kernel.good("%pallas_explain").displays
    assert shown["text/markdown"] == index_page()
    lines = shown["text/markdown"].split("\n")
    for rule in all_rules():
        title = pages()[rule.code].split("\n")[0].partition(": ")[2]
        assert f"- `{rule.code}` `{rule.name}`: {title}" in lines
        assert rule.code[2] in FAMILIES
    headings = [line for line in lines if line.startswith("## ")]
    assert headings[0] == "## Memory spaces"
    assert len(headings) == len(set(headings))


def test_a_question_mark_tells_the_options(kernel: Kernel) -> None:
    told = kernel.good("%%pallas_check?").help
    for option in ("--target T", "--fix [N]", "--no-run", "--no-verify"):
        assert f"\n{option}" in told
    assert "%pallas_check [--target T] [--no-run] [--no-verify] f(x)" in told
    assert "`# pallas: ignore[PM101]` on a line leaves out what is found there" in told


@pytest.mark.parametrize("name", ["explain", "fix", "compilers", "doctor", "failure", "check"])
def test_every_magic_has_help(kernel: Kernel, name: str) -> None:
    told = kernel.good(f"%pallas_{name}?").help
    assert re.search(r"Docstring:\s*\w", told)


def test_a_question_about_the_magic_is_no_check(kernel: Kernel) -> None:
    assert not kernel.good("%%pallas_check?").displays


@pytest.mark.parametrize(("wanted", "option"), [("1", " 1"), ("all", ""), ("", "")])
def test_a_fix_in_a_notebook_says_what_to_do(kernel: Kernel, wanted: str, option: str) -> None:
    kernel.run(checked(BAD))
    outcome = kernel.run(f"%pallas_fix {wanted}")
    assert outcome.failure == IN_NOTEBOOK.format(option)
    assert outcome.next_input is None


def test_the_doctor_tells_versions_stages_and_host(kernel: Kernel) -> None:
    outcome = kernel.good("%pallas_doctor")
    lines = outcome.printed.split("\n")
    import IPython
    import jax

    assert lines[0] == "Versions"
    assert lines[1].startswith(f"  Python {platform.python_version()} on ")
    assert f"  jax {jax.__version__}" in lines
    assert f"  ipython {IPython.__version__}" in lines
    assert f"  JAX {jax.__version__} is one of the releases pallas_magic is tested with" in lines
    assert "  trace, lower: work here; values come from interpret mode: no accelerator" in lines
    assert [line for line in lines if line and not line.startswith(" ")] == [
        "Versions", "Stages", "Host", "Settings",
    ]  # fmt: skip
    assert "  PallasMagic.target = 'auto'" in lines


def test_the_page_itself_tells_what_it_does_not_draw(kernel: Kernel) -> None:
    told = {
        frozenset(bundle) - {"text/plain"}: bundle["text/plain"]
        for bundle in kernel.good("%pallas_doctor").displays
    }
    assert told == {
        frozenset({CARD}): (
            "No notebook extension draws on this page: cards are HTML, without buttons."
        ),
        frozenset({"text/html"}): "No HTML is drawn on this page: cards are text.",
        frozenset({WIDGET}): (
            "No widgets are drawn on this page: no bar of fixes stands under a card."
        ),
    }


@pytest.mark.parametrize(
    ("cell_id", "said"),
    [
        (None, "a notebook that names no cells (nbclassic, a console, or a script that runs it)"),
        ("0b6d-1", "a notebook that names its cells (JupyterLab, Notebook 7)"),
        ("vscode-notebook-cell:/home/a.ipynb#W0sZmlsZQ%3D%3D", "a notebook in vscode"),
    ],
)
def test_the_doctor_tells_hosts_by_how_they_name_cells(
    kernel: Kernel, cell_id: str | None, said: str
) -> None:
    assert f"\n  {said}\n" in kernel.good("%pallas_doctor", cell_id=cell_id).printed


def test_the_doctor_does_not_import_jax(fresh: Kernel) -> None:
    fresh.good("%load_ext pallas_magic")
    printed = fresh.good("%pallas_doctor").printed
    assert "or interpret mode: JAX is not imported yet\n" in printed
    assert fresh.good("'jax' in __import__('sys').modules").value == "False"


def test_compilers_are_listed(fresh: Kernel) -> None:
    fresh.good("import os; os.environ['PALLAS_MAGIC_COMPILERS'] = '/no/such/folder'")
    fresh.good("%load_ext pallas_magic")
    lines = fresh.good("%pallas_compilers").printed.split("\n")
    assert [line.partition(":")[0] for line in lines] == ["tpu", "gpu", ""]
    if "none" in lines[0]:
        assert lines[0] == "tpu: none; `%pallas_compilers install tpu` gets it"


@pytest.mark.parametrize("line", ["install", "install cpu", "bogus", "remove tpu cpu"])
def test_what_compilers_does_not_take_is_explained(kernel: Kernel, line: str) -> None:
    outcome = kernel.run(f"%pallas_compilers {line}")
    assert outcome.failure == "UsageError: %pallas_compilers: it takes one of the forms above"
    assert outcome.printed.split("\n")[0] == (
        "%pallas_compilers                      which compilers there are"
    )


def test_what_cannot_be_installed_fails_the_cell(fresh: Kernel) -> None:
    fresh.good("import os; os.environ['PALLAS_MAGIC_COMPILERS'] = '/dev/null/here'")
    fresh.good("%load_ext pallas_magic")
    outcome = fresh.run("%pallas_compilers install tpu")
    assert outcome.failure == "UsageError: %pallas_compilers: it was not done"
    assert "\nNothing was installed: " in outcome.printed


def test_nothing_to_remove_is_said(fresh: Kernel) -> None:
    fresh.good("import os; os.environ['PALLAS_MAGIC_COMPILERS'] = '/no/such/folder'")
    fresh.good("%load_ext pallas_magic")
    assert fresh.good("%pallas_compilers remove gpu").printed.endswith("gpu is not there.\n")


def test_unloading_names_the_command_again(kernel: Kernel) -> None:
    ask = "from pallas_magic.aot.compilers import install_line; install_line('tpu')"
    kernel.good("%pallas_compilers")
    assert kernel.good(ask).value == "'%pallas_compilers install tpu'"
    kernel.good("%unload_ext pallas_magic")
    outside = kernel.good(ask).value
    kernel.good("%load_ext pallas_magic")
    assert outside == "'python -m pallas_magic compilers install tpu'"
