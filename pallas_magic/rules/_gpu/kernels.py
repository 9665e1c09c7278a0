"""The call of ``plgpu.kernel`` that a kernel is given to, and its scratch types."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator, Sequence

from pallas_magic.failure import Failure, Ref
from pallas_magic.report import Label, Span, TextEdit
from pallas_magic.rules._specs.wording import shape_text
from pallas_magic.source.calls import argument, keyword
from pallas_magic.source.document import Library
from pallas_magic.source.names import namespace, spelled
from pallas_magic.source.resolve import Expression, leaves, resolve
from pallas_magic.source.syntax import Syntax, identifier, syntax_of

_SCRATCH = ("scratch_types", "scratch_shapes")


@dataclasses.dataclass(frozen=True, eq=False)
class KernelCall:
    """``plgpu.kernel(body, ...)``, or a ``functools.partial`` of it over the body."""

    sources: Library
    syntax: Syntax
    node: ast.Call

    def given(self, *names: str) -> ast.keyword | None:
        """The first of the keywords that is given."""
        return next((found for name in names if (found := keyword(self.node, name))), None)

    def span(self, *names: str) -> Span | None:
        """Where the value of a keyword stands."""
        given = self.given(*names)
        return self.syntax.span(given.value) if given is not None else None


def kernel_call(failure: Failure, sources: Library) -> KernelCall | None:
    """The call that the failing kernel's function is given to, if there is only one."""
    place = failure.call.kernel
    syntax = syntax_of(sources, place)
    if syntax is None or place is None:
        return None
    name = place.function.rsplit(".", maxsplit=1)[-1]
    found = [
        KernelCall(sources, one, node)
        for one in namespace(sources, syntax.document)
        for node in _calls(one, name)
    ]
    return found[0] if len(found) == 1 else None


def scratch_type(failure: Failure, sources: Library, ref: Ref | None) -> Expression | None:
    """The expression that asks for the memory of ``ref``."""
    if ref is None or ref.role != "local":
        return None
    if ref.spec is not None:
        syntax = syntax_of(sources, ref.spec.place)
        node = syntax.at(ref.spec.place) if syntax is not None else None
        if syntax is not None and node is not None:
            return Expression(syntax, node)
    call = kernel_call(failure, sources)
    given = call.given(*_SCRATCH) if call is not None else None
    if call is None or given is None:
        return None
    elements = leaves(sources, Expression(call.syntax, given.value))
    own = _own_scratch(failure)
    if elements is None or ref not in own or len(elements) != len(own):
        return None
    element = resolve(sources, elements[own.index(ref)])
    return element if isinstance(element.node, ast.Call) else None


def scratch_label(failure: Failure, sources: Library, ref: Ref | None, text: str) -> Label | None:
    """A mark on what asks for the memory of ``ref``, as the cause."""
    found = scratch_type(failure, sources, ref)
    span = found.syntax.span(found.node) if found is not None else None
    return Label(span, text, "cause") if span is not None else None


def _own_scratch(failure: Failure) -> list[Ref]:
    """The refs of the call's own scratch: their numbers count up from 0 but once."""
    found: list[Ref] = []
    for ref in failure.refs:
        if ref.role == "local" and ref.operand == len(found):
            found.append(ref)
        elif ref.role == "local":
            break
    return found


def _calls(syntax: Syntax, kernel: str) -> Iterator[ast.Call]:
    for node in ast.walk(syntax.module):
        if isinstance(node, ast.Call) and _builds(node) and _takes(node, kernel):
            yield node
        if isinstance(node, ast.FunctionDef) and node.name == kernel:
            yield from (
                one for one in node.decorator_list if isinstance(one, ast.Call) and _builds(one)
            )


def _builds(call: ast.Call) -> bool:
    first = identifier(call.args[0]) if call.args else ""
    return "kernel" in (identifier(call.func), first if identifier(call.func) == "partial" else "")


def _takes(call: ast.Call, kernel: str) -> bool:
    given = call.args[0] if call.args else None
    if given is None and (body := keyword(call, "body")) is not None:
        given = body.value
    if isinstance(given, ast.Call) and identifier(given.func) == "partial" and given.args:
        given = given.args[0]
    return given is not None and identifier(given) == kernel


def with_shape(found: Expression, shape: Sequence[int]) -> TextEdit | None:
    """An edit that asks for scratch of another shape."""
    assert isinstance(found.node, ast.Call)
    given = argument(found.node, "shape", 0)
    return found.syntax.replace(given, shape_text(shape)) if given is not None else None


def with_dtype(sources: Library, found: Expression, dtype: str) -> TextEdit | None:
    """An edit that asks for scratch of another dtype."""
    assert isinstance(found.node, ast.Call)
    given = argument(found.node, "dtype", 1)
    text = spelled(sources, found.syntax.document, "jax.numpy", dtype)
    return found.syntax.replace(given, text) if given is not None and text is not None else None
