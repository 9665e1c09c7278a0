"""Where the user's text puts a ref into a memory space, and edits that move it."""

from __future__ import annotations

import ast
import dataclasses
from typing import Literal

from pallas_magic.failure import Failure, Ref
from pallas_magic.report import TextEdit
from pallas_magic.rules._memory.new_specs import MEMORY_SPACES, PALLAS, PALLAS_TPU, added_spec
from pallas_magic.source.bindings import means_the_same
from pallas_magic.source.calls import add_keyword, arguments, keyword, remove_keyword
from pallas_magic.source.document import Library
from pallas_magic.source.names import imports, spelled
from pallas_magic.source.resolve import Expression, bound_name, local_names, resolve, uses
from pallas_magic.source.specs import SpecCall, operand_spec, spec_call, spec_keywords
from pallas_magic.source.syntax import end_of, identifier, start_of, syntax_of

Space = Literal["SMEM", "VMEM"]

_LONGEST_COPY = 100


@dataclasses.dataclass(frozen=True, eq=False)
class Placed:
    """The expression that built the spec or scratch of a ref.

    ``element`` is what stands for it in the call's list of specs, where that
    is known; ``alone`` says that nothing else is placed by the same text.
    """

    built: Expression
    element: Expression | None
    alone: bool


def placed(failure: Failure, sources: Library) -> Placed | None:
    """Where the spec of the failing ref is written, ``None`` if that cannot be told."""
    ref = failure.ref
    if ref is None or not ref.has_spec:
        return None
    element = _element(failure, ref, sources)
    built = _recorded(ref, sources)
    if built is None and element is not None:
        built = resolve(sources, element)
    if built is None or not isinstance(built.node, ast.Call):
        return None
    return Placed(built, element, not _serves_others(failure, ref, built, sources))


def moved(failure: Failure, sources: Library, space: Space) -> tuple[TextEdit, ...]:
    """Edits that put the failing ref, and no other, into ``space``; empty if there are none."""
    ref = failure.ref
    if ref is None or ref.role == "prefetch":
        return ()
    where = placed(failure, sources)
    if where is None:
        return () if ref.has_spec else added_spec(failure, ref, sources, space)
    if (given := _space_given_to_helper(where)) is not None:
        edit = _renamed(sources, given, space)
    elif where.alone:
        edit = _changed_in_place(sources, where.built, space)
    else:
        edit = _own_spec(sources, where, space)
    return (edit,) if edit is not None else ()


def space_expression(built: Expression) -> Expression | None:
    """The memory space as it is written in a spec or scratch, ``None`` if it is not."""
    call = built.node
    if not isinstance(call, ast.Call):
        return None
    given = keyword(call, "memory_space")
    if given is not None:
        return Expression(built.syntax, given.value)
    written = [one for one in (call.func, *call.args) if identifier(one) in MEMORY_SPACES]
    return Expression(built.syntax, written[0]) if written else None


def written_space(where: Placed) -> Expression | None:
    """The memory space as the user chose it: in the spec, or given to the helper that builds it."""
    written = space_expression(where.built)
    return _space_given_to_helper(where) or written


def _space_given_to_helper(where: Placed) -> Expression | None:
    """``pltpu.SMEM`` in ``block(pltpu.SMEM, 8, 128)``, where ``block`` builds the spec with it."""
    written, element = space_expression(where.built), where.element
    function = where.built.syntax.function(where.built.node)
    if written is None or element is None or not isinstance(element.node, ast.Call):
        return None
    if function is None or identifier(written.node) not in local_names(function):
        return None
    given = [*element.node.args, *(one.value for one in element.node.keywords)]
    spaces = [one for one in given if identifier(one) in MEMORY_SPACES]
    return Expression(element.syntax, spaces[0]) if len(spaces) == 1 else None


def call_of_specs(failure: Failure, sources: Library) -> SpecCall | None:
    """The call that takes the specs of the failing kernel."""
    return spec_call(sources, failure.call)


def _recorded(ref: Ref, sources: Library) -> Expression | None:
    if ref.spec is None:
        return None
    syntax = syntax_of(sources, ref.spec.place)
    node = syntax.at(ref.spec.place) if syntax is not None else None
    return Expression(syntax, node) if syntax is not None and node is not None else None


