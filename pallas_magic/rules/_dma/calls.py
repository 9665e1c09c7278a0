"""The call that makes a copy or uses a semaphore, and the refs that it is given."""

from __future__ import annotations

import ast
import dataclasses

from pallas_magic.failure import Failure, Ref
from pallas_magic.report import Label, Span
from pallas_magic.source.calls import argument
from pallas_magic.source.copies import made_at
from pallas_magic.source.document import Library
from pallas_magic.source.names import spelled
from pallas_magic.source.resolve import Expression, resolve
from pallas_magic.source.specs import operand_spec, spec_call, spec_keywords
from pallas_magic.source.syntax import Syntax, identifier, syntax_of

COPIES = (
    "make_async_copy",
    "async_copy",
    "sync_copy",
    "make_async_remote_copy",
    "async_remote_copy",
)
USES = ("semaphore_signal", "semaphore_wait", "semaphore_read")
# Where each function takes its semaphores: the names, and the position of the first.
_SEMAPHORES = {
    "make_async_copy": (("sem",), 2),
    "async_copy": (("sem",), 2),
    "make_async_remote_copy": (("send_sem", "recv_sem"), 2),
    "async_remote_copy": (("send_sem", "recv_sem"), 2),
    "semaphore_signal": (("sem_or_view",), 0),
    "semaphore_wait": (("sem_or_view",), 0),
    "semaphore_read": (("sem_or_view",), 0),
}


@dataclasses.dataclass(frozen=True, eq=False)
class RefCall:
    """``pltpu.make_async_copy(x_hbm, block, semaphore)`` and its like, as written."""

    sources: Library
    failure: Failure
    syntax: Syntax
    node: ast.Call

    @property
    def name(self) -> str:
        return identifier(self.node.func)

    @property
    def takes_ends(self) -> bool:
        """Whether it copies from one ref to another."""
        return self.name in COPIES

    @property
    def ends(self) -> tuple[ast.expr | None, ast.expr | None]:
        """What is copied, and to where."""
        return argument(self.node, "src_ref", 0), argument(self.node, "dst_ref", 1)

    def semaphores(self) -> list[ast.expr]:
        names, first = _SEMAPHORES.get(self.name, ((), 0))
        given = [argument(self.node, name, first + at) for at, name in enumerate(names)]
        return [one for one in given if one is not None]

    def ref(self, node: ast.expr | None) -> Ref | None:
        """The kernel's ref that ``node`` is, or is a part of."""
        name = base_name(node)
        found = [ref for ref in self.failure.refs if ref.name == name]
        return found[0] if name and len(found) == 1 else None

    def text(self, node: ast.expr | None, otherwise: str) -> str:
        """The name of the ref that ``node`` is a part of, in backticks."""
        name = base_name(node)
        return f"`{name}`" if name else otherwise

    def span(self) -> Span | None:
        return self.syntax.span(self.node)

    def pallas(self, name: str) -> str | None:
        """How the text writes a name of Pallas."""
        return spelled(self.sources, self.syntax.document, "jax.experimental.pallas", name)


def copy_call(failure: Failure, sources: Library) -> RefCall | None:
    """The call that made the copy which failed: the failing one, or where its object was made."""
    for place in (failure.place, made_at(sources, failure.place)):
        syntax = syntax_of(sources, place)
        node = syntax.at(place) if syntax is not None and place is not None else None
        if syntax is not None and isinstance(node, ast.Call):
            found = RefCall(sources, failure, syntax, node)
            if found.name in (*COPIES, *USES):
                return found
    return None


def ref_type(failure: Failure, sources: Library, ref: Ref | None) -> Expression | None:
    """The expression that asks for the memory of a scratch ref."""
    if ref is None or ref.role not in ("scratch", "local"):
        return None
    place = ref.spec.place if ref.spec is not None else None
    syntax = syntax_of(sources, place)
    node = syntax.at(place) if syntax is not None and place is not None else None
    if syntax is not None and node is not None:
        return Expression(syntax, node)
    call = spec_call(sources, failure.call)
    count = sum(other.role == ref.role for other in failure.refs)
    if call is None or not spec_keywords(ref.role):
        return None
    found = operand_spec(sources, call, spec_keywords(ref.role), ref.operand, count)
    return resolve(sources, found) if found is not None else None


def type_label(failure: Failure, sources: Library, ref: Ref | None, text: str = "") -> Label | None:
    """A mark on what asks for the memory of ``ref``, as the cause: ``text`` or its type."""
    found = ref_type(failure, sources, ref)
    span = found.syntax.span(found.node) if found is not None else None
    if ref is None or span is None or span.start_line != span.end_line:
        return None
    own = f"{ref.dtype}[{','.join(map(str, ref.shape))}]"
    return Label(span, text or own, "cause")


def base_name(node: ast.expr | None) -> str:
    """The name that an expression of a ref begins with: ``x`` of ``x.at[0]``."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
