"""A spec for an operand that has none, in the shape that the call needs."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from pallas_magic.failure import Failure, Ref
from pallas_magic.report import TextEdit
from pallas_magic.source.calls import add_keyword, argument, keyword
from pallas_magic.source.document import Library
from pallas_magic.source.names import spelled
from pallas_magic.source.resolve import Expression, resolve
from pallas_magic.source.specs import SpecCall, operand_spec, spec_call, spec_keywords

PALLAS = "jax.experimental.pallas"
PALLAS_TPU = "jax.experimental.pallas.tpu"
MEMORY_SPACES = ("SMEM", "VMEM", "ANY", "HBM", "CMEM")

_FLAT_ORIGIN = re.compile(r"args\[\d+\]")


def added_spec(failure: Failure, ref: Ref, sources: Library, space: str) -> tuple[TextEdit, ...]:
    """An edit that gives ``ref`` a spec in ``space``; empty where the text is not plain enough."""
    call = spec_call(sources, failure.call)
    texts = _spec_texts(sources, call, space) if call is not None else None
    names = spec_keywords(ref.role)
    if call is None or texts is None or ref.role not in ("input", "output"):
        return ()
    wanted, default = texts
    peers = [other for other in failure.refs if other.role == ref.role]
    if call.given(names) is not None:
        element = operand_spec(sources, call, names, ref.operand, len(peers))
        if element is None or not _is_none(element.node):
            return ()
        edit = element.syntax.replace(element.node, wanted)
    else:
        each = iter([wanted if peer.position == ref.position else default for peer in peers])
        value = _value(sources, call, ref, peers, each)
        if value is None:
            return ()
        after = keyword(call.node, "out_shape" if ref.role == "output" else "in_specs")
        edit = add_keyword(call.syntax, call.node, f"{names[0]}={value}", after)
    return (edit,) if edit is not None else ()


def _spec_texts(sources: Library, call: SpecCall, space: str) -> tuple[str, str] | None:
    document = call.syntax.document
    block_spec = spelled(sources, document, PALLAS, "BlockSpec")
    name = spelled(sources, document, PALLAS_TPU, space)
    if block_spec is None or name is None:
        return None
    return f"{block_spec}(memory_space={name})", f"{block_spec}()"


def _value(
    sources: Library, call: SpecCall, ref: Ref, peers: list[Ref], each: Iterator[str]
) -> str | None:
    if ref.role == "input":
        if not all(_FLAT_ORIGIN.fullmatch(peer.origin) for peer in peers):
            return None
        return f"[{', '.join(each)}]"
    shape = argument(call.build, "out_shape", 1)
    if shape is None:
        return None
    whole = resolve(sources, Expression(call.build_syntax, shape))
    count = len(peers)
    taken: list[str] = []

    def leaf() -> str:
        taken.append(next(each, ""))
        return taken[-1]

    value = _like(sources, whole, leaf)
    # A leaf too many or too few: the text does not show the tree that JAX saw.
    return value if len(taken) == count else None


def _like(sources: Library, expression: Expression, leaf: Callable[[], str]) -> str:
    """A literal of the same structure as ``expression`` with its leaves replaced."""
    node = expression.node

    def inside(child: ast.expr) -> str:
        return _like(sources, resolve(sources, Expression(expression.syntax, child)), leaf)

    if isinstance(node, ast.List):
        return f"[{', '.join(map(inside, node.elts))}]"
    if isinstance(node, ast.Tuple):
        comma = "," if len(node.elts) == 1 else ""
        return f"({', '.join(map(inside, node.elts))}{comma})"
    if isinstance(node, ast.Dict):
        return _like_dict(expression, node, inside)
    return leaf()


def _like_dict(expression: Expression, node: ast.Dict, inside: Callable[[ast.expr], str]) -> str:
    keys = [expression.syntax.text(key) if key is not None else "" for key in node.keys]
    # Leaves are counted in the order of the keys, and written in that of the text.
    in_order = sorted(zip(keys, node.values, strict=True), key=lambda pair: pair[0])
    written = {key: inside(value) for key, value in in_order}
    return "{" + ", ".join(f"{key}: {written[key]}" for key in keys) + "}"


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
