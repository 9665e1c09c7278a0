"""Python statements that depend on a traced value, written as JAX needs them."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator, Sequence

from pallas_magic.report import TextEdit
from pallas_magic.rules._memory.assignment import operator
from pallas_magic.rules._memory.layout import as_lines, can_take_lines
from pallas_magic.rules._refs.expressions import needs_parentheses
from pallas_magic.rules._refs.purity import is_pure, only_stores
from pallas_magic.source.document import Library
from pallas_magic.source.names import spelled
from pallas_magic.source.syntax import Syntax, end_of, identifier, start_of

Branch = ast.If | ast.IfExp | ast.While | ast.Assert | ast.For
PALLAS = "jax.experimental.pallas"


@dataclasses.dataclass(frozen=True, eq=False)
class Rewritten:
    """A statement as JAX needs it, with what that is called.

    ``elementwise`` says that an array may decide, each element for itself.
    """

    title: str
    edits: tuple[TextEdit, ...]
    elementwise: bool = False


def branch_of(syntax: Syntax, node: ast.expr) -> Branch | None:
    """The statement or expression whose course ``node`` decides."""
    inner: ast.AST = node
    above = syntax.parent(node)
    while isinstance(above, (ast.BoolOp, ast.UnaryOp, ast.Compare)):
        inner, above = above, syntax.parent(above)
    if isinstance(above, (ast.If, ast.IfExp, ast.While, ast.Assert)) and above.test is inner:
        return above
    return above if isinstance(above, ast.For) and above.iter is inner else None


def rewritten(syntax: Syntax, branch: Branch, sources: Library) -> Iterator[Rewritten]:
    """Ways to write a branch so that it can depend on a traced value."""
    match branch:
        case ast.IfExp():
            yield from _selected(syntax, branch, sources)
        case ast.If():
            yield from _assigned(syntax, branch, sources)
            yield from _stored(syntax, branch, sources)
        case ast.For():
            yield from _looped(syntax, branch, sources)


def _selected(syntax: Syntax, branch: ast.IfExp, sources: Library) -> Iterator[Rewritten]:
    where = spelled(sources, syntax.document, "jax.numpy", "where")
    test = _condition(syntax, branch.test, sources)
    pure = is_pure(syntax, branch.body, sources) and is_pure(syntax, branch.orelse, sources)
    if where is None or test is None or not pure:
        return
    values = f"{syntax.text(branch.body)}, {syntax.text(branch.orelse)}"
    if edit := syntax.replace(branch, f"{where}({test}, {values})"):
        yield Rewritten("choose with `jnp.where`", (edit,), elementwise=True)


def _assigned(syntax: Syntax, branch: ast.If, sources: Library) -> Iterator[Rewritten]:
    """``if test: x = value`` as one assignment."""
    where = spelled(sources, syntax.document, "jax.numpy", "where")
    test = _condition(syntax, branch.test, sources)
    chosen = _one_value(syntax, branch.body)
    otherwise = _one_value(syntax, branch.orelse) if branch.orelse else None
    if where is None or test is None or chosen is None or _is_elif(syntax, branch):
        return
    name, value = chosen
    if branch.orelse:
        if otherwise is None or otherwise[0] != name:
            return
        other = otherwise[1]
    else:
        other = name if _is_bound_before(syntax, branch, name) else ""
    values = [
        node.value
        for node in (*branch.body, *branch.orelse)
        if isinstance(node, (ast.Assign, ast.AugAssign))
    ]
    if not other or not all(is_pure(syntax, one, sources) for one in values):
        return
    line = f"{name} = {where}({test}, {value}, {other})"
    if can_take_lines(syntax, branch) and (edit := as_lines(syntax, branch, [line])):
        yield Rewritten("choose with `jnp.where`", (edit,), elementwise=True)


def _stored(syntax: Syntax, branch: ast.If, sources: Library) -> Iterator[Rewritten]:
    """``if test:`` over stores as a function under ``pl.when``."""
    when = spelled(sources, syntax.document, PALLAS, "when")
    test = _condition(syntax, branch.test, sources)
    if when is None or test is None or branch.orelse or _is_elif(syntax, branch):
        return
    if not only_stores(syntax, branch) or not can_take_lines(syntax, branch):
        return
    header = f"@{when}({test})\n{syntax.indentation(branch.lineno)}def _():"
    if edit := _header(syntax, branch, branch.test, branch.body, header):
        yield Rewritten("store under `pl.when`", (edit,))


def _looped(syntax: Syntax, branch: ast.For, sources: Library) -> Iterator[Rewritten]:
    """``for i in range(n):`` over stores as a function under ``pl.loop``."""
    loop = spelled(sources, syntax.document, PALLAS, "loop")
    call, target = branch.iter, branch.target
    is_range = isinstance(call, ast.Call) and identifier(call.func) == "range"
    if loop is None or not is_range or not isinstance(target, ast.Name) or branch.orelse:
        return
    assert isinstance(call, ast.Call)
    bounds = [syntax.text(one) for one in call.args]
    if len(bounds) not in (1, 2) or call.keywords or not only_stores(syntax, branch):
        return
    if not can_take_lines(syntax, branch):
        return
    lower, upper = (bounds[0], bounds[1]) if len(bounds) == 2 else ("0", bounds[0])
    indentation = syntax.indentation(branch.lineno)
    header = f"@{loop}({lower}, {upper})\n{indentation}def _({target.id}):"
    if edit := _header(syntax, branch, call, branch.body, header):
        yield Rewritten("loop with `pl.loop`", (edit,))


def _header(
    syntax: Syntax, branch: ast.If | ast.For, last: ast.expr, body: Sequence[ast.stmt], text: str
) -> TextEdit | None:
    """An edit of everything before the body of a statement."""
    between = syntax.text_between(end_of(last), start_of(body[0]))
    colon = between.find(":")
    if colon < 0 or "\n" in between[:colon] or "#" in between[:colon]:
        return None
    line, column = end_of(last)
    end = (line, column + len(between[: colon + 1].encode()))
    return syntax.replace_between(start_of(branch), end, text)


def _condition(syntax: Syntax, test: ast.expr, sources: Library) -> str | None:
    """A condition without Python's ``and``, ``or``, ``not`` and chained comparisons."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        function = spelled(sources, syntax.document, "jax.numpy", "logical_not")
        inner = _condition(syntax, test.operand, sources)
        return f"{function}({inner})" if function and inner else None
    if isinstance(test, ast.BoolOp):
        name = "logical_and" if isinstance(test.op, ast.And) else "logical_or"
        function = spelled(sources, syntax.document, "jax.numpy", name)
        parts = [_condition(syntax, one, sources) for one in test.values]
        known = [part for part in parts if part is not None]
        if function is None or len(known) < len(parts):
            return None
        whole = known[0]
        for part in known[1:]:
            whole = f"{function}({whole}, {part})"
        return whole
    if isinstance(test, ast.Compare) and len(test.ops) > 1:
        return None
    if isinstance(test, ast.NamedExpr):
        return None
    return syntax.text(test)


def _one_value(syntax: Syntax, body: Sequence[ast.stmt]) -> tuple[str, str] | None:
    """The name and the value of the only assignment in ``body``."""
    statement = body[0] if len(body) == 1 else None
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name, syntax.text(statement.value)
        case ast.AugAssign(target=ast.Name(id=name)):
            value = syntax.text(statement.value)
            value = f"({value})" if needs_parentheses(statement.value) else value
            return name, f"{name} {operator(syntax, statement).removesuffix('=')} {value}"
    return None


def _is_bound_before(syntax: Syntax, branch: ast.If, name: str) -> bool:
    function = syntax.function(branch)
    if function is None:
        return False
    if any(isinstance(node, ast.arg) and node.arg == name for node in ast.walk(function.args)):
        return True
    return any(
        isinstance(node, ast.Name)
        and node.id == name
        and isinstance(node.ctx, ast.Store)
        and node.lineno < branch.lineno
        for node in ast.walk(function)
    )


def _is_elif(syntax: Syntax, branch: ast.If) -> bool:
    parent = syntax.parent(branch)
    is_only = isinstance(parent, ast.If) and parent.orelse == [branch]
    return is_only and syntax.text(branch).startswith("elif")
