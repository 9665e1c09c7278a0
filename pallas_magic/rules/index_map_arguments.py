"""# PM203: an index map that takes another number of arguments

## What it means
The function that tells which block of an operand is used takes more or fewer
arguments than it is given: one for each axis of the grid, then one for each
operand that is prefetched.

## Why the hardware says no
It does not: JAX calls the index map to see which blocks it walks through, and
Python refuses the call.

## Fix
Give it one parameter for each axis of the grid, whether it uses it or not, and
one for each prefetched operand behind them. Without a grid it takes none.

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
    grid=(2, 2),
    in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
    out_specs=pl.BlockSpec((8, 128), lambda i, j: (i, j)),
    out_shape=jax.ShapeDtypeStruct((16, 256), jnp.float32),
)
args = [jax.ShapeDtypeStruct((16, 256), jnp.float32)]
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
    grid=(2, 2),
    in_specs=[pl.BlockSpec((8, 128), lambda i, j: (i, j))],
    out_specs=pl.BlockSpec((8, 128), lambda i, j: (i, j)),
    out_shape=jax.ShapeDtypeStruct((16, 256), jnp.float32),
)
args = [jax.ShapeDtypeStruct((16, 256), jnp.float32)]
```

## Fix safety
A parameter that is added and not used is safe where the index map already goes
through the whole operand. Where it does not, the new parameter may have been
meant to walk the rest: both readings are offered, and neither is called safe.
Parameters are taken away where they are not used, or where there is but one
block along their axis. A grid is added where all index maps agree on its size.

## References
- Pallas documentation, "Grids and BlockSpecs"; "Scalar prefetch" for the
  parameters behind those of the grid.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic, Label, TextEdit
from pallas_magic.rules._specs.arity import (
    Misfit,
    misfits,
    missing_names,
    prefetched,
    taking_fewer,
    taking_more,
    walking_more,
    wanted_grid,
)
from pallas_magic.rules._specs.blocks import steps
from pallas_magic.rules._specs.grids import with_axes
from pallas_magic.rules._specs.texts import spec_text
from pallas_magic.rules._specs.wording import counted, diagnostic, keyword_label, operand_name
from pallas_magic.source.document import Library

code = "PM203"
name = "index-map-arguments"

_RAISED_IN = "jax.pallas.core.__call__"
_TEXT = re.compile(r"\(\) (takes \d+|missing \d+ required) positional argument")
_GUESS = "whether the new parameter was to walk the operand is a guess"


def match(failure: Failure) -> bool:
    known = failure.raised_in == _RAISED_IN and failure.error_type == "TypeError"
    return known and failure.ref is not None and _TEXT.search(failure.text) is not None


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    ref = failure.ref
    cut = ref.window if ref is not None else None
    spec = spec_text(failure, ref, sources) if ref is not None else None
    index_map = spec.index_map if spec is not None else None
    taken = len(cut.parameters) if cut is not None and cut.parameters is not None else 0
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=f"the index map of {operand_name(ref)} takes {counted(taken, 'argument')};"
        f" it is given {_given_words(failure)}",
        primary=(index_map.span() if index_map is not None else None)
        or (spec.syntax.span(spec.node) if spec is not None else None),
        mark=f"takes {counted(taken, 'argument')}",
        effects=[one.index_map.span() for one in misfits(failure, sources) if one.taken == taken],
        causes=_causes(failure, sources),
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    found = misfits(failure, sources)
    if not found:
        return
    if all(one.taken < one.given for one in found):
        yield from _more(found, failure, sources)
    elif all(one.taken > one.given for one in found):
        yield from _fewer(found, failure, sources)


def _more(found: Sequence[Misfit], failure: Failure, sources: Library) -> Iterator[Candidate]:
    names = {id(one): missing_names(one, failure, sources) for one in found}
    if not all(names.values()):
        return
    title = _listed(sorted({name for own in names.values() for name in own}))
    walking = [walking_more(one, names[id(one)]) for one in found]
    unused = [taking_more(one, names[id(one)]) for one in found]
    if any(walking):
        mixed = [walked or plain for walked, plain in zip(walking, unused, strict=True)]
        if edits := _whole(mixed):
            use = f"take {title}, and walk the operand with it"
            yield Candidate(use, edits, why=_GUESS)
    complete = all(_is_complete(one) for one in found)
    if edits := _whole(unused):
        why = "" if complete else _GUESS
        yield Candidate(f"take {title} and leave it unused", edits, mechanical=complete, why=why)


def _fewer(found: Sequence[Misfit], failure: Failure, sources: Library) -> Iterator[Candidate]:
    if edits := _whole([taking_fewer(one) for one in found]):
        yield Candidate("take away the parameters that are too many", edits, mechanical=True)
        return
    sizes = wanted_grid(found)
    grid = with_axes(failure, sources, sizes) if sizes is not None else None
    if sizes is not None and grid is not None and not prefetched(failure):
        grid_sizes = (*failure.call.grid, *sizes)
        words = ", ".join(str(size) for size in grid_sizes if size is not None)
        yield Candidate(
            f"make the grid ({words}{',' if len(grid_sizes) == 1 else ''})",
            (grid,),
            mechanical=True,
        )


def _is_complete(one: Misfit) -> bool:
    walked = steps(one.index_map)
    return walked is not None and one.covers(walked)


def _whole(parts: Iterable[tuple[TextEdit | None, ...]]) -> tuple[TextEdit, ...]:
    """All edits as one, empty if one of the parts could not be made."""
    every = list(parts)
    edits = [edit for part in every for edit in part]
    known = tuple(dict.fromkeys(edit for edit in edits if edit is not None))
    return known if all(every) and None not in edits else ()


def _listed(names: Sequence[str]) -> str:
    return " and ".join(f"`{name}`" for name in names)


def _given_words(failure: Failure) -> str:
    axes, operands = len(failure.call.grid), prefetched(failure)
    if not axes and not operands:
        return "none: the call has no grid"
    parts = [counted(axes, "grid index", "grid indices")] if axes else []
    parts += [counted(operands, "prefetched operand")] if operands else []
    return " and ".join(parts)


def _causes(failure: Failure, sources: Library) -> Iterator[Label | None]:
    axes, operands = len(failure.call.grid), prefetched(failure)
    yield keyword_label(failure, sources, "grid", counted(axes, "axis", "axes"))
    if operands:
        yield keyword_label(
            failure, sources, "num_scalar_prefetch", "one argument for each of these"
        )
