"""A row of floats that counts, `jnp.arange(128.0)`: integers that count, converted."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pallas_magic.failure import Candidate
from pallas_magic.rules._operations.called import Called
from pallas_magic.rules._operations.lines import replaced

_EXACT = 2**24


def counting_fixes(one: Called) -> Iterator[Candidate]:
    """For whole numbers that the type can hold."""
    outputs = one.operation.outputs
    if not outputs or outputs[0].dtype != "float32" or max(outputs[0].shape) > _EXACT:
        return
    int32, float32 = one.numpy("int32"), one.numpy("float32")
    if int32 is None or float32 is None:
        return
    text = _iota(one, int32) if one.name in ("broadcasted_iota", "iota") else _arange(one, int32)
    if text is not None and (edits := replaced(one, f"{text}.astype({float32})")):
        yield Candidate("count in integers and convert", edits)


def _iota(one: Called, int32: str) -> str | None:
    kind = one.argument("dtype", 0)
    if kind is None or not isinstance(one.node, ast.Call):
        return None
    whole, part = one.text(one.node), one.text(kind)
    before, _, after = whole.partition(part)
    return f"{before}{int32}{after}"


def _arange(one: Called, int32: str) -> str | None:
    """`jnp.arange(128.0)`, `jnp.arange(128, dtype=jnp.float32)`."""
    arange, stop = one.numpy("arange"), one.argument("start", 0) or one.argument("stop", 0)
    if one.name != "arange" or arange is None or not one.has_only(1, "dtype"):
        return None
    if not isinstance(stop, ast.Constant) or not isinstance(stop.value, int | float):
        return None
    if stop.value != int(stop.value):
        return None
    return f"{arange}({int(stop.value)}, dtype={int32})"
