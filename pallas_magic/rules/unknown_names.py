"""# PM906: a name that this module of Pallas does not have

## What it means
The code asks a module of Pallas for a name that it never had: the name is in
another of Pallas's modules, or is written a little otherwise. The same goes for a
parameter of one of its functions.

## Why the hardware says no
It does not: Python stops at the name, before there is a kernel.

## Fix
What every back end has is in `jax.experimental.pallas` (`pl`): `BlockSpec`,
`pallas_call`, `when`, `program_id`, `ds`. What belongs to TPUs is in
`jax.experimental.pallas.tpu` (`pltpu`): `VMEM`, `SMEM`, `make_async_copy`,
`CompilerParams`. What belongs to Mosaic GPU is in
`jax.experimental.pallas.mosaic_gpu` (`plgpu`).

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def first(x_ref, o_ref):
    @pltpu.when(pl.program_id(0) == 0)
    def _():
        o_ref[...] = x_ref[...]


fn = pl.pallas_call(first, grid=(2,), out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def first(x_ref, o_ref):
    @pl.when(pl.program_id(0) == 0)
    def _():
        o_ref[...] = x_ref[...]


fn = pl.pallas_call(first, grid=(2,), out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))
args = [jax.ShapeDtypeStruct((8, 128), jnp.float32)]
```

## Fix safety
The fix writes a name that there is. That it is what was meant is likely and not
certain: it is not called safe.

## References
- The reference of `jax.experimental.pallas` in JAX's documentation.
- PM904 and PM905 (names and parameters that Pallas once had).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic, Span, TextEdit
from pallas_magic.rules._drift.importing import alias_of, alias_place, import_at, import_renamed
from pallas_magic.rules._drift.names import GPU, PALLAS, TPU, TRITON
from pallas_magic.rules._drift.parameters import name_place, refused_call
from pallas_magic.rules._drift.spelling import spelling
from pallas_magic.rules._drift.wording import name_in_text, told, usual
from pallas_magic.rules._specs.wording import diagnostic
from pallas_magic.source.absent import Absent, homes, near_names, near_parameters
from pallas_magic.source.document import Library
from pallas_magic.source.syntax import syntax_of

code = "PM906"
name = "unknown-names"

_MODULES = (PALLAS, TPU, GPU, TRITON)
_LIKELY = "the program does not say whether it is what was meant"


def match(failure: Failure) -> bool:
    return failure.absent is not None and bool(_meant(failure.absent))


def key(failure: Failure) -> object:
    return failure.absent


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    absent = failure.absent
    assert absent is not None
    meant = _meant(absent)
    owner = usual(f"{absent.owner}.")[:-1]
    if absent.kind == "parameter":
        message = f"`{owner}` takes no `{absent.name}`; it takes `{meant[0]}`"
        mark = "no such parameter"
    else:
        others = " and ".join(f"`{usual(one)}`" for one in meant)
        message = f"there is no `{name_in_text(failure, sources)}`; there is {others}"
        mark = "no such name"
    return told(
        failure,
        diagnostic(
            failure,
            sources,
            code=code,
            name=name,
            message=message,
            primary=_span(failure, sources),
            mark=mark,
        ),
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    absent = failure.absent
    assert absent is not None
    syntax = syntax_of(sources, absent.place)
    if syntax is None:
        return
    for one in _meant(absent):
        made: tuple[TextEdit | None, ...] = ()
        text = one
        if absent.kind == "parameter":
            made = (_parameter(failure, sources, one),)
        elif absent.kind == "import":
            statement = import_at(syntax, absent.place)
            alias = alias_of(statement, absent.dotted) if statement is not None else None
            text = usual(one)
            if statement is not None and alias is not None:
                made = import_renamed(syntax, statement, {alias: one})
        else:
            known, node = spelling(sources, syntax, one), syntax.at(absent.place)
            if known is not None and node is not None and known.imported is None:
                text, made = known.text, (syntax.replace(node, known.text),)
        edits = tuple(edit for edit in made if edit is not None)
        if edits:
            title = f"write `{text}`"
            yield Candidate(title, edits, "unsafe", why=_LIKELY, shown_by="nature")


def _meant(absent: Absent) -> tuple[str, ...]:
    """What there is that may be meant: the name in other modules, or one much like it."""
    if absent.kind == "parameter":
        return near_parameters(absent.owner, absent.name)
    if absent.kind not in ("name", "import") or absent.owner not in _MODULES:
        return ()
    elsewhere = tuple(f"{module}.{absent.name}" for module in homes(absent.name))
    return elsewhere or tuple(
        f"{absent.owner}.{near}" for near in near_names(absent.owner, absent.name)
    )


def _parameter(failure: Failure, sources: Library, now: str) -> TextEdit | None:
    """The edit that gives the argument under a name that is taken."""
    assert failure.absent is not None
    found = refused_call(failure.absent, sources)
    if found is None:
        return None
    syntax, call = found
    given = [one for one in call.keywords if one.arg == failure.absent.name]
    if len(given) != 1 or any(one.arg == now for one in call.keywords):
        return None
    place = name_place(syntax, given[0])
    return syntax.replace_between((place.line, place.col), (place.end_line, place.end_col), now)


def _span(failure: Failure, sources: Library) -> Span | None:
    absent = failure.absent
    assert absent is not None
    syntax = syntax_of(sources, absent.place)
    if syntax is None:
        return None
    if absent.kind == "parameter" and (found := refused_call(absent, sources)):
        given = [one for one in found[1].keywords if one.arg == absent.name]
        return sources.span(name_place(syntax, given[0])) if given else None
    if absent.kind == "import":
        statement: ast.Import | ast.ImportFrom | None = import_at(syntax, absent.place)
        alias = alias_of(statement, absent.dotted) if statement is not None else None
        return sources.span(alias_place(syntax, alias)) if alias is not None else None
    return sources.span(absent.place)
