"""What every test needs: no accelerator and no files of this machine's user."""

from __future__ import annotations

import os
import tempfile

import pytest

from pallas_magic.aot.compilers import FOLDER_VARIABLE, compilers_folder
from pallas_magic.targets import FAMILIES, Family

_folder = tempfile.TemporaryDirectory(prefix="ipython-")
os.environ["IPYTHONDIR"] = _folder.name
os.environ.setdefault("JAX_PLATFORMS", "cpu")

# Only tests that ask for a compiler see the ones that are installed. A process of pytest-xdist
# inherits the environment that the first one has changed.
_compilers = os.environ.setdefault(
    "PALLAS_MAGIC_TESTS_COMPILERS", str(compilers_folder("tpu").parent.parent)
)
os.environ[FOLDER_VARIABLE] = _compilers
_installed: set[Family] = {family for family in FAMILIES if compilers_folder(family).is_dir()}
os.environ[FOLDER_VARIABLE] = _folder.name


def _families(item: pytest.Item) -> list[Family]:
    return [family for family in FAMILIES if item.get_closest_marker(f"{family}_compiler")]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs a compiler that is not installed."""
    for item in items:
        missing = [family for family in _families(item) if family not in _installed]
        if missing:
            command = f"python -m pallas_magic compilers install {' '.join(missing)}"
            item.add_marker(pytest.mark.skip(reason=f"needs `{command}`"))


@pytest.fixture(autouse=True)
def _compilers_where_asked_for(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    if _families(request.node):
        monkeypatch.setenv(FOLDER_VARIABLE, _compilers)
