"""A piece of code that IPython ran."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pallas_magic.source.document import Document


@dataclasses.dataclass(eq=False)
class Ran:
    """One piece of code that runs or ran, and the cell text it belongs to.

    ``counts`` are the numbers IPython may name it by: releases differ in
    whether they move their counter before or after the cell. ``outer`` is the
    cell whose text this is a body of. ``key``, ``names`` and ``documents`` are
    filled in by the library when they are asked for.
    """

    code: str
    text: str
    cell_id: str | None
    counts: tuple[int, ...]
    executed: str | None = None
    outer: Ran | None = None
    key: str = ""
    names: dict[int, str] = dataclasses.field(default_factory=dict)
    documents: list[Document] = dataclasses.field(default_factory=list)
