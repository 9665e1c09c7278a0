"""What the project says of itself in more than one place, and what it may not name."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
LABEXTENSION = ROOT / "labextension"


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def package(name: str = "package.json") -> dict[str, Any]:
    content: dict[str, Any] = json.loads((LABEXTENSION / name).read_text())
    return content


def test_one_version() -> None:
    version = project()["project"]["version"]
    assert package()["version"] == version
    assert package("package-lock.json")["version"] == version


def test_one_name() -> None:
    name = project()["project"]["name"]
    assert package()["name"] == name
    assert package("install.json")["packageName"] == name
    shipped = project()["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"]
    assert set(shipped) == {"labextension/dist", "labextension/install.json"}
    assert all(f"/labextensions/{name}" in target for target in shipped.values())


def test_the_lock_file_names_no_registry() -> None:
    packages = package("package-lock.json")["packages"]
    assert len(packages) > 100
    assert [name for name, entry in packages.items() if "resolved" in entry] == []
    assert [name for name, entry in packages.items() if name and "integrity" not in entry] == []
    assert "omit-lockfile-registry-resolved=true" in (LABEXTENSION / ".npmrc").read_text()
    assert "registry=" not in (LABEXTENSION / ".npmrc").read_text()


def test_every_import_of_the_extension_is_declared() -> None:
    declared = {**package()["dependencies"], **package()["devDependencies"]}
    lines = [line for path in (LABEXTENSION / "src").glob("*.ts") for line in path.open()]
    imported = [line.split("from '")[1].split("'")[0] for line in lines if " from '" in line]
    foreign = {name for name in imported if not name.startswith("./")}
    assert len(foreign) > 5
    assert foreign <= set(declared)


def test_every_dependency_of_the_extension_is_imported() -> None:
    text = "".join(path.read_text() for path in (LABEXTENSION / "src").glob("*.ts"))
    assert [name for name in package()["dependencies"] if f"'{name}'" not in text] == []
