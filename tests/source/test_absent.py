"""What an exception says that Pallas lacks, and what is nobody's business here."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable
from typing import Any

import jax
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from pallas_magic.rules._drift.names import MOVED, REMOVED, REWRITTEN
from pallas_magic.rules._drift.parameters import PARAMETERS
from pallas_magic.source.absent import Absent, absent_from, is_present

PALLAS = "jax.experimental.pallas"
NAMES: dict[str, Any] = {"jax": jax, "pl": pl, "pltpu": pltpu}


def asked(code: str) -> tuple[Absent | None, str]:
    """What the exception of ``code`` tells, and the text under its place."""
    linecache.cache["asked.py"] = (len(code), None, code.splitlines(keepends=True), "asked.py")
    try:
        exec(compile(code, "asked.py", "exec"), dict(NAMES))
    except Exception as error:
        found = absent_from(error)
    else:
        raise AssertionError("nothing was raised")
    if found is None:
        return None, ""
    lines = code.splitlines()
    assert found.place.line == found.place.end_line
    return found, lines[found.place.line - 1][found.place.col : found.place.end_col]


@pytest.mark.parametrize(
    ("code", "kind", "dotted", "text"),
    [
        ("x = pl.load", "name", "load", "pl.load"),
        ("x = pltpu.TPUMemorySpace.ANY", "name", "tpu.TPUMemorySpace", "pltpu.TPUMemorySpace"),
        ("x = pltpu.MemorySpace.ANY", "name", "tpu.MemorySpace.ANY", "pltpu.MemorySpace.ANY"),
        ("x = pl.BlockSpec.blocked", "name", "BlockSpec.blocked", "pl.BlockSpec.blocked"),
        ("x = pl.BlockSpec(size=3)", "parameter", "BlockSpec.size", "pl.BlockSpec(size=3)"),
        ("x = pl.semaphore_wait(0, dec=1)", "parameter", "semaphore_wait.dec", None),
        ("x = pl.pallas_call(None, backend='tpu')", "parameter", "pallas_call.backend", None),
        ("def f(p):\n    return p.load\nf(pl)", "name", "load", "p.load"),
        ("x = pl.BlockSpec(1, 2, 3, 4, 5)", "position", "BlockSpec.4", None),
        ("x = pltpu.VMEM((8, 128))", "argument", "tpu.VMEM.dtype", "pltpu.VMEM((8, 128))"),
        ("x = pl.pallas_call(print)", "argument", "pallas_call.out_shape", None),
        ("x = pl.run_scoped()", "argument", "run_scoped.f", None),
        (f"from {PALLAS} import load", "import", "load", None),
        (f"from {PALLAS}.tpu import VMEM, nothing", "import", "tpu.nothing", None),
        (f"import {PALLAS}.gpu", "module", "gpu", None),
    ],
)
def test_what_pallas_lacks(code: str, kind: str, dotted: str, text: str | None) -> None:
    found, marked = asked(code)
    assert found is not None
    assert (found.kind, found.dotted) == (kind, f"{PALLAS}.{dotted}")
    assert text is None or marked == text


@pytest.mark.parametrize(
    "code",
    [
        "jax.no_such_name",
        "import math; math.load",
        "class pl: pass\npl.load",
        "(1).load",
        "from jax import no_such_name",
        "import jax.no_such_module",
        "def kernel(): pass\nkernel(out_shape=1)",
        "def kernel(**rest): return dict(out_shape=1, **rest)\nkernel(out_shape=1)",
        "pl.run_scoped(lambda: None, size=3)",
        "x = pl.BlockSpec((8, 128))\nx.load",
        "def kernel(x): pass\nkernel()",
        "pl.run_scoped(lambda: (lambda x: None)())",
        "class VMEM:\n    def __call__(self, dtype): pass\nVMEM()()",
        "raise AttributeError('pl.load')",
        "raise TypeError(\"BlockSpec.__init__() got an unexpected keyword argument 'size'\")",
        "1 / 0",
    ],
)
def test_what_is_not_about_pallas(code: str) -> None:
    assert asked(code)[0] is None


def test_what_is_present_is_found_without_a_warning(recwarn: pytest.WarningsRecorder) -> None:
    assert is_present(f"{PALLAS}.tpu.CompilerParams")
    assert is_present(f"{PALLAS}.triton")
    assert is_present(f"{PALLAS}.core_map")
    assert not is_present(f"{PALLAS}.load")
    assert not is_present(f"{PALLAS}.gpu")
    assert not list(recwarn)


@pytest.mark.parametrize("dotted", sorted(MOVED))
def test_what_a_name_became_is_there(dotted: str) -> None:
    assert is_present(MOVED[dotted].now)


def signature_of(dotted: str) -> Callable[..., Any]:
    module, _, name = dotted.removeprefix(f"{PALLAS}.").rpartition(".")
    owner = __import__(f"{PALLAS}.{module}".rstrip("."), fromlist=[name])
    found: Callable[..., Any] = getattr(owner, name)
    return found


@pytest.mark.parametrize(("owner", "name"), sorted(PARAMETERS))
def test_what_a_parameter_became_is_taken(owner: str, name: str) -> None:
    import inspect

    now = PARAMETERS[owner, name].now
    assert not now or now in inspect.signature(signature_of(owner)).parameters


def test_each_name_is_told_once_and_parses() -> None:
    tables = (MOVED, REWRITTEN, REMOVED)
    names = [dotted for table in tables for dotted in table]
    assert len(names) == len(set(names))
    assert all(ast.parse(name) for name in names)
