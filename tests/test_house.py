"""The rules of the house, as CONTRIBUTING.md has them, checked on the sources."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from pallas_magic.releases import TESTED_JAX
from pallas_magic.rules import all_rules, pages

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "pallas_magic"
SOURCES = sorted(PACKAGE.rglob("*.py"))
LONGEST = 350

# Each room with its floor. A room imports its own floor and those below it. A module that
# stands beside `engine.py` and is not listed is one of the engine's steps.
PIPELINE = 4
FLOORS = {
    "report": 0,
    "payload": 0,
    "failure": 0,
    "targets": 0,
    "matrix_units": 0,
    "sizes": 0,
    "stopping": 0,
    "source": 0,
    "bridge": 1,
    "aot": 2,
    "rules": 3,
    "prove": 3,
    "render": 5,
    "ipython": 6,
    "__init__": 6,
    "__main__": 6,
}
# `str(report)` is what the text front end makes of it, imported when it is asked for.
UPWARDS = {"report": {"render"}}
HOST_PACKAGES = {"IPython", "ipywidgets", "ipykernel"}
PAGE_SECTIONS = (
    "What it means",
    "Why the hardware says no",
    "Fix",
    "Example",
    "Use instead",
    "Fix safety",
    "References",
)
# Spelled in parts, so that this file does not hold what it looks for.
FORBIDDEN = {
    "a folder of one machine": r"(^|[\s\"'=(:`])/(work|root|tmp)/",
    "a registry's host": "|".join([r"pypi\." + "org", r"npmjs\." + "org", "python" + "hosted"]),
    "a registry's address": "index-" + 'url|"resolved": *"http',
    "work left over": r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b",
}
TEXT_SUFFIXES = {
    ".cfg", ".css", ".html", ".ini", ".ipynb", ".js", ".json", ".md", ".mjs", ".py", ".toml",
    ".ts", ".txt", ".yaml", ".yml", "",
}  # fmt: skip


def room_of(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def floor_of(room: str) -> int:
    return FLOORS[room] if (PACKAGE / room).is_dir() else FLOORS.get(room, PIPELINE)


def imported_modules(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def own_rooms(path: Path) -> set[str]:
    """The rooms that a module imports from, wherever in it the import stands.

    What the package itself offers, as in ``from pallas_magic import check``, is no room.
    """
    modules = imported_modules(ast.parse(path.read_text()))
    parts = (module.split(".") for module in modules)
    named = {names[1] for names in parts if names[0] == "pallas_magic" and len(names) > 1}
    return {name for name in named if any(PACKAGE.glob(f"{name}*"))}


def tracked_files() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    paths = (ROOT / name for name in listed.split("\0") if name)
    return [path for path in paths if path.suffix in TEXT_SUFFIXES and path.is_file()]


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_imports_go_downwards(path: Path) -> None:
    floor = floor_of(room_of(path))
    above = {room for room in own_rooms(path) if floor_of(room) > floor}
    assert above == UPWARDS.get(room_of(path), set())


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_only_the_bridge_knows_jax_inside_and_only_hosts_know_ipython(path: Path) -> None:
    room, modules = room_of(path), set(imported_modules(ast.parse(path.read_text())))
    if room != "bridge":
        assert {name for name in modules if name.startswith("jax._src")} == set()
    if floor_of(room) < FLOORS["render"]:
        assert {name.split(".")[0] for name in modules} & HOST_PACKAGES == set()
    if floor_of(room) == 0:
        assert {name.split(".")[0] for name in modules} <= sys.stdlib_module_names | {
            "pallas_magic"
        }


def test_every_room_has_a_floor() -> None:
    folders = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file()}
    assert folders <= FLOORS.keys()


def test_no_file_is_long() -> None:
    scripts = (ROOT / "labextension" / "src").rglob("*.ts")
    lengths = {relative(path): len(path.read_text().splitlines()) for path in (*SOURCES, *scripts)}
    assert {path: lines for path, lines in lengths.items() if lines > LONGEST} == {}


def test_tracked_text_names_no_machine_and_no_registry() -> None:
    found = [
        f"{relative(path)}:{number}: {what}"
        for path in tracked_files()
        if path.name != "LICENSE"
        for number, line in enumerate(path.read_text().splitlines(), 1)
        for what, pattern in FORBIDDEN.items()
        if re.search(pattern, line)
    ]
    assert found == []


@pytest.mark.parametrize("code", sorted(pages()))
def test_page_of_a_rule_is_whole(code: str) -> None:
    sections = re.findall(r"^## (.+)$", pages()[code], re.MULTILINE)
    wanted = [name for name in PAGE_SECTIONS if code != "PM999" or name in sections]
    assert [name for name in sections if name in PAGE_SECTIONS] == wanted
    assert pages()[code].startswith(f"# {code}: ")


@pytest.mark.parametrize("name", [rule.name for rule in all_rules()])
def test_rule_has_cases(name: str) -> None:
    assert (ROOT / "tests" / "rules" / f"{name}.md").is_file()


@pytest.mark.parametrize(
    "statement", ["import pallas_magic", "shell.run_line_magic('load_ext', 'pallas_magic')"]
)
def test_nothing_heavy_is_imported_early(statement: str) -> None:
    program = f"""
import sys
import tomllib
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
before = set(sys.modules)
{statement}
heavy = {{"jax", "jaxlib", "numpy", "ipywidgets", "pallas_magic.engine", "pallas_magic.render"}}
assert "pallas_magic" in sys.modules
print(sorted((set(sys.modules) - before) & heavy), file=sys.stderr)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, text=True
    )
    assert done.stderr == "[]\n"


def unguarded(tree: ast.AST) -> ast.AST:
    """``tree`` without what stands in a ``try`` that goes on after an ``ImportError``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Try):
            caught = " ".join(ast.unparse(handler.type or node) for handler in node.handlers)
            if "ImportError" in caught or "ModuleNotFoundError" in caught:
                node.body = [ast.Pass()]
    return tree


def test_everything_imported_is_a_declared_dependency() -> None:
    """Or comes with one: JAX brings its library and NumPy, IPython brings traitlets."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = {re.split(r"[<>=\[;]", name)[0].lower() for name in project["dependencies"]}
    trees = (unguarded(ast.parse(path.read_text())) for path in SOURCES)
    modules = (module for tree in trees for module in imported_modules(tree))
    packages = {module.split(".")[0].lower() for module in modules}
    foreign = packages - sys.stdlib_module_names - {"pallas_magic", "jaxlib", "numpy", "traitlets"}
    assert foreign <= declared


def test_releases_that_are_told_are_those_that_are_tested() -> None:
    pins = "".join(path.read_text() for path in (ROOT / "tests" / "environments").glob("*.txt"))
    assert set(re.findall(r"^jax==([\d.]+)", pins, re.MULTILINE)) == set(TESTED_JAX)
