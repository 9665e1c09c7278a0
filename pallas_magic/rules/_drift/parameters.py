"""Parameters that functions of Pallas once took, and under which name they take them now."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator, Mapping

from pallas_magic.report import TextEdit
from pallas_magic.rules._drift.names import GPU, PALLAS, TPU
from pallas_magic.rules._drift.occurrences import Names
from pallas_magic.rules._drift.rewrites import index_text
from pallas_magic.source.absent import Absent
from pallas_magic.source.document import Library, Place
from pallas_magic.source.syntax import Syntax, end_of, start_of, syntax_of


@dataclasses.dataclass(frozen=True)
class Parameter:
    """A parameter that is gone: its name ``now``, or what to do ``instead``."""

    gone: str
    now: str = ""
    instead: str = ""


_BY_BACK_END = "the class of its `compiler_params` says for which back end it is"
_OF_TRITON = "it is a parameter of `CompilerParams` of `jax.experimental.pallas.triton`"
_BY_SPEC = "`plgpu.BlockSpec` takes it for each operand"

PARAMETERS: Mapping[tuple[str, str], Parameter] = {
    (f"{GPU}.kernel", "out_shape"): Parameter("0.11.2", "out_type"),
    (f"{GPU}.kernel", "scratch_shapes"): Parameter("0.11.2", "scratch_types"),
    (f"{PALLAS}.kernel", "out_shape"): Parameter("0.10.1", "out_type"),
    (f"{PALLAS}.kernel", "scratch_shapes"): Parameter("0.10.1", "scratch_types"),
    (f"{PALLAS}.semaphore_wait", "dec"): Parameter("0.7.2", "value"),
    (f"{GPU}.Barrier", "for_tensor_core"): Parameter("0.7", "orders_tensor_core"),
    (f"{PALLAS}.pallas_call", "backend"): Parameter("0.9.1", instead=_BY_BACK_END),
    (f"{PALLAS}.pallas_call", "num_warps"): Parameter("0.4.31", instead=_OF_TRITON),
    (f"{PALLAS}.pallas_call", "num_stages"): Parameter("0.4.31", instead=_OF_TRITON),
    (f"{PALLAS}.BlockSpec", "indexing_mode"): Parameter(
        "0.7.1", instead="an axis of the block that counts in elements is a `pl.Element(size)`"
    ),
    (f"{TPU}.CompilerParams", "kernel_type"): Parameter(
        "0.10.1", instead="the mesh of `pl.kernel` says which core a kernel is for"
    ),
    (f"{TPU}.emit_pipeline", "should_accumulate_out"): Parameter(
        "0.10", instead="the body adds to its output by itself"
    ),
    (f"{GPU}.CompilerParams", "delay_release"): Parameter("0.7.2", instead=_BY_SPEC),
    (f"{GPU}.emit_pipeline", "delay_release"): Parameter("0.7.2", instead=_BY_SPEC),
}
# What was taken by position: the name of the parameter, or how it is written now.
POSITIONS: Mapping[str, Parameter] = {
    f"{GPU}.kernel": Parameter("0.11.2", "out_type"),
    f"{GPU}.load": Parameter("0.12", instead="the part is given by `ref.at[...]`"),
}


@dataclasses.dataclass(frozen=True, eq=False)
class Given:
    """One argument of a call that its function does not take any more."""

    node: ast.keyword | ast.expr
    known: Parameter
    edit: TextEdit | None
    """The edit that gives it as it is taken today, ``None`` where there is none."""


def parameter_of(absent: Absent) -> Parameter | None:
    """What is known of the parameter that a call was refused for."""
    if absent.kind == "position":
        return POSITIONS.get(absent.owner)
    return PARAMETERS.get((absent.owner, absent.name)) if absent.kind == "parameter" else None


def refused_call(absent: Absent, sources: Library) -> tuple[Syntax, ast.Call] | None:
    """The call that was refused, with its text."""
    syntax = syntax_of(sources, absent.place)
    node = syntax.at(absent.place) if syntax is not None else None
    return (syntax, node) if syntax is not None and isinstance(node, ast.Call) else None


def old_arguments(syntax: Syntax, call: ast.Call, owner: str) -> list[Given]:
    """The arguments of ``call`` that ``owner`` does not take any more, in their order."""
    found = [
        Given(one, known, _renamed(syntax, one, known.now) if known.now else None)
        for one in call.keywords
        if one.arg is not None and (known := PARAMETERS.get((owner, one.arg))) is not None
    ]
    known = POSITIONS.get(owner)
    if known is not None and len(call.args) == 2 and not isinstance(call.args[1], ast.Starred):
        found.append(Given(call.args[1], known, _by_name(syntax, call, known.now)))
    return found


def calls_of(sources: Library, syntax: Syntax, owner: str) -> Iterator[ast.Call]:
    """The calls of ``owner`` in one text, those left out that ask for the release of JAX."""
    names = Names(sources, syntax)
    for one in names.occurrences(syntax.module, lambda dotted: dotted == owner):
        parent = syntax.parent(one.node)
        if isinstance(parent, ast.Call) and parent.func is one.node:
            yield parent


def name_place(syntax: Syntax, node: ast.keyword | ast.expr) -> Place:
    """Where the name of a keyword argument stands; of another argument, all of it."""
    place = syntax.place(node)
    if not isinstance(node, ast.keyword) or node.arg is None:
        return place
    end = place.col + len(node.arg.encode())
    return dataclasses.replace(place, end_line=place.line, end_col=end)


def _renamed(syntax: Syntax, given: ast.keyword, now: str) -> TextEdit | None:
    start = start_of(given)
    end = start[0], start[1] + len((given.arg or "").encode())
    return syntax.replace_between(start, end, now)


def _by_name(syntax: Syntax, call: ast.Call, now: str) -> TextEdit | None:
    """The second argument by its name, or as an index of the first."""
    first, second = call.args
    if now:
        return syntax.insert(start_of(second), f"{now}=")
    if not isinstance(first, (ast.Name, ast.Attribute, ast.Subscript)):
        return None
    view = f".at[{index_text(syntax.text, second)}]"
    return syntax.replace_between(end_of(first), end_of(second), view)
