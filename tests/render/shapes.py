"""Reports of every odd shape: marks, sources, characters and lengths that are rare but real."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from pallas_magic.report import (
    Diagnostic,
    Fix,
    Label,
    LabelRole,
    Proof,
    Report,
    Source,
    Span,
    StageResult,
    TextEdit,
)
from tests.render import chip_shapes
from tests.render.samples import FAILED, SAFE, histogram, kernel, span_of

Needle = tuple[str, str, LabelRole]


def marked(
    text: str,
    at: tuple[str, str],
    needles: tuple[Needle, ...] = (),
    label: str = "In[1]",
    **changes: object,
) -> Report:
    """One error in one cell, each mark given as the text it covers and what it says.

    The ``nth`` mark of the same text covers its ``nth`` occurrence.
    """
    seen: dict[str, int] = {}

    def find(needle: str) -> Span:
        nth = seen.get(needle, 0)
        seen[needle] = nth + 1
        return span_of(text, "cell", needle, nth)

    diagnostic = Diagnostic(
        code="PM101",
        name="smem-vector-store",
        severity="error",
        stage="lower",
        targets=("tpu:v5e",),
        kernel="kernel",
        message="`o_ref` is in SMEM, which holds scalars; this stores an `int32[128]` vector",
        primary=find(at[0]),
        primary_text=at[1],
        labels=tuple(Label(find(needle), says, role) for needle, says, role in needles),
    )
    return Report(
        kernels=(kernel("kernel", lower=FAILED),),
        diagnostics=(dataclasses.replace(diagnostic, **changes),),  # type: ignore[arg-type]
        sources={"cell": Source("cell", label, text, "cell-id")},
    )


def three_marks() -> Report:
    """Three stores to one ref, two of them on a line, and their cause."""
    text = (
        "def kernel(x_ref, o_ref):\n"
        "    o_ref[...] = x_ref[...]; o_ref[...] = x_ref[...] + 1\n"
        "    o_ref[...] = -x_ref[...]\n"
    )
    labels: tuple[Needle, ...] = (
        ("o_ref[...]", "another one", "effect"),
        ("o_ref[...]", "and another", "effect"),
    )
    return marked(text, ("o_ref[...]", "vector store"), labels)


def emoji() -> Report:
    """Wide characters before the mark on its line, in a name and in a comment."""
    text = 'def kernel(x_ref, 数_ref):\n    "🧮🧮"; 数_ref[...] = x_ref[...]  # 😀\n'
    return marked(text, ("数_ref[...]", "vector store"))


def in_file() -> Report:
    """A kernel from a file: its fix is shown, not inserted."""
    text = "\n" * 1203 + "def kernel(x_ref, o_ref):\n    o_ref[...] = x_ref[...]\n"
    span = span_of(text, "kernels.py", "o_ref[...]")
    call = "kernels.run(x)\n"
    fix = Fix(1, "Store one scalar", "safe", (TextEdit(span, "o_ref[0]"),), SAFE)
    report = marked(text, ("o_ref[...]", "vector store"), primary=span, fixes=(fix,))
    sources = {
        "kernels.py": Source("file", "kernels.py", text, editable=True),
        "cell": Source("cell", "In[7]", call, "cell-id"),
    }
    return dataclasses.replace(report, sources=sources)


def across_cells() -> Report:
    """A kernel in one cell, its spec in another, and a fix that edits both."""
    kernel_cell = "def kernel(x_ref, o_ref):\n    o_ref[...] = x_ref[...]\n"
    call_cell = "spec = pl.BlockSpec(memory_space=pltpu.SMEM)\nrun(kernel, spec)\n"
    sources = {
        "cell-3": Source("cell", "In[3]", kernel_cell, "id-3"),
        "cell-5": Source("cell", "In[5]", call_cell, "id-5"),
    }
    store = span_of(kernel_cell, "cell-3", "o_ref[...]")
    space = span_of(call_cell, "cell-5", "pltpu.SMEM")
    edits = (TextEdit(space, "pltpu.VMEM"), TextEdit(store, "o_ref[:]"))
    report = marked(
        kernel_cell,
        ("o_ref[...]", "vector store"),
        primary=store,
        labels=(Label(space, "put in SMEM here"),),
        fixes=(
            Fix(1, "Move `o_ref` to VMEM", "safe", edits[:1], SAFE),
            Fix(2, "Change both", "unsafe", edits, Proof(gone=True, lowers=True, why="too slow")),
        ),
    )
    return dataclasses.replace(report, sources=sources)


def long_line() -> Report:
    """A line far wider than a window, marked in the middle and near its end."""
    text = (
        "out = run(kernel, first="
        + "a" * 150
        + ", out_specs=pl.BlockSpec(memory_space=pltpu.SMEM), second="
        + "b" * 150
        + ", out_shape=jax.ShapeDtypeStruct((128,), jnp.int32))\n"
    )
    labels: tuple[Needle, ...] = (("jnp.int32", "of this type", "cause"),)
    return marked(text, ("pltpu.SMEM", "put in SMEM here"), labels)


def long_mark() -> Report:
    """A mark of nine lines in a call, with a multi-line string above it."""
    text = '"""A title\nwith def in it"""\nout = pl.pallas_call(\n' + "".join(
        f"    argument_{number}={number},\n" for number in range(8)
    )
    text += ")(x)\n"
    end = text.count("\n")
    span = Span("cell", 3, 6, end, 1)
    return marked(text, ("out", ""), primary=span, primary_text="does not lower")


def long_fix() -> Report:
    """A fix of more lines than are shown unfolded, in two hunks."""
    text = "import jax\n\ndef kernel(x_ref, o_ref):\n    o_ref[...] = x_ref[...]\n"
    loop = "".join(f"    o_ref[{number}] = x_ref[{number}]\n" for number in range(14))
    edits = (
        TextEdit(Span("cell", 1, 10, 1, 10), ", functools"),
        TextEdit(Span("cell", 4, 0, 5, 0), loop),
    )
    fix = Fix(1, "Store one scalar at a time", "safe", edits, SAFE)
    return marked(text, ("o_ref[...]", "vector store"), fixes=(fix,))


def idea() -> Report:
    """A fix that is only an idea, and one that was found not to help."""
    text = "def kernel(x_ref, o_ref):\n    o_ref[...] = x_ref[...]\n"
    edit = (TextEdit(Span("cell", 2, 4, 2, 14), "o_ref[0]"),)
    fixes = (
        Fix(1, "Use another kernel", "display", edit),
        Fix(2, "Store `x_ref` later", "display", edit, Proof(gone=False, why="it fails again")),
    )
    return marked(text, ("o_ref[...]", "vector store"), fixes=fixes)


def unknown() -> Report:
    """What no rule knows: the place and JAX's text."""
    text = "def kernel(x_ref, o_ref):\n    o_ref[...] = jnp.sort(x_ref[...])\n"
    return marked(
        text,
        ("jnp.sort(x_ref[...])", "does not lower"),
        code="PM999",
        name="unrecognised",
        message="JAX cannot lower `sort` for this target",
        original="NotImplementedError: Unimplemented primitive in Pallas TPU lowering: sort\n"
        + "".join(f"  detail {number}\n" for number in range(30)),
    )


