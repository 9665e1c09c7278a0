"""# PM208: not one spec for each operand

## What it means
`in_specs` does not have one spec for each operand, or `out_specs` not one for
each output; or one of the two is a list where the other is not.

## Why the hardware says no
It does not: JAX pairs specs with operands, and some are left over.

## Fix
Give `in_specs` a list with one spec for each operand that is not prefetched.
Give `out_specs` the same form as `out_shape`: one spec for one output, a list
for a list. An operand that is not to be cut gets `pl.BlockSpec()`; `None` is no
spec.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def add(x_ref, y_ref, o_ref):
    o_ref[...] = x_ref[...] + y_ref[...]


fn = pl.pallas_call(
    add,
    in_specs=[pl.BlockSpec((8, 128), lambda: (0, 0))],
    out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
)
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)] * 2
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def add(x_ref, y_ref, o_ref):
    o_ref[...] = x_ref[...] + y_ref[...]


fn = pl.pallas_call(
    add,
    in_specs=[pl.BlockSpec((8, 128), lambda: (0, 0)), pl.BlockSpec((8, 128), lambda: (0, 0))],
    out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32),
)
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)] * 2
```

## Fix safety
Without a grid an operand that lacks a spec is used whole, as it is without any
specs; that is safe. With a grid it may have been meant to be cut: it gets the
spec of its neighbour of the same shape, else the whole array, and neither is
called safe. A list around a single spec is put on or taken off as `out_shape`
has it.

## References
- Pallas documentation, "Grids and BlockSpecs".
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure, Ref, Role
from pallas_magic.report import Diagnostic, Label, Span
from pallas_magic.rules._specs.wording import counted, diagnostic
from pallas_magic.source.calls import argument, keyword
from pallas_magic.source.document import Library, Place
from pallas_magic.source.names import spelled
from pallas_magic.source.resolve import Expression, resolve
from pallas_magic.source.specs import SpecCall, spec_call
from pallas_magic.source.syntax import Syntax, end_of

code = "PM208"
name = "spec-count"

_RAISED_IN = "jax.pallas.core.get_grid_mapping"
_TEXT = "do not match"
_BUILT_IN = "jax.pallas.core.GridSpec.__init__"
_NOT_A_LIST = "`in_specs` must be a tuple or a list"
_GUESS = "how the operand is to be cut is a guess"
_WHICH = "which of them is superfluous is a guess"
_UNCHECKED = "the call was never put together, so nothing more of it is checked"


def match(failure: Failure) -> bool:
    if failure.raised_in == _BUILT_IN:
        return failure.text.startswith(_NOT_A_LIST)
    return failure.raised_in == _RAISED_IN and _TEXT in failure.text


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    role = _role(failure)
    call = spec_call(sources, failure.call)
    given = keyword(call.node, _keyword(role)) if call is not None else None
    specs = _specs(failure, sources, call)
    shape = _out_shape(call) if role == "output" else None
    message, mark = _words(failure, role, specs, sources, shape)
    causes = [_shape_label(shape, sources)] if shape is not None else []
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=message,
        primary=_span(call.syntax, given) if call is not None and given is not None else None,
        mark=mark,
        causes=[label for label in causes if label is not None],
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    role = _role(failure)
    call = spec_call(sources, failure.call)
    given = keyword(call.node, _keyword(role)) if call is not None else None
    if call is None or given is None:
        return
    specs = _specs(failure, sources, call)
    count = len(_refs(failure, role))
    as_list = _is_list(_out_shape(call), sources) if role == "output" else True
    if as_list and isinstance(specs, Expression):
        yield from _wrapped(failure, specs)
    elif as_list is False and isinstance(specs, list) and len(specs) == 1:
        edit = call.syntax.replace(given.value, specs[0].text)
        if edit is not None and specs[0].syntax is call.syntax:
            yield Candidate(
                "give one spec, as `out_shape` gives one shape", (edit,), mechanical=True
            )
    elif isinstance(specs, list) and any(map(_is_none, specs)):
        yield from _without_none(specs, sources)
    elif isinstance(specs, list) and 0 < len(specs) < count:
        yield from _more(failure, sources, specs, _refs(failure, role))
    elif isinstance(specs, list) and len(specs) > count > 0:
        yield from _fewer(specs, count)


def _wrapped(failure: Failure, spec: Expression) -> Iterator[Candidate]:
    if len(_refs(failure, _role(failure))) > 1:
        return
    edit = spec.syntax.replace(spec.node, f"[{spec.text}]")
    if edit is None:
        return
    title = f"make `{_keyword(_role(failure))}` a list"
    if failure.raised_in == _BUILT_IN:
        yield Candidate(title, (edit,), "unsafe", why=_UNCHECKED, shown_by="nature")
    else:
        yield Candidate(title, (edit,), mechanical=True)


def _more(
    failure: Failure, sources: Library, specs: list[Expression], refs: list[Ref]
) -> Iterator[Candidate]:
    last = specs[-1]
    whole = spelled(sources, last.syntax.document, "jax.experimental.pallas", "BlockSpec")
    neighbour, lacking = refs[len(specs) - 1], refs[len(specs) :]
    alike = all(_array(ref) == _array(neighbour) for ref in lacking)
    if alike and neighbour.memory_space == "" and "\n" not in last.text:
        text, title = last.text, "give the other operands the same spec"
    elif whole is not None:
        text, title = f"{whole}()", "use the other operands whole"
    else:
        return
    edit = last.syntax.insert(end_of(last.node), f", {text}" * len(lacking))
    sure = not failure.call.grid
    if edit is not None:
        yield Candidate(title, (edit,), mechanical=sure, why="" if sure else _GUESS)


def _fewer(specs: list[Expression], count: int) -> Iterator[Candidate]:
    kept, dropped = specs[:count], specs[count:]
    edit = kept[-1].syntax.replace_between(end_of(kept[-1].node), end_of(dropped[-1].node), "")
    same = all(one.text == kept[-1].text for one in dropped)
    if edit is not None:
        title = "take away the last spec" if len(dropped) == 1 else f"keep the first {count} specs"
        yield Candidate(title, (edit,), mechanical=same, why="" if same else _WHICH)


def _without_none(specs: list[Expression], sources: Library) -> Iterator[Candidate]:
    edits = []
    for one in specs:
        whole = spelled(sources, one.syntax.document, "jax.experimental.pallas", "BlockSpec")
        if _is_none(one) and whole is not None:
            edits.append(one.syntax.replace(one.node, f"{whole}()"))
    known = tuple(edit for edit in edits if edit is not None)
    if known and len(known) == sum(map(_is_none, specs)):
        yield Candidate("write `pl.BlockSpec()` for `None`", known, mechanical=True)


def _is_none(one: Expression) -> bool:
    return isinstance(one.node, ast.Constant) and one.node.value is None


def _words(
    failure: Failure,
    role: Role,
    specs: list[Expression] | Expression | None,
    sources: Library,
    shape: Expression | None,
) -> tuple[str, str]:
    """The message and the mark."""
    given, count = f"`{_keyword(role)}`", len(_refs(failure, role))
    what = counted(count, "operand" if role == "input" else "output")
    if isinstance(specs, Expression) and (failure.raised_in == _BUILT_IN or count < 2):
        listed = " where `out_shape` is a list" if role == "output" else ""
        return f"{given} is one spec{listed}; it must be a list", "one spec, expected a list"
    if isinstance(specs, list) and any(map(_is_none, specs)):
        return f"{given} has `None` where a spec belongs", "`None` is no spec"
    if isinstance(specs, list) and len(specs) != count:
        found = counted(len(specs), "spec")
        return f"{given} has {found} for {what}", f"{found}, expected {count}"
    if isinstance(specs, list) and _is_list(shape, sources) is False:
        return f"{given} is a list where `out_shape` is one shape", "a list, expected one spec"
    return f"{given} does not have one spec for each of {what}", f"for {what}"


def _role(failure: Failure) -> Role:
    return "output" if "`out_specs`" in failure.text else "input"


def _keyword(role: Role) -> str:
    return "out_specs" if role == "output" else "in_specs"


def _refs(failure: Failure, role: Role) -> list[Ref]:
    return [ref for ref in failure.refs if ref.role == role]


def _specs(
    failure: Failure, sources: Library, call: SpecCall | None
) -> list[Expression] | Expression | None:
    """The elements of a list of specs, or the one spec that stands in its place."""
    given = call.given((_keyword(_role(failure)),)) if call is not None else None
    if given is None:
        return None
    whole = resolve(sources, given)
    if isinstance(whole.node, (ast.List, ast.Tuple)):
        if any(isinstance(one, ast.Starred) for one in whole.node.elts):
            return None
        return [Expression(whole.syntax, one) for one in whole.node.elts]
    return given if isinstance(whole.node, ast.Call) else None


def _out_shape(call: SpecCall | None) -> Expression | None:
    shape = argument(call.build, "out_shape", 1) if call is not None else None
    return Expression(call.build_syntax, shape) if call is not None and shape is not None else None


def _is_list(shape: Expression | None, sources: Library) -> bool | None:
    """Whether ``out_shape`` is a list, ``None`` where its text does not tell."""
    if shape is None:
        return None
    node = resolve(sources, shape).node
    if isinstance(node, (ast.List, ast.Tuple)):
        return True
    return False if isinstance(node, ast.Call) else None


def _shape_label(shape: Expression, sources: Library) -> Label | None:
    span = shape.syntax.span(shape.node)
    is_list = _is_list(shape, sources)
    if span is None or is_list is None or span.start_line != span.end_line:
        return None
    return Label(span, "a list" if is_list else "one shape", "cause")


def _array(ref: Ref) -> tuple[int, ...] | None:
    return ref.window.array if ref.window is not None else None


def _span(syntax: Syntax, given: ast.keyword) -> Span | None:
    """What is given; only its keyword where it runs over several lines."""
    span = syntax.span(given.value)
    if span is None or span.start_line == span.end_line or given.arg is None:
        return span
    end = given.col_offset + len(given.arg)
    place = Place(syntax.document.filename, given.lineno, given.col_offset, given.lineno, end)
    return syntax.document.span(place)
