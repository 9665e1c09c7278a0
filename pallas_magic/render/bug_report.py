"""The text to copy into a bug report for a diagnostic that no rule knows."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from importlib import metadata

from pallas_magic.render.chips import target_title
from pallas_magic.render.model import Window
from pallas_magic.report import Diagnostic

_PACKAGES = ("jax", "jaxlib", "pallas-magic")


def bug_report(diagnostic: Diagnostic, where: str, windows: Iterable[Window], original: str) -> str:
    """Markdown: what failed and where, the lines concerned, JAX's text, the versions."""
    targets = ", ".join(target_title(target) for target in diagnostic.targets)
    parts = [
        f"**Pallas {diagnostic.stage} error** in `{diagnostic.kernel or 'a kernel'}` for {targets}",
        diagnostic.message,
        *(_code(window) for window in windows),
        _fenced(original, "text") if original else "",
        f"At {where}. Versions: {_versions()}",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _code(window: Window) -> str:
    lines = [
        "..." if line.kind == "gap" else "".join(text for _, text, _ in line.segments)
        for line in window.lines
        if line.kind != "label"
    ]
    return f"{window.label}:\n\n" + _fenced("\n".join(lines), "python")


def _fenced(text: str, language: str) -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def _versions() -> str:
    found = [f"Python {platform.python_version()}"]
    for name in _PACKAGES:
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    return ", ".join(found)