def warnings() -> Report:
    """A warning in a kernel that lowers, and a note without a place."""
    text = "def kernel(x_ref, o_ref):\n    o_ref[...] = x_ref[...]\n"
    report = marked(text, ("o_ref[...]", "slow here"), severity="warning", code="PM801")
    remark = dataclasses.replace(
        report.diagnostics[0],
        severity="note",
        code="PM802",
        message="nothing to worry about",
        primary=None,
        kernel="other",
        targets=("gpu:h100",),
    )
    return dataclasses.replace(
        report,
        kernels=(kernel("kernel"), kernel("other", "gpu:h100")),
        diagnostics=(*report.diagnostics, remark),
        notes=("the values shown are from interpret mode",),
    )


def clean() -> Report:
    """Two kernels that lower, one of them called three times, and one skipped."""
    why = "a Triton kernel; Mosaic GPU targets do not take it"
    skipped = kernel("softmax", "gpu:h100", StageResult("skipped", 0.0, why))
    return Report(
        kernels=(
            kernel("histogram"),
            kernel("flash_attention", seconds=0.5),
            kernel("flash_attention", seconds=0.5),
            kernel("flash_attention", seconds=0.7),
            skipped,
        ),
        diagnostics=(),
        sources={},
    )


def nothing() -> Report:
    """A cell that makes no Pallas call."""
    return Report((), (), {}, notes=("no Pallas call in this cell", "`kernel` was not called"))


INJECTION = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&`\x1b[31m\u202e</pre></style>"


def injected() -> Report:
    """Markup, quotes and escape sequences in every string."""
    report = histogram()
    return _injected(report, report.sources)


def _injected(report: Report, sources: Mapping[str, Source]) -> Report:
    bad = INJECTION
    diagnostics = tuple(
        dataclasses.replace(
            diagnostic,
            code="PM999" + bad,
            name=bad,
            kernel=bad,
            targets=(bad,),
            message=f"{bad} `{bad}`",
            primary_text=bad,
            labels=tuple(dataclasses.replace(label, text=bad) for label in diagnostic.labels),
            notes=(bad,),
            original=bad,
            fixes=tuple(
                dataclasses.replace(
                    fix,
                    title=bad,
                    edits=tuple(dataclasses.replace(e, new_text=bad) for e in fix.edits),
                    proof=Proof(gone=True, lowers=False, why=bad),
                )
                for fix in diagnostic.fixes
            ),
        )
        for diagnostic in report.diagnostics
    )
    changed = {
        key: dataclasses.replace(source, label=bad, text=source.text.replace("jnp.int32", bad))
        for key, source in sources.items()
    }
    buffers = [{"name": bad, "type": bad, "bytes": 8, "copies": 2}]
    memory = {"space": bad, "limit": 9, "used": 8, "unit": "bytes", "buffers": buffers}
    kernels = (
        kernel(bad, bad, StageResult("failed", 0.0, bad)),
        kernel(bad, bad + "2", StageResult("skipped", 0.0, bad)),
        dataclasses.replace(kernel(bad + "2", bad), resources=(memory,)),
    )
    return dataclasses.replace(
        report, kernels=kernels, diagnostics=diagnostics, sources=changed, notes=(bad,)
    )


ALL = (
    three_marks,
    emoji,
    in_file,
    across_cells,
    long_line,
    long_mark,
    long_fix,
    idea,
    unknown,
    warnings,
    clean,
    nothing,
    injected,
    *chip_shapes.ALL,
)
