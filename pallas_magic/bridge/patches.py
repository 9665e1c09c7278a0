"""Replace what belongs to JAX for the length of a ``with`` block, and only that long."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

_ABSENT = object()


@contextmanager
def replaced_attribute(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Set ``owner.name``; afterwards it is exactly what it was, absent included."""
    before = vars(owner).get(name, _ABSENT)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if before is _ABSENT:
            delattr(owner, name)
        else:
            setattr(owner, name, before)


@contextmanager
def replaced_item(table: MutableMapping[Any, Any], key: Any, value: Any) -> Iterator[None]:
    """Set ``table[key]``; afterwards it is exactly what it was, absent included."""
    before = table.get(key, _ABSENT)
    table[key] = value
    try:
        yield
    finally:
        if before is _ABSENT:
            del table[key]
        else:
            table[key] = before
