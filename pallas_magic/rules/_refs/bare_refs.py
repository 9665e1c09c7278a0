"""Refs that are used as if they were the arrays they refer to."""

from __future__ import annotations

import ast

from pallas_magic.failure import Failure
from pallas_magic.rules._specs.kernels import KernelText, kernel_text
from pallas_magic.source.document import Library
from pallas_magic.source.names import imports
from pallas_magic.source.syntax import identifier

# What a ref has of its own; all else is asked of an array.
_OF_REFS = ("at", "shape", "dtype", "ndim", "size", "get", "set", "bitcast", "reshape", "addupdate")
_OF_OBJECTS = (ast.Is, ast.IsNot, ast.In, ast.NotIn)
_ARRAY_MODULES = ("jax.numpy", "jax.lax", "jax.nn", "jax.scipy", "numpy")


def bare_refs(failure: Failure, sources: Library) -> tuple[KernelText | None, list[ast.Name]]:
    """The kernel, and each of its refs that stands where an array belongs."""
    kernel = kernel_text(failure, sources)
    if kernel is None:
        return None, []
    names = {ref.name for ref in failure.refs if ref.name}
    rebound = {
        node.id
        for node in kernel.nodes()
        if isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Store)
        and not isinstance(kernel.syntax.parent(node), ast.AugAssign)
    }
    wanted = names - rebound
    found = [
        node
        for node in kernel.nodes()
        if isinstance(node, ast.Name) and node.id in wanted and _is_value(kernel, node, sources)
    ]
    return kernel, sorted(found, key=lambda node: (node.lineno, node.col_offset))


def _is_value(kernel: KernelText, node: ast.Name, sources: Library) -> bool:
    parent = kernel.syntax.parent(node)
    match parent:
        case ast.BinOp() | ast.UnaryOp():
            return True
        case ast.Compare():
            # `b_ref is None` asks for the ref itself.
            return all(not isinstance(op, _OF_OBJECTS) for op in parent.ops)
        case ast.Attribute():
            return parent.attr not in _OF_REFS
        case ast.AugAssign() if parent.target is node:
            return True
        case ast.Assign() | ast.AugAssign():
            targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
            return parent.value is node and any(isinstance(one, ast.Subscript) for one in targets)
        case ast.Call():
            return node in parent.args and _takes_arrays(kernel, parent, sources)
    return False


def _takes_arrays(kernel: KernelText, call: ast.Call, sources: Library) -> bool:
    """Whether the function called is one of JAX's that work on arrays."""
    return any(
        _dotted(kernel, call.func, sources) == f"{module}.{identifier(call.func)}"
        for module in _ARRAY_MODULES
    )


def _dotted(kernel: KernelText, node: ast.expr, sources: Library) -> str:
    text = kernel.syntax.text(node)
    first, _, rest = text.partition(".")
    origin = imports(sources, kernel.syntax.document).get(first, first)
    return f"{origin}.{rest}" if rest else origin