def _element(failure: Failure, ref: Ref, sources: Library) -> Expression | None:
    call = call_of_specs(failure, sources)
    names = spec_keywords(ref.role)
    if call is None or not names:
        return None
    count = sum(other.role == ref.role for other in failure.refs)
    return operand_spec(sources, call, names, ref.operand, count)


def _serves_others(failure: Failure, ref: Ref, built: Expression, sources: Library) -> bool:
    """Whether changing the text of ``built`` would move more than ``ref``."""
    if ref.shared_spec:
        return True
    others = [other for other in failure.refs if other.position != ref.position]
    if ref.spec is not None and any(
        other.spec is not None and other.spec.place == ref.spec.place for other in others
    ):
        return True
    if (name := bound_name(built.syntax, built.node)) and uses(sources, built.syntax, name) > 1:
        return True
    helper = _helper_name(failure, built)
    return bool(helper) and uses(sources, built.syntax, helper) > 1


def _helper_name(failure: Failure, built: Expression) -> str:
    """The name of the function around ``built``, unless the call itself is built there."""
    function = built.syntax.function(built.node)
    build = failure.call.build
    if function is None or build is None:
        return ""
    first, last = function.lineno, function.end_lineno or function.lineno
    if build.filename == built.syntax.document.filename and first <= build.line <= last:
        return ""
    if isinstance(function, ast.Lambda):
        return bound_name(built.syntax, function)
    return function.name


def _changed_in_place(sources: Library, built: Expression, space: Space) -> TextEdit | None:
    syntax, call = built.syntax, built.node
    assert isinstance(call, ast.Call)
    given = keyword(call, "memory_space")
    written = space_expression(built)
    if written is not None and (edit := _renamed(sources, written, space)):
        return edit
    name = spelled(sources, syntax.document, PALLAS_TPU, space)
    if given is not None:
        if name is not None:
            return syntax.replace(given.value, name)
        return remove_keyword(syntax, call, given) if space == "VMEM" else None
    if name is None or written is not None or any(one.arg is None for one in call.keywords):
        return None
    return add_keyword(syntax, call, f"memory_space={name}")


def _renamed(sources: Library, written: Expression, space: Space) -> TextEdit | None:
    """``pltpu.SMEM`` with its last part changed."""
    syntax, node = written.syntax, written.node
    if identifier(node) not in MEMORY_SPACES:
        return None
    known_as = imports(sources, syntax.document)
    if isinstance(node, ast.Attribute) and known_as.get(syntax.text(node.value)) != PALLAS:
        end = end_of(node)
        return syntax.replace_between((end[0], end[1] - len(node.attr)), end, space)
    name = spelled(sources, syntax.document, PALLAS_TPU, space)
    return syntax.replace(node, name) if name is not None else None


def _own_spec(sources: Library, where: Placed, space: Space) -> TextEdit | None:
    """An edit that gives one operand a spec of its own in the call's literal list."""
    element = where.element
    if element is None or _list_serves_others(sources, element):
        return None
    name = spelled(sources, element.syntax.document, PALLAS_TPU, space)
    if name is None:
        return None
    new_text = _copied(sources, where.built, element, name)
    if new_text is None:
        new_text = f"{element.text}.replace(memory_space={name})"
    return element.syntax.replace(element.node, new_text)


def _list_serves_others(sources: Library, element: Expression) -> bool:
    above: ast.AST | None = element.node
    while isinstance(above, ast.expr) and not isinstance(above, ast.Call):
        if (name := bound_name(element.syntax, above)) and uses(sources, element.syntax, name) > 1:
            return True
        above = element.syntax.parent(above)
    return False


def _copied(sources: Library, built: Expression, element: Expression, name: str) -> str | None:
    """The text of a short spec with another memory space, where it means the same."""
    call, text = built.node, built.text
    if not isinstance(call, ast.Call) or len(text) > _LONGEST_COPY or "\n" in text:
        return None
    if not means_the_same(sources, built, element):
        return None
    written = space_expression(built)
    if written is None:
        comma = ", " if arguments(call) else ""
        return f"{text[:-1].rstrip().removesuffix(',')}{comma}memory_space={name})"
    start = len(built.syntax.text_between(start_of(call), start_of(written.node)))
    return text[:start] + name + text[start + len(written.text) :]
