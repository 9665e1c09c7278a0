"""A wrong kernel, what a check has to say about it, and how it was mended.

Each Markdown file beside this one is a case: a title, a list of facts, the
kernel (``entry`` makes the call, ``# <- PM101`` stands on each statement that is
to be marked, ``# <- here`` where any code will do) and, as a diff, its mended form.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib.util
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax

FOLDER = Path(__file__).parent
PREAMBLE = """\
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas as pl
{imports}

"""
TPU_IMPORTS = "from jax.experimental.pallas import tpu as pltpu\n"
GPU_IMPORTS = """\
from jax.experimental.pallas import mosaic_gpu as plgpu
from jax.experimental.pallas import triton as pltriton
"""
DTYPES = {"bf16": "bfloat16", "f16": "float16", "f32": "float32", "i32": "int32"}
MARK = re.compile(r"  # <- (PM\d{3}|here)$")


@dataclasses.dataclass(frozen=True)
class Mark:
    """A statement that must be found: its code ("here": any), line from 1, columns from 0."""

    code: str
    line: int
    start: int
    end: int


@dataclasses.dataclass(frozen=True)
class Case:
    """One file, parsed; ``text`` and ``mended`` are whole modules."""

    name: str
    title: str
    text: str
    mended: str
    arguments: tuple[jax.ShapeDtypeStruct, ...]
    target: str
    safe_fix: bool
    oldest_jax: tuple[int, ...]

    @property
    def is_gpu(self) -> bool:
        return "plgpu" in self.text

    @property
    def marks(self) -> list[Mark]:
        found = []
        for number, line in enumerate(self.text.split("\n"), 1):
            if mark := MARK.search(line):
                start = len(line) - len(line.lstrip())
                found.append(Mark(mark[1], number, start, mark.start()))
        return found


def load_cases() -> list[Case]:
    """Every case, by name."""
    return [parse(path) for path in sorted(FOLDER.glob("*.md"))]


def parse(path: Path) -> Case:
    """The case of one file; raises ``ValueError`` where its form is not the one above."""
    content = path.read_text()
    title = re.match(r"# (.+)\n", content)
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", content, re.DOTALL | re.MULTILINE)
    if title is None or [kind for kind, _ in blocks] != ["python", "diff"]:
        raise ValueError(f"{path.name}: expected a title, a python block and a diff block")
    facts = dict(re.findall(r"^- (\w+): (.+)$", content, re.MULTILINE))
    kernel, diff = (body for _, body in blocks)
    imports = GPU_IMPORTS if path.name.startswith(("gpu-", "triton-")) else TPU_IMPORTS
    text = PREAMBLE.format(imports=imports) + kernel
    return Case(
        name=path.stem,
        title=title[1],
        text=text,
        mended=apply_diff(text, diff),
        arguments=tuple(map(_struct, re.findall(r"\w+\[[\d,]*\]", facts.pop("arguments")))),
        target=facts.pop("target", "auto"),
        safe_fix=facts.pop("fix", "") == "safe",
        oldest_jax=tuple(map(int, facts.pop("jax", "0").split("."))),
    )


def apply_diff(text: str, diff: str) -> str:
    """``text`` with the ``-`` lines of each hunk, found once in it, replaced by its ``+`` lines."""
    for hunk in re.split(r"\n{2,}", diff.strip("\n")):
        lines = hunk.split("\n")
        old = "\n".join(line[1:] for line in lines if line.startswith("-"))
        new = "\n".join(line[1:] for line in lines if line.startswith("+"))
        if text.count(old) != 1:
            raise ValueError(f"expected once, found {text.count(old)} times:\n{old}")
        text = text.replace(old, new)
    ast.parse(text)
    return text


def load_entry(text: str, path: Path) -> Callable[..., Any]:
    """``entry`` of the module ``text``, imported from ``path`` so that it has a source file."""
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    entry: Callable[..., Any] = module.entry
    return entry


def _struct(text: str) -> jax.ShapeDtypeStruct:
    dtype, shape = text.removesuffix("]").split("[")
    sizes = tuple(map(int, shape.split(",")))
    return jax.ShapeDtypeStruct(sizes, DTYPES[dtype])  # type: ignore[no-untyped-call]
