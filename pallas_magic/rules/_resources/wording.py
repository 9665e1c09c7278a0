"""Sizes, buffers and where they were asked for."""

from __future__ import annotations

from pallas_magic.failure import Buffer, Failure, Ref
from pallas_magic.report import Label, Span
from pallas_magic.sizes import size_words
from pallas_magic.source.calls import keyword
from pallas_magic.source.document import Library
from pallas_magic.source.specs import operand_spec, spec_call, spec_keywords

_MARKED = 3
# What takes less than this part of the limit is not worth a mark.
_PART = 20


def amount_words(amount: int, unit: str) -> str:
    """ "8.3 MiB", "640 columns"."""
    return size_words(amount) if unit == "bytes" else f"{amount} {unit}"


def shape_words(buffer: Buffer) -> str:
    """ "float32[1024, 8192]"."""
    return f"{buffer.dtype}[{', '.join(map(str, buffer.shape))}]"


def buffer_words(buffer: Buffer) -> str:
    """ "float32[1024, 8192], 2 buffers of 32 MiB"."""
    if not buffer.dtype:
        return size_words(buffer.size)
    if buffer.copies == 1:
        return f"{shape_words(buffer)}, {size_words(buffer.size)}"
    each = size_words(buffer.size // buffer.copies)
    return f"{shape_words(buffer)}, {buffer.copies} buffers of {each}"


def buffer_name(buffer: Buffer) -> str:
    """The ref's name with backticks, or the compiler's words."""
    return f"`{buffer.ref.name}`" if buffer.ref is not None and buffer.ref.name else buffer.what


def cause_labels(failure: Failure, sources: Library, primary: Span | None) -> tuple[Label, ...]:
    """The specs of the other large buffers, each with what it takes."""
    memory = failure.memory
    if memory is None:
        return ()
    labels = []
    for buffer in sorted(memory.buffers, key=lambda one: one.size, reverse=True)[:_MARKED]:
        if buffer.size * _PART < memory.limit:
            break
        span = ref_span(failure, buffer.ref, sources) if buffer.ref is not None else None
        if span is not None and span != primary:
            labels.append(Label(span, buffer_words(buffer)))
    return tuple(labels)


def ref_span(failure: Failure, ref: Ref, sources: Library) -> Span | None:
    """Where the memory of ``ref`` was asked for."""
    if ref.spec is not None:
        return sources.span(ref.spec.place)
    call = spec_call(sources, failure.call)
    if call is None:
        return None
    if ref.role == "prefetch" and (given := keyword(call.node, "num_scalar_prefetch")):
        return call.syntax.span(given)
    alike = sum(other.role == ref.role for other in failure.refs)
    names = spec_keywords(ref.role)
    written = operand_spec(sources, call, names, ref.operand, alike) if names else None
    if written is not None:
        return written.syntax.span(written.node)
    return call.syntax.span(call.node.func) if ref.role in ("input", "output") else None
