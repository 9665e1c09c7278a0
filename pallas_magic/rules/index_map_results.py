"""# PM204: an index map that returns no block index for each axis

## What it means
The function that tells which block of an operand is used returns more or fewer
values than the block has axes, or something that is no whole number.

## Why the hardware says no
It does not: JAX multiplies each value with the size of the block along its
axis to find where the block begins, and needs one integer for each.

## Fix
Return one block index for each axis of the block, 0 for an axis that is not
cut. Divide with `//`: a block index is an integer.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def double(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0


fn = pl.pallas_call(
    double,
    grid=(2,),
    in_specs=[pl.BlockSpec((8, 128), lambda i: i)],
    out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
    out_shape=jax.ShapeDtypeStruct((16, 128), jnp.float32),
)
args = [jax.ShapeDtypeStruct((16, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def double(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0


fn = pl.pallas_call(
    double,
    grid=(2,),
    in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
    out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
    out_shape=jax.ShapeDtypeStruct((16, 128), jnp.float32),
)
args = [jax.ShapeDtypeStruct((16, 128), jnp.float32)]
```

## Fix safety
A 0 is put in, or left out, where one place for it makes the blocks go through
the whole operand and nothing beyond it; that is safe. Where no place does, a 0
behind the others is offered and not called safe. `//` for `/` rounds down,
which is what a block index needs.

## References
- Pallas documentation, "Grids and BlockSpecs".
"""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Iterable, Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic, Span, TextEdit
from pallas_magic.rules._specs.axes import layouts, result_texts, results_edit
from pallas_magic.rules._specs.texts import SpecText, spec_text, spec_texts
from pallas_magic.rules._specs.wording import counted, diagnostic, operand_name
from pallas_magic.source.document import Library
from pallas_magic.source.syntax import Syntax, end_of, start_of

code = "PM204"
name = "index-map-results"

_RAISED_IN = "jax.pallas.core.to_block_mapping"
_COUNT = re.compile(
    r"must return (\d+) values? to match .*Currently returning (\d+) values?", re.DOTALL
)
_TYPE = re.compile(
    r"must return integer scalars\. Output\[(\d+)\] has type (?:ShapedArray\(|~)*(\w+)"
)
_GUESS = "with it the index map does not go through the whole operand"


def match(failure: Failure) -> bool:
    known = failure.raised_in == _RAISED_IN and failure.ref is not None
    return known and bool(_COUNT.search(failure.text) or _TYPE.search(failure.text))


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    spec = _spec(failure, sources)
    count, kind = _COUNT.search(failure.text), _TYPE.search(failure.text)
    whose = f"the index map of {operand_name(failure.ref)}"
    if count is not None:
        wanted, found = int(count[1]), int(count[2])
        message = f"{whose} returns {counted(found, 'value')};"
        message += f" its block has {counted(wanted, 'axis', 'axes')}"
        mark = f"{counted(found, 'value')}, expected {wanted}"
    else:
        assert kind is not None
        message = f"{whose} returns a {kind[2]} for axis {kind[1]}; a block index is an integer"
        mark = f"a {kind[2]}, expected an integer"
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=message,
        primary=_span(spec, int(kind[1]) if count is None and kind is not None else None),
        mark=mark,
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    if _TYPE.search(failure.text):
        edits = _together([_rounded(one) for one in spec_texts(failure, sources)])
        if edits:
            yield Candidate("divide with `//`", edits, mechanical=True)
        return
    wrong = [one for one in spec_texts(failure, sources) if _is_wrong(one)]
    made = [_as_many(one, failure) for one in wrong]
    known = [one for one in made if one is not None]
    edits = _together([(one.edit,) for one in known])
    if not edits or len(known) < len(made):
        return
    sure = all(one.sure for one in known)
    returned = " and ".join(dict.fromkeys(f"`{one.text}`" for one in known))
    yield Candidate(f"return {returned}", edits, mechanical=sure, why="" if sure else _GUESS)


@dataclasses.dataclass(frozen=True)
class _Results:
    """An index map with as many results as its block has axes."""

    edit: TextEdit
    text: str
    sure: bool


def _as_many(spec: SpecText, failure: Failure) -> _Results | None:
    window, index_map = spec.ref.window, spec.index_map
    if window is None or index_map is None or window.block is None:
        return None
    found = layouts(spec, window, failure.call.grid)
    written = index_map.results or []
    missing = len(window.block) - len(written)
    if len(found) == 1:
        results: tuple[int | None, ...] = found[0].results
    elif not found and missing > 0 and written:
        results = (*range(len(written)), *[None] * missing)
    else:
        return None
    edit = results_edit(index_map, results)
    text = result_texts(index_map, results)
    return _Results(edit, text, len(found) == 1) if edit is not None else None


def _is_wrong(one: SpecText) -> bool:
    block = one.ref.window.block if one.ref.window is not None else None
    results = one.index_map.results if one.index_map is not None else None
    return block is not None and results is not None and len(results) != len(block)


def _together(parts: Iterable[tuple[TextEdit | None, ...]]) -> tuple[TextEdit, ...]:
    edits = [edit for part in parts for edit in part]
    known = tuple(dict.fromkeys(edit for edit in edits if edit is not None))
    return known if None not in edits else ()


def _spec(failure: Failure, sources: Library) -> SpecText | None:
    return spec_text(failure, failure.ref, sources) if failure.ref is not None else None


def _span(spec: SpecText | None, axis: int | None) -> Span | None:
    """What is returned, for one axis where that is known; else the index map or the spec."""
    if spec is None:
        return None
    index_map = spec.index_map
    if index_map is None:
        return spec.syntax.span(spec.given_map.node if spec.given_map is not None else spec.node)
    results, result = index_map.results, index_map.result
    if axis is not None and results is not None and axis < len(results):
        return index_map.syntax.span(results[axis])
    return index_map.syntax.span(result) if result is not None else index_map.span()


def _rounded(spec: SpecText) -> tuple[TextEdit | None, ...]:
    """Every `/` of what is returned as `//`."""
    index_map = spec.index_map
    results = index_map.results if index_map is not None else None
    if index_map is None or results is None:
        return ()
    return tuple(
        _floor(index_map.syntax, node)
        for one in results
        for node in ast.walk(one)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)
    )


def _floor(syntax: Syntax, node: ast.BinOp) -> TextEdit | None:
    start, end = end_of(node.left), start_of(node.right)
    between = syntax.text_between(start, end)
    if between.count("/") != 1 or "#" in between:
        return None
    return syntax.replace_between(start, end, between.replace("/", "//"))
