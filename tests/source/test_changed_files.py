"""Files that change while a session goes on."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from pallas_magic.source.document import Library

BEFORE = "def kernel(x):\n    return x\n"
AFTER = "# a new line\ndef kernel(x):\n    return x\n"


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    name = f"changing_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(BEFORE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield importlib.import_module(name)
    sys.modules.pop(name, None)


def text_of(library: Library, module: ModuleType) -> str:
    assert module.__file__ is not None
    document = library.find(module.__file__)
    assert document is not None
    return document.source.text


def change(module: ModuleType, text: str) -> None:
    assert module.__file__ is not None
    path = Path(module.__file__)
    before = path.stat().st_mtime_ns
    path.write_text(text)
    os.utime(path, ns=(before + 10**9, before + 10**9))


def test_the_text_that_is_loaded_is_kept_until_the_new_one_is(module: ModuleType) -> None:
    library = Library()
    assert text_of(library, module) == BEFORE
    change(module, AFTER)
    assert text_of(library, module) == BEFORE
    importlib.reload(module)
    assert text_of(library, module) == AFTER
    assert len(library) == 1


def test_a_change_beside_the_functions_is_taken_up_at_once(module: ModuleType) -> None:
    library = Library()
    text_of(library, module)
    change(module, BEFORE + "size = 3\n")
    assert text_of(library, module) == BEFORE + "size = 3\n"


def test_a_text_that_does_not_parse_is_not_taken_up(module: ModuleType) -> None:
    library = Library()
    text_of(library, module)
    change(module, BEFORE + "(")
    assert text_of(library, module) == BEFORE


def test_a_file_that_is_gone_is_still_known(module: ModuleType) -> None:
    library = Library()
    text_of(library, module)
    assert module.__file__ is not None
    Path(module.__file__).unlink()
    assert text_of(library, module) == BEFORE
