"""Run cells for a test, and edit their text."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import jax

from pallas_magic.bridge.capture import Call, Recorder
from pallas_magic.bridge.failures import find_failures
from pallas_magic.bridge.lowering import lower, whole_tracebacks
from pallas_magic.bridge.trace_errors import Untraced, trace_failure
from pallas_magic.failure import Candidate, Failure
from pallas_magic.prove.proof import Prover
from pallas_magic.prove.verdict import Claim, Verdict
from pallas_magic.report import Source, Span, TextEdit
from pallas_magic.source.document import Library, plain_document
from pallas_magic.targets import Target, parse_targets

HEADER = """\
import functools
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
"""


class Notebook:
    """Cells that were run one after the other in one namespace, the last ones recorded."""

    def __init__(self, target: str = "tpu:v5e", header: str = HEADER) -> None:
        self.library = Library()
        self.recorder = Recorder()
        self.namespace: dict[str, Any] = {"__name__": "__main__"}
        self.target: Target = parse_targets(target)[0]
        self.untraced: Untraced | None = None
        exec(header, self.namespace)

    def run(self, text: str) -> None:
        """Run one cell; the calls it makes are recorded."""
        with self.recorder.installed(), whole_tracebacks():
            self.add(text)

    def add(self, text: str) -> None:
        """Run one cell; nothing is recorded."""
        text = textwrap.dedent(text)
        number = len(self.library) + 1
        name = f"<cell-{number}>"
        source = Source("cell", f"In[{number}]", text, f"id{number}")
        self.library.add(plain_document(name, text, source, f"cell-{number}"))
        exec(compile(text, name, "exec", dont_inherit=True), self.namespace)

    def fail(self, text: str) -> None:
        """Run one cell that must fail while a kernel is traced; the call that failed."""
        try:
            self.run(text)
        except Exception as error:
            self.untraced = trace_failure(error, self.target, self.recorder)
        assert self.untraced is not None

    def prove_unfinished(self, *edits: TextEdit, **options: Any) -> Verdict:
        """Prove that ``edits`` mend the call that could not be traced."""
        assert self.untraced is not None
        assert self.untraced.call is not None
        candidate = Candidate("fix", edits, **options)
        claim = Claim(self.untraced.call, candidate, self.untraced.failure, self.target)
        return self.prover().prove(claim)

    @property
    def call(self) -> Call:
        """The last call that was recorded."""
        return self.recorder.calls[-1]

    def edit(self, old: str, new: str, cell: int = 0) -> TextEdit:
        """Replace ``old``, which stands once in the cell (the last by default)."""
        keys = list(self.library)
        return self.edit_in(f"cell-{cell}" if cell else keys[-1], old, new)

    def edit_in(self, key: str, old: str, new: str) -> TextEdit:
        """Replace ``old``, which stands once in the text of ``key``."""
        text = self.library[key].source.text
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times"
        start = text.index(old)
        return TextEdit(Span(key, *point(text, start), *point(text, start + len(old))), new)

    def failures(self, call: Call, target: Target) -> Sequence[Failure]:
        """Every failure of ``call``."""
        lowered = lower(call, target)
        assert not lowered.skipped, lowered.skipped
        return find_failures(call, lowered, target, self.recorder.objects).failures

    def prover(self, **options: Any) -> Prover:
        return Prover(self.recorder.objects, self.library, self.failures, **options)

    def claim(self, *edits: TextEdit, call: Call | None = None, **options: Any) -> Claim:
        """That ``edits`` mend the call's first failure."""
        call = call or self.call
        found = self.failures(call, self.target)
        assert found, "the kernel has no failure to mend"
        return Claim(call, Candidate("fix", edits, **options), found[0], self.target)

    def prove(self, *edits: TextEdit, **options: Any) -> Verdict:
        """Prove that ``edits`` mend the last call."""
        return self.prover().prove(self.claim(*edits, **options))


def point(text: str, offset: int) -> tuple[int, int]:
    before = text[:offset]
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1)


def floats(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, "float32")  # type: ignore[no-untyped-call]
