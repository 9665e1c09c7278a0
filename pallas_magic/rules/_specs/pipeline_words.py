"""What does not go together in a pipeline, in the user's own words."""

from __future__ import annotations

import ast
import dataclasses
import re

from pallas_magic.failure import Failure
from pallas_magic.report import Label, Span
from pallas_magic.rules._specs.pipelines import Pipeline, PipelineSpec, plain_maps
from pallas_magic.rules._specs.texts import IndexMap
from pallas_magic.rules._specs.wording import counted
from pallas_magic.source.calls import keyword
from pallas_magic.source.syntax import identifier

DELAY = re.compile(r"max_concurrent_steps must be greater than .*?(\d+) and .*?\[([\d, ]+)\]")


@dataclasses.dataclass(frozen=True)
class Told:
    """What is said of a pipeline, and where it is marked."""

    message: str
    primary: Span | None
    mark: str
    causes: tuple[Label | None, ...] = ()


def told_of(kind: str, failure: Failure, pipeline: Pipeline) -> Told | None:
    """What does not go together, ``None`` where the text does not show it."""
    match kind:
        case "body":
            return _of_body(failure, pipeline)
        case "arguments":
            return _of_arguments(pipeline)
        case "results":
            return _of_results(pipeline)
        case "count":
            return _of_count(pipeline)
        case "steps":
            text = f"the grid of `{pipeline.name}` has a size of 0 or less: there is no step to run"
            return Told(text, _keyword_span(pipeline, "grid"), "no steps")
        case "delay":
            return _of_delay(failure, pipeline)
    return None


def _of_body(failure: Failure, pipeline: Pipeline) -> Told | None:
    body, refs = pipeline.body(), pipeline.given()
    if body is None or refs is None:
        return None
    taken, given = len(body.parameters), given_to_body(failure, refs)
    of = "the indices of the step and " if given > refs else ""
    function = body.node.name if not isinstance(body.node, ast.Lambda) else "the function"
    message = (
        f"`{function}` takes {counted(taken, 'parameter')};"
        f" `{pipeline.name}` gives it {of}{counted(refs, 'ref')}"
    )
    expected = f"expected {counted(given, 'parameter')}"
    return Told(message, body.span(), expected, (_label(pipeline, f"gives {given}"),))


def _of_arguments(pipeline: Pipeline) -> Told | None:
    found = wrong_maps(pipeline)
    grid = pipeline.grid()
    if not found or grid is None:
        return None
    index_map = found[0]
    taken, axes = len(index_map.parameters), counted(len(grid), "axis", "axes")
    message = (
        f"an index map of `{pipeline.name}` takes {counted(taken, 'argument')};"
        f" the pipeline's grid has {axes}"
    )
    label = _keyword_label(pipeline, "grid", axes)
    return Told(message, index_map.span(), f"takes {counted(taken, 'argument')}", (label,))


def _of_results(pipeline: Pipeline) -> Told | None:
    for spec in pipeline.specs() or ():
        results = _results(spec)
        if spec.index_map is None or results is None or spec.axes is None:
            continue
        if results != spec.axes:
            axes = counted(spec.axes, "axis", "axes")
            message = (
                f"an index map of `{pipeline.name}` returns"
                f" {counted(results, 'index', 'indices')}; its block has {axes}"
            )
            block = spec.block
            span = block.syntax.span(block.node) if block is not None else None
            label = Label(span, axes, "cause") if span is not None else None
            mark = f"returns {counted(results, 'index', 'indices')}"
            return Told(message, spec.index_map.span(), mark, (label,))
    return None


def _results(spec: PipelineSpec) -> int | None:
    """How many indices the index map returns, where its text tells."""
    result = spec.index_map.result if spec.index_map is not None else None
    if isinstance(result, (ast.Tuple, ast.List)):
        return (
            None if any(isinstance(one, ast.Starred) for one in result.elts) else len(result.elts)
        )
    is_one = isinstance(result, (ast.Constant, ast.BinOp))
    return 1 if is_one or _is_parameter(spec.index_map, result) else None


def _is_parameter(index_map: IndexMap | None, node: ast.expr | None) -> bool:
    names = [one.arg for one in index_map.parameters] if index_map is not None else []
    return isinstance(node, ast.Name) and node.id in names


def _of_count(pipeline: Pipeline) -> Told | None:
    specs, refs = pipeline.specs(), pipeline.given()
    if specs is None or refs is None or len(specs) == refs or pipeline.applied is None:
        return None
    inputs = sum(one.role == "in_specs" for one in specs)
    has = f"{counted(inputs, 'input')} and {counted(len(specs) - inputs, 'output')}"
    message = f"`{pipeline.name}` has specs for {has}; it is given {counted(refs, 'ref')}"
    labels = (
        _keyword_label(pipeline, "in_specs", counted(inputs, "input")),
        _keyword_label(pipeline, "out_specs", counted(len(specs) - inputs, "output")),
    )
    span = pipeline.applied.syntax.span(pipeline.applied.node)
    return Told(message, span, f"{refs} refs", labels)


def _of_delay(failure: Failure, pipeline: Pipeline) -> Told | None:
    told = DELAY.match(failure.text)
    assert told is not None
    held = max(int(one) for one in told[2].split(","))
    message = (
        f"`{pipeline.name}` has buffers for {counted(int(told[1]), 'step')}"
        f" and is to hold {held} of them back; it needs one more than that"
    )
    span = _keyword_span(pipeline, "max_concurrent_steps")
    return Told(message, span, f"more than {held} needed", (_delayed(pipeline, held),))


def _delayed(pipeline: Pipeline, held: int) -> Label | None:
    for spec in pipeline.specs() or ():
        assert isinstance(spec.written.node, ast.Call)
        given = keyword(spec.written.node, "delay_release")
        if given is not None and spec.written.syntax.text(given.value) == str(held):
            span = spec.written.syntax.span(given)
            return Label(span, f"holds {held} back", "cause") if span is not None else None
    return None


def wrong_maps(pipeline: Pipeline) -> list[IndexMap]:
    """The index maps that take another number of arguments than the grid has axes."""
    grid, specs = pipeline.grid(), pipeline.specs()
    if grid is None or specs is None:
        return []
    return [one for one in plain_maps(specs) if len(one.parameters) != len(grid)]


def given_to_body(failure: Failure, refs: int) -> int:
    """How many arguments the function gets: that of a GPU's gets the step's indices too."""
    return refs + 1 if ".mosaic_gpu." in failure.raised_in else refs


def _keyword_span(pipeline: Pipeline, name: str) -> Span | None:
    given = keyword(pipeline.node, name)
    return pipeline.build.syntax.span(given.value) if given is not None else None


def _keyword_label(pipeline: Pipeline, name: str, text: str) -> Label | None:
    span = _keyword_span(pipeline, name)
    is_short = span is not None and span.start_line == span.end_line
    return Label(span, text, "cause") if span is not None and is_short else None


def _label(pipeline: Pipeline, text: str) -> Label | None:
    """A mark on the function that builds the pipeline."""
    node = pipeline.node.func
    span = pipeline.build.syntax.span(node) if identifier(node) else None
    return Label(span, text, "cause") if span is not None else None
