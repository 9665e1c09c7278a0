"""Copies of an operand that stays in HBM into a block of VMEM, where the kernel uses it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pallas_magic.failure import Candidate, Failure, Ref
from pallas_magic.report import TextEdit
from pallas_magic.rules._memory.new_specs import PALLAS_TPU
from pallas_magic.rules._specs.kernels import KernelText, kernel_text
from pallas_magic.rules._specs.parameters import add_parameters, free_names, has_plain_parameters
from pallas_magic.rules._specs.wording import shape_text
from pallas_magic.source.calls import add_keyword, keyword
from pallas_magic.source.document import Library
from pallas_magic.source.names import spelled
from pallas_magic.source.specs import SpecCall, spec_call
from pallas_magic.source.syntax import end_of, start_of

_SUFFIXES = ("_hbm", "_ref", "_any")


def copied_to_block(failure: Failure, sources: Library, ref: Ref) -> Iterator[Candidate]:
    """Bring all of ``ref`` to a scratch of the kernel's at its start, and load from there."""
    kernel, call = kernel_text(failure, sources), spec_call(sources, failure.call)
    if kernel is None or call is None or isinstance(kernel.node, ast.Lambda):
        return
    reads = kernel.reads(ref.name)
    only_loads = all(access.kind == "load" for access in failure.accesses)
    if not only_loads or not reads or not all(_is_indexed(kernel, one) for one in reads):
        return
    name = next(iter(free_names(kernel.node, _names(ref.name), 1)), "")
    sync_copy = spelled(sources, kernel.syntax.document, PALLAS_TPU, "sync_copy")
    if not name or sync_copy is None or not has_plain_parameters(kernel.node):
        return
    edits = [
        add_parameters(kernel.syntax, kernel.node, [name]),
        _first_statement(kernel, f"{sync_copy}({ref.name}, {name})"),
        *(kernel.syntax.replace(one, name) for one in reads),
        _with_scratch(sources, call, ref),
    ]
    made = tuple(edit for edit in edits if edit is not None)
    if len(made) == len(edits):
        yield Candidate(f"copy `{ref.name}` into a block of VMEM first", made)


def _names(name: str) -> Iterator[str]:
    stem = next((name.removesuffix(one) for one in _SUFFIXES if name.endswith(one)), name)
    yield from (f"{stem}_block", f"{stem}_vmem")


def _is_indexed(kernel: KernelText, name: ast.Name) -> bool:
    parent = kernel.syntax.parent(name)
    return isinstance(parent, ast.Subscript) and parent.value is name


def _first_statement(kernel: KernelText, text: str) -> TextEdit | None:
    """An edit that puts a statement in front of the kernel's, behind a docstring."""
    if isinstance(kernel.node, ast.Lambda):
        return None
    body = kernel.node.body
    is_text = ast.get_docstring(kernel.node) is not None
    if is_text and len(body) == 1:
        return None
    first = body[1 if is_text else 0]
    line, column = start_of(first)
    decorators = getattr(first, "decorator_list", [])
    if decorators or kernel.syntax.line_before(line, column).strip():
        return None
    return kernel.syntax.insert((line, column), f"{text}\n{kernel.syntax.indentation(line)}")


def _with_scratch(sources: Library, call: SpecCall, ref: Ref) -> TextEdit | None:
    """An edit that gives the call one more scratch, the last."""
    vmem = spelled(sources, call.syntax.document, PALLAS_TPU, "VMEM")
    dtype = spelled(sources, call.syntax.document, "jax.numpy", ref.dtype)
    if vmem is None or dtype is None:
        return None
    text = f"{vmem}({shape_text(ref.shape)}, {dtype})"
    given = keyword(call.node, "scratch_shapes")
    if given is None:
        return add_keyword(call.syntax, call.node, f"scratch_shapes=[{text}]")
    if not isinstance(given.value, ast.List):
        return None
    if not given.value.elts:
        return call.syntax.replace(given.value, f"[{text}]")
    return call.syntax.insert(end_of(given.value.elts[-1]), f", {text}")
