"""Edits that hand an array to a kernel as one more operand."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from pallas_magic.failure import Failure
from pallas_magic.report import TextEdit
from pallas_magic.rules._specs.kernels import KernelText
from pallas_magic.rules._specs.parameters import add_parameters, free_names, has_plain_parameters
from pallas_magic.source.calls import add_argument, keyword
from pallas_magic.source.document import Library
from pallas_magic.source.names import namespace, spelled
from pallas_magic.source.resolve import Expression, leaves, local_names
from pallas_magic.source.specs import SpecCall, spec_call
from pallas_magic.source.syntax import end_of, syntax_of

Edits = tuple[TextEdit, ...]


def as_operands(
    failure: Failure, sources: Library, kernel: KernelText, names: Sequence[str]
) -> Edits:
    """The arrays ``names`` as the last inputs of the call; empty where the text is not plain."""
    inputs = sum(ref.role in ("prefetch", "input") for ref in failure.refs)
    is_plain = has_plain_parameters(kernel.node) and len(kernel.parameters) == len(failure.refs)
    call = spec_call(sources, failure.call)
    if not is_plain or call is None or _is_used_elsewhere(sources, kernel):
        return ()
    wanted = [(f"{name.lower()}_ref", f"{name.lower()}_operand_ref") for name in names]
    refs = [free_names(kernel.node, both, 1) for both in wanted]
    parameters = [one for found in refs for one in found]
    if len(parameters) != len(names):
        return ()
    edits = [
        add_parameters(kernel.syntax, kernel.node, parameters, inputs),
        _given_to_call(failure, sources, names),
        *_in_specs(sources, call, len(names)),
        *(
            kernel.syntax.replace(read, f"{parameter}[...]")
            for name, parameter in zip(names, parameters, strict=True)
            for read in kernel.reads(name)
        ),
    ]
    known = tuple(edit for edit in edits if edit is not None)
    return known if len(known) == len(edits) else ()


def _given_to_call(failure: Failure, sources: Library, names: Sequence[str]) -> TextEdit | None:
    """An edit of the call with its operands; it must see the same arrays by these names."""
    place = failure.call.applied
    syntax = syntax_of(sources, place)
    call = syntax.at(place) if syntax is not None and place is not None else None
    if syntax is None or not isinstance(call, ast.Call) or call.keywords:
        return None
    inputs = sum(ref.role in ("prefetch", "input") for ref in failure.refs)
    if len(call.args) != inputs or any(isinstance(one, ast.Starred) for one in call.args):
        return None
    kernel = failure.call.kernel
    around = next(syntax.functions(call), None)
    hidden = around is not None and any(name in local_names(around) for name in names)
    inside = kernel is not None and "<locals>" in kernel.function
    if hidden != inside and (hidden or not _are_global(sources, failure, names)):
        return None
    return add_argument(syntax, call, ", ".join(names))


def _are_global(sources: Library, failure: Failure, names: Sequence[str]) -> bool:
    """Whether every name is assigned at the top of the kernel's text."""
    syntax = syntax_of(sources, failure.call.kernel)
    if syntax is None:
        return False
    stored = {
        node.id
        for one in namespace(sources, syntax.document)
        for node in ast.walk(one.module)
        if isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Store)
        and next(one.functions(node), None) is None
    }
    return set(names) <= stored


def _in_specs(sources: Library, call: SpecCall, count: int) -> list[TextEdit | None]:
    """Specs that leave the new operands whole, where the others have some."""
    given = keyword(call.node, "in_specs")
    if given is None:
        return []
    elements = leaves(sources, Expression(call.syntax, given.value))
    whole = spelled(sources, call.syntax.document, "jax.experimental.pallas", "BlockSpec")
    if not elements or whole is None:
        return [None]
    last = elements[-1]
    return [last.syntax.insert(end_of(last.node), f", {whole}()" * count)]


def _is_used_elsewhere(sources: Library, kernel: KernelText) -> bool:
    """Whether the kernel function is named more than once beside its definition."""
    if isinstance(kernel.node, ast.Lambda):
        return False
    name = kernel.node.name
    named = [
        node
        for syntax in namespace(sources, kernel.syntax.document)
        for node in ast.walk(syntax.module)
        if isinstance(node, ast.Name) and node.id == name
    ]
    return len(named) > 1
