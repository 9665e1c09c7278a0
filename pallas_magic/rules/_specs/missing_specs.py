"""An output that has no spec, although the inputs are cut into blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pallas_magic.failure import Candidate, Failure, Ref
from pallas_magic.report import Label
from pallas_magic.rules._specs.texts import spec_text
from pallas_magic.rules._specs.wording import keyword_of
from pallas_magic.source.calls import add_keyword
from pallas_magic.source.document import Library
from pallas_magic.source.specs import spec_call

_GUESS = "that the output is cut as that input is, is a guess"


def uncut_output(failure: Failure, name: str, value: Sequence[int]) -> Ref | None:
    """The output ``name`` without a spec, where an input is cut to the shape that is stored."""
    outputs = [ref for ref in failure.refs if ref.role == "output"]
    named = [ref for ref in outputs if ref.name == name and not ref.has_spec]
    if not named or next(_cut_inputs(failure, value), None) is None:
        return None
    return named[0]


def no_spec_label(failure: Failure, sources: Library) -> Label | None:
    """A mark on the call that has no `out_specs`."""
    call = spec_call(sources, failure.call)
    if call is None or keyword_of(call, "out_specs") is not None:
        return None
    span = call.build_syntax.span(call.build.func)
    if span is None or span.start_line != span.end_line:
        return None
    return Label(span, "no `out_specs`: the block is all of the output", "cause")


def cut_like_input(
    failure: Failure, sources: Library, output: Ref, value: Sequence[int]
) -> Iterator[Candidate]:
    """The spec of an input of the same shape given to the one output."""
    call = spec_call(sources, failure.call)
    only = [ref for ref in failure.refs if ref.role == "output"] == [output]
    if call is None or not only or keyword_of(call, "out_specs") is not None:
        return
    for ref in _cut_inputs(failure, value):
        spec = spec_text(failure, ref, sources)
        if spec is None or ref.window is None or output.window is None:
            continue
        if ref.window.array != output.window.array:
            continue
        text = f"out_specs={spec.syntax.text(spec.node)}"
        edit = add_keyword(call.syntax, call.node, text, after=keyword_of(call, "in_specs"))
        if edit is not None:
            title = f"cut `{output.name}` as `{ref.name}` is"
            yield Candidate(title, (edit,), applicability="unsafe", why=_GUESS)
            return


def _cut_inputs(failure: Failure, value: Sequence[int]) -> Iterator[Ref]:
    for ref in failure.refs:
        is_cut = ref.window is not None and ref.window.block is not None
        if ref.role == "input" and is_cut and ref.shape == tuple(value):
            yield ref
