"""An array moved between GMEM and shared memory by an assignment, and by the unit that copies."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator

from pallas_magic.failure import Failure, Ref
from pallas_magic.report import TextEdit
from pallas_magic.rules._gpu.calls import GpuCall
from pallas_magic.rules._gpu.kernels import KernelCall, kernel_call
from pallas_magic.rules._memory.assignment import all_or_none
from pallas_magic.rules._specs.parameters import add_parameters, free_names, has_plain_parameters
from pallas_magic.source.document import Library
from pallas_magic.source.syntax import end_of, start_of, syntax_of

_SCRATCH = ("scratch_types", "scratch_shapes")
_BARRIERS = ("barrier", "copied", "arrived")


@dataclasses.dataclass(frozen=True, eq=False)
class Moved:
    """``x_smem[...] = x_gmem[...]``, or the way back, as it is written in a kernel.

    ``buffer`` is the ref in shared memory; ``inwards`` that it is filled.
    """

    call: GpuCall
    kernel: ast.FunctionDef
    statement: ast.Assign
    read: ast.Subscript
    written: ast.Subscript
    buffer: Ref
    inwards: bool


def moved_array(failure: Failure, sources: Library) -> Moved | None:
    """The assignment that failed, if all it does is to move an array to or from GMEM."""
    syntax = syntax_of(sources, failure.place)
    node = syntax.at(failure.place) if syntax is not None and failure.place is not None else None
    statement = syntax.statement(node) if syntax is not None and node is not None else None
    kernel = syntax.function(statement) if syntax is not None and statement is not None else None
    if syntax is None or statement is None or not isinstance(kernel, ast.FunctionDef):
        return None
    # There is no call to be at; what matters is whose text and whose refs these are.
    call = GpuCall(sources, failure, syntax, ast.Call(func=ast.Name(""), args=[], keywords=[]))
    return _moved(call, kernel, statement)


def _moved(call: GpuCall, kernel: ast.FunctionDef, statement: ast.stmt) -> Moved | None:
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    written, read = statement.targets[0], statement.value
    if not isinstance(written, ast.Subscript) or not isinstance(read, ast.Subscript):
        return None
    if not isinstance(written.value, ast.Name) or not isinstance(read.value, ast.Name):
        return None
    source, target = call.ref(read.value), call.ref(written.value)
    if source is None or target is None:
        return None
    if (source.memory_space, target.memory_space) == ("gmem", "smem"):
        return Moved(call, kernel, statement, read, written, target, inwards=True)
    if (source.memory_space, target.memory_space) == ("smem", "gmem"):
        return Moved(call, kernel, statement, read, written, source, inwards=False)
    return None


def copied_by_the_unit(failed: Moved) -> tuple[TextEdit, ...]:
    """Edits that make all such moves of the kernel copies; empty where that could be wrong.

    Several threads would each make the copies, and in a loop one could overwrite what
    another warp still reads. The failed one alone is not enough where another fails
    next: JAX tells only the first.
    """
    call, built = failed.call, kernel_call(failed.call.failure, failed.call.sources)
    if built is None or built.given("num_threads", "thread_name"):
        return ()
    if failed.statement not in failed.kernel.body or not has_plain_parameters(failed.kernel):
        return ()
    if failed.kernel.name != _name(call.failure):
        return ()
    all_moved = [
        moved
        for statement in failed.kernel.body
        if (moved := _moved(call, failed.kernel, statement)) is not None
    ]
    edits: list[TextEdit | None] = []
    names = iter(free_names(failed.kernel, _BARRIERS, len(_BARRIERS)))
    barriers: list[str] = []
    for moved in all_moved:
        if moved.inwards:
            barriers.append(next(names, ""))
        edits.append(_copied(moved, barriers[-1] if moved.inwards else ""))
    barrier = call.gpu("Barrier")
    if barriers:
        edits.append(add_parameters(call.syntax, failed.kernel, barriers))
        edits.append(_with_scratch(built, [f"{barrier}()" for _ in barriers]))
    return all_or_none(edits) if barrier is not None and all(barriers) else ()


def _copied(moved: Moved, barrier: str) -> TextEdit | None:
    """The assignment as copies, a statement on each line."""
    call = moved.call
    line, column = start_of(moved.statement)
    lines = [*(_inwards(moved, barrier) if moved.inwards else _outwards(moved))]
    if not lines or call.syntax.line_before(line, column).strip():
        return None
    text = f"\n{call.syntax.indentation(line)}".join(lines)
    return call.syntax.replace_between((line, column), end_of(moved.statement), text)


def _inwards(moved: Moved, barrier: str) -> Iterator[str]:
    copy, wait = moved.call.gpu("copy_gmem_to_smem"), moved.call.gpu("barrier_wait")
    if copy is not None and wait is not None and _is_first_use(moved):
        yield f"{copy}({_as_ref(moved, moved.read)}, {_as_ref(moved, moved.written)}, {barrier})"
        yield f"{wait}({barrier})"


def _outwards(moved: Moved) -> Iterator[str]:
    names = ("commit_smem", "copy_smem_to_gmem", "wait_smem_to_gmem")
    commit, copy, wait = (moved.call.gpu(name) for name in names)
    if commit is not None and copy is not None and wait is not None:
        yield f"{commit}()"
        yield f"{copy}({_as_ref(moved, moved.read)}, {_as_ref(moved, moved.written)})"
        yield f"{wait}(0)"


def _is_first_use(moved: Moved) -> bool:
    """Whether nothing uses the buffer before it is filled."""
    uses = [
        start_of(one)
        for one in ast.walk(moved.kernel)
        if isinstance(one, ast.Name) and one.id == moved.buffer.name
    ]
    return min(uses) >= start_of(moved.statement)


def _name(failure: Failure) -> str:
    place = failure.call.kernel
    return place.function.rsplit(".", maxsplit=1)[-1] if place is not None else ""


def _as_ref(moved: Moved, part: ast.Subscript) -> str:
    """``x`` for ``x[...]`` and ``x.at[0]`` for ``x[0]``."""
    owner, index = moved.call.text(part.value), part.slice
    if isinstance(index, ast.Constant) and index.value is ...:
        return owner
    return f"{owner}.at[{moved.call.text(index)}]"


def _with_scratch(built: KernelCall, texts: list[str]) -> TextEdit | None:
    """An edit that gives the call more scratch, the last."""
    given = built.given(*_SCRATCH)
    if given is None or not isinstance(given.value, ast.List) or not given.value.elts:
        return None
    return built.syntax.insert(end_of(given.value.elts[-1]), ", " + ", ".join(texts))
