"""Code run the way a cell is: compiled under a name of its own, under a watch."""

from __future__ import annotations

import itertools
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from pallas_magic.engine import Watch
from pallas_magic.report import Diagnostic, Report, Source
from pallas_magic.source.document import Library, plain_document
from pallas_magic.source.edits import span_text

_numbers = itertools.count(1)

NAMES: dict[str, Any] = {"jax": jax, "jnp": jnp, "pl": pl, "pltpu": pltpu}

BAD_KERNEL = """\
def column_sums(x_ref, sums_ref):
    sums_ref[...] = jnp.sum(x_ref[...], axis=0)

sums = pl.pallas_call(
    column_sums,
    out_shape=jax.ShapeDtypeStruct((128,), jnp.float32),
    out_specs=pl.BlockSpec(memory_space=pltpu.SMEM),
)
"""

GOOD_KERNEL = """\
def double(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0

twice = pl.pallas_call(double, out_shape=jax.ShapeDtypeStruct((8, 128), jnp.float32))
"""


class Cell:
    """One executed text with its watch, its names and what it raised."""

    def __init__(
        self,
        code: str,
        names: dict[str, Any] | None = None,
        *,
        library: Library | None = None,
        **watch: Any,
    ) -> None:
        self.key = f"In[{next(_numbers)}]"
        filename = f"<cell {self.key}>"
        self.names = names if names is not None else dict(NAMES)
        self.library = library if library is not None else Library()
        source = Source("cell", self.key, code, cell_id=self.key)
        self.library.add(plain_document(filename, code, source, self.key))
        self.watch = Watch(library=self.library, **watch)
        self.raised: BaseException | None = None
        try:
            with self.watch:
                exec(compile(code, filename, "exec"), self.names)
        except BaseException as error:
            self.raised = error

    def report(self) -> Report:
        error = self.raised if isinstance(self.raised, Exception) else None
        return self.watch.report(error)

    def primary_text(self, diagnostic: Diagnostic) -> str:
        assert diagnostic.primary is not None
        return span_text(self.library[diagnostic.primary.source].source.text, diagnostic.primary)
