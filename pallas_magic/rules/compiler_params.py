"""# PM215: parameters that the compiler of a call does not take

## What it means
`compiler_params` of a call is a `dict`, as in old releases of JAX; or says
something of the grid that the grid has not; or is for a compiler that the call
does not use; or gives Triton a number of warps or stages that is no whole one.

## Why the hardware says no
It does not: JAX reads these parameters when it lowers the kernel, and stops
there with an error of its own.

## Fix
- a `dict(mosaic=dict(...))` is `pltpu.CompilerParams(...)` now, a
  `dict(triton=dict(...))` is `CompilerParams` of `jax.experimental.pallas.triton`;
- `dimension_semantics` has one entry for each axis of the grid, each `"parallel"` or
  `"arbitrary"`;
- `num_warps` and `num_stages` of Triton are whole numbers: `block // 32`;
- since JAX 0.11.2 `pl.pallas_call` does not lower for Mosaic GPU; `plgpu.kernel` makes
  such kernels.

## Example
Fails:

```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def double(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0


def fn(x):
    return pl.pallas_call(
        double,
        grid=(2,),
        in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((16, 128), jnp.float32),
        compiler_params=dict(mosaic=dict(dimension_semantics=("parallel",))),
    )(x)


args = [jax.ShapeDtypeStruct((16, 128), jnp.float32)]
```

## Use instead
```python
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def double(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0


def fn(x):
    return pl.pallas_call(
        double,
        grid=(2,),
        in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((16, 128), jnp.float32),
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel",)),
    )(x)


args = [jax.ShapeDtypeStruct((16, 128), jnp.float32)]
```

## Fix safety
The same parameters as arguments of the class are the same; that is safe. An axis
that is called `"arbitrary"` is run in order, which is right for every kernel and
may be slower than was meant: that is offered and not called safe.

## References
- Pallas documentation, "Grids and BlockSpecs", and `CompilerParams` of each back end.
- PM904 (names that left Pallas, `TPUCompilerParams` among them).
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic, Span, TextEdit
from pallas_magic.rules._drift.names import GPU, TPU, TRITON
from pallas_magic.rules._drift.spelling import spelling
from pallas_magic.rules._operations.called import integer
from pallas_magic.rules._specs.wording import counted, diagnostic, keyword_label
from pallas_magic.source.calls import keyword
from pallas_magic.source.document import Library
from pallas_magic.source.resolve import Expression, literal_children, resolve
from pallas_magic.source.specs import spec_call
from pallas_magic.source.syntax import end_of, identifier, start_of

code = "PM215"
name = "compiler-params"

_LENGTH = re.compile(
    r"Length of grid does not match length of dimension semantics\. "
    r"len\(grid\)=(\d+), len\(dimension_semantics\)=(\d+)"
)
_WORD = re.compile(r'"#tpu\.dimension_semantics<(\w+)>".* to be one of: ([\w, ]+)')
_DICT = ("jax.interpreters.mlir.__new__", "unhashable type: 'dict'")
_NO_NUMBER = ("jax.interpreters.mlir.i32_attr", "std::bad_cast")
_NUMBERS = ("num_warps", "num_stages")
_NO_BACK_END = ("jax.pallas.pallas_call.gpu_lowering", "AssertionError", "")
_CLASSES = {"mosaic": TPU, "mosaic_gpu": GPU, "triton": TRITON}
_SAME = "they are the same parameters"
_NEAREST = "it is the nearest of the words that there are"
_WHOSE = "which entry is whose the program does not say"
_IN_ORDER = "an axis that is `arbitrary` is run in order"


def match(failure: Failure) -> bool:
    told = (failure.raised_in, failure.error_type, failure.text)
    is_known = (failure.raised_in, failure.text) == _DICT or _is_no_number(failure)
    by_text = _LENGTH.match(failure.text) or _WORD.search(failure.text)
    return failure.stage == "lower" and bool(by_text or is_known or told == _NO_BACK_END)


def key(failure: Failure) -> object:
    return failure.text


def diagnose(failure: Failure, sources: Library) -> Diagnostic:
    length, word = _LENGTH.match(failure.text), _WORD.search(failure.text)
    given = _params(failure, sources)
    node: ast.expr | None = given.node if given is not None else None
    causes, notes = [], []
    if length is not None:
        axes, entries = int(length[1]), int(length[2])
        message = f"`dimension_semantics` has {counted(entries, 'entry', 'entries')};"
        message += f" the grid has {counted(axes, 'axis', 'axes')}"
        mark, node = f"{entries}, expected {axes}", _semantics(given)
        causes = [keyword_label(failure, sources, "grid", counted(axes, "axis", "axes"))]
    elif word is not None:
        message = f"`{word[1]}` is no word for an axis of the grid"
        mark, node = "no such word", _entry(given, word[1])
        notes = [f"the words are {', '.join(f'`{one.strip()}`' for one in word[2].split(','))}"]
    elif (failure.raised_in, failure.text) == _DICT:
        message = "the parameters of the compiler are a `dict`; they are a `CompilerParams` now"
        mark = "expected a `CompilerParams`"
    elif _is_no_number(failure):
        number = _number(given)
        names = (str(number.arg),) if number is not None else _NUMBERS
        message = f"{' or '.join(f'`{one}`' for one in names)} is no whole number"
        mark, node = "expected a whole number", number.value if number is not None else node
    else:
        message = "`pl.pallas_call` does not lower for Mosaic GPU, which these parameters are for"
        mark = "parameters of Mosaic GPU"
        notes = ["kernels for Mosaic GPU are made with `plgpu.kernel`, by their copies and blocks"]
    return diagnostic(
        failure,
        sources,
        code=code,
        name=name,
        message=message,
        primary=_span(given, node),
        mark=mark,
        causes=causes,
        notes=notes,
    )


def fixes(failure: Failure, sources: Library) -> Iterator[Candidate]:
    given = _params(failure, sources)
    length, word = _LENGTH.match(failure.text), _WORD.search(failure.text)
    if given is None:
        return
    if length is not None:
        yield from _fitted(given, int(length[1]))
    elif word is not None:
        yield from _nearest(given, word[1], word[2].split(", "))
    elif (failure.raised_in, failure.text) == _DICT:
        yield from _as_class(given, sources)
    elif _is_no_number(failure):
        yield from _whole(given)


def _is_no_number(failure: Failure) -> bool:
    return failure.call.is_triton and (failure.raised_in, failure.text) == _NO_NUMBER


def _number(given: Expression | None) -> ast.keyword | None:
    """The parameter that is no whole number, ``None`` where the text does not tell which."""
    if given is None or not isinstance(given.node, ast.Call):
        return None
    known = [one for name in _NUMBERS if (one := keyword(given.node, name)) is not None]
    likely = [one for one in known if integer(one.value) is None]
    return likely[0] if len(likely) == 1 else None


def _whole(given: Expression) -> Iterator[Candidate]:
    """A quotient rounded down."""
    number, syntax = _number(given), given.syntax
    value = number.value if number is not None else None
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Div):
        return
    start, end = end_of(value.left), start_of(value.right)
    text = syntax.text_between(start, end).replace("/", "//", 1)
    if (edit := syntax.replace_between(start, end, text)) is not None:
        yield Candidate("round it down with `//`", (edit,))


def _fitted(given: Expression, axes: int) -> Iterator[Candidate]:
    """As many entries as axes, those that are missing the ones that are right for all."""
    semantics = _semantics(given)
    entries = literal_children(semantics) if semantics is not None else None
    if entries is None or semantics is None or axes == 0:
        return
    texts = [given.syntax.text(one) for one in entries[:axes]]
    texts += ['"arbitrary"'] * (axes - len(texts))
    text = f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"
    edit = given.syntax.replace(semantics, text)
    if edit is None:
        return
    if len(entries) > axes:
        title, why = f"keep the first {axes}" if axes > 1 else "keep the first", _WHOSE
    else:
        title, why = "call the axes at the end `arbitrary`", _IN_ORDER
    yield Candidate(title, (edit,), "unsafe", why=why, shown_by="nature")


def _nearest(given: Expression, word: str, known: list[str]) -> Iterator[Candidate]:
    entry = _entry(given, word)
    near = difflib.get_close_matches(word, [one.strip() for one in known], n=1)
    edit = given.syntax.replace(entry, f'"{near[0]}"') if entry is not None and near else None
    if edit is not None:
        title = f"write `{near[0]}`"
        yield Candidate(title, (edit,), "unsafe", why=_NEAREST, shown_by="nature")


def _as_class(given: Expression, sources: Library) -> Iterator[Candidate]:
    """``pltpu.CompilerParams(...)`` for ``dict(mosaic=dict(...))``."""
    outer = _entries(given.node)
    if outer is None or len(outer) != 1:
        return
    (back_end, inner), *_ = outer.items()
    parameters = _entries(inner)
    if parameters is None or back_end not in _CLASSES:
        return
    known = spelling(sources, given.syntax, f"{_CLASSES[back_end]}.CompilerParams")
    if known is None:
        return
    texts = [f"{name}={given.syntax.text(value)}" for name, value in parameters.items()]
    edits: list[TextEdit | None] = [
        given.syntax.replace(given.node, f"{known.text}({', '.join(texts)})")
    ]
    edits += [known.imported] if known.imported is not None else []
    made = tuple(edit for edit in edits if edit is not None)
    if len(made) == len(edits):
        yield Candidate(f"give a `{known.text}`", made, why=_SAME, shown_by="nature")


def _entries(node: ast.expr) -> dict[str, ast.expr] | None:
    """The entries of a literal dict with names for keys, ``None`` for anything else."""
    if isinstance(node, ast.Call) and identifier(node.func) == "dict" and not node.args:
        named = {one.arg: one.value for one in node.keywords if one.arg is not None}
        return named if len(named) == len(node.keywords) else None
    if not isinstance(node, ast.Dict):
        return None
    names = [one.value for one in node.keys if isinstance(one, ast.Constant)]
    if len(names) != len(node.keys) or not all(str(one).isidentifier() for one in names):
        return None
    return dict(zip(map(str, names), node.values, strict=True))


def _params(failure: Failure, sources: Library) -> Expression | None:
    """What the call is given as `compiler_params`."""
    call = spec_call(sources, failure.call)
    given = keyword(call.build, "compiler_params") if call is not None else None
    if call is None or given is None:
        return None
    return resolve(sources, Expression(call.build_syntax, given.value))


def _semantics(given: Expression | None) -> ast.expr | None:
    if given is None or not isinstance(given.node, ast.Call):
        return None
    found = keyword(given.node, "dimension_semantics")
    return found.value if found is not None else None


def _entry(given: Expression | None, word: str) -> ast.expr | None:
    semantics = _semantics(given)
    entries = (literal_children(semantics) if semantics is not None else None) or ()
    found = [one for one in entries if isinstance(one, ast.Constant) and one.value == word]
    return found[0] if found else semantics


def _span(given: Expression | None, node: ast.expr | None) -> Span | None:
    """The mark of ``node``; of a call over several lines only what is called."""
    if given is None or node is None:
        return None
    single = node.lineno == end_of(node)[0]
    whole = node if single or not isinstance(node, ast.Call) else node.func
    return given.syntax.span(whole)
