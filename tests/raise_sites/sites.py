"""Every ``raise`` of Pallas's front and back ends, read from a JAX on disk."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

# Each back end by where it lies in JAX, the first that fits.
BACK_ENDS = {
    "tpu_sparsecore": ("_src/pallas/mosaic/sc_",),
    "tpu": ("_src/pallas/mosaic/", "_src/tpu_custom_call.py"),
    "mosaic_gpu": ("_src/pallas/mosaic_gpu/",),
    "mosaic_gpu_dialect": ("experimental/mosaic/gpu/",),
    "triton": ("_src/pallas/triton/",),
    "frontend": ("_src/pallas/",),
    "frontend_state": ("_src/state/",),
}
_SOMETHING = "\N{HORIZONTAL ELLIPSIS}"


@dataclasses.dataclass(frozen=True, order=True)
class Site:
    """One place that raises; ``text`` has an ellipsis for each value that is put into it."""

    back_end: str
    module: str
    function: str
    error: str
    text: str

    @property
    def raised_in(self) -> str:
        """As a failure tells it: without what JAX calls private, the innermost function only."""
        module = self.module.replace("jax._src.", "jax.", 1)
        return f"{module}.{self.function.rsplit('.', maxsplit=1)[-1]}"

    def fits(self, pattern: re.Pattern[str]) -> bool:
        """Whether a message of this place can match: words and numbers are tried as values."""
        return any(
            pattern.search(self.text.replace(_SOMETHING, value))
            for value in ("x", "1", "(1, 2)", "float32[8,128]", "is")
        )


def read_sites(jax: Path) -> Iterator[Site]:
    """The sites in the package folder of one JAX."""
    for path in sorted(jax.rglob("*.py")):
        relative = path.relative_to(jax).as_posix()
        if back_end := _back_end(relative):
            module = "jax." + relative.removesuffix(".py").replace("/", ".")
            yield from _sites_of(path.read_text(), back_end, module.removesuffix(".__init__"))


def _back_end(relative: str) -> str:
    for name, places in BACK_ENDS.items():
        if relative.startswith(places):
            return name
    return ""


def _sites_of(text: str, back_end: str, module: str) -> Iterator[Site]:
    yield from _in_node(ast.parse(text), (), back_end, module)


def _in_node(node: ast.AST, inside: tuple[str, ...], back_end: str, module: str) -> Iterator[Site]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
            yield from _in_node(child, (*inside, child.name), back_end, module)
            continue
        if isinstance(child, ast.Raise) and isinstance(child.exc, ast.Call):
            error = ast.unparse(child.exc.func).rsplit(".", maxsplit=1)[-1]
            text = _text(child.exc.args[0]) if child.exc.args else ""
            yield Site(back_end, module, ".".join(inside), error, text)
        yield from _in_node(child, inside, back_end, module)


def _text(node: ast.expr) -> str:
    """A message as it is written, what is not text in it left out."""
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(map(_text, parts))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _text(left) + _text(right)
        case ast.BinOp(left=left, op=ast.Mod()):
            return re.sub(r"%\(?\w*\)?[sdr]", _SOMETHING, _text(left))
        case ast.Call(func=ast.Attribute(value=value, attr="format")):
            return re.sub(r"{[^}]*}", _SOMETHING, _text(value))
    return _SOMETHING
