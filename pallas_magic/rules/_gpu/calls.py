"""The call of a ``plgpu`` function that failed, and the refs that it was given."""

from __future__ import annotations

import ast
import dataclasses

from pallas_magic.failure import Failure, Ref
from pallas_magic.source.calls import argument
from pallas_magic.source.document import Library
from pallas_magic.source.names import spelled
from pallas_magic.source.syntax import Syntax, identifier, syntax_of

PALLAS = "jax.experimental.pallas"
PALLAS_GPU = "jax.experimental.pallas.mosaic_gpu"


@dataclasses.dataclass(frozen=True, eq=False)
class GpuCall:
    """``plgpu.copy_gmem_to_smem(x_gmem, buffer, barrier)`` as it is written."""

    sources: Library
    failure: Failure
    syntax: Syntax
    node: ast.Call

    @property
    def name(self) -> str:
        return identifier(self.node.func)

    def argument(self, name: str, position: int) -> ast.expr | None:
        return argument(self.node, name, position)

    def text(self, node: ast.expr | None) -> str:
        return self.syntax.text(node) if node is not None else ""

    def ref(self, node: ast.expr | None) -> Ref | None:
        """The kernel's ref that ``node`` is, or is a part of."""
        name = base_name(node)
        found = [ref for ref in self.failure.refs if ref.name == name]
        return found[0] if name and len(found) == 1 else None

    def gpu(self, name: str) -> str | None:
        """How the user's text writes a name of ``plgpu``."""
        return spelled(self.sources, self.syntax.document, PALLAS_GPU, name)

    def pallas(self, name: str) -> str | None:
        """How the user's text writes a name of Pallas."""
        return spelled(self.sources, self.syntax.document, PALLAS, name)


def gpu_call(failure: Failure, sources: Library) -> GpuCall | None:
    """The failing call, ``None`` where the failing expression is no call."""
    syntax = syntax_of(sources, failure.place)
    node = syntax.at(failure.place) if syntax is not None and failure.place is not None else None
    if syntax is None or not isinstance(node, ast.Call):
        return None
    return GpuCall(sources, failure, syntax, node)


def base_name(node: ast.expr | None) -> str:
    """The name that an expression of a ref begins with: ``x`` of ``x.at[0]``."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
