"""Reports as plain JSON and back, with every field checked on the way in."""

from __future__ import annotations

import dataclasses
import functools
import math
import reprlib
import types
import typing
from collections.abc import Mapping
from typing import Any, Literal, Union, get_args, get_origin

from pallas_magic import report as vocabulary
from pallas_magic.report import PAYLOAD_VERSION, Report


def report_to_dict(report: Report) -> dict[str, Any]:
    """The report as JSON values, with ``version`` and ``ok`` beside its fields."""
    return {"version": PAYLOAD_VERSION, "ok": report.ok, **plain_json(report)}


def report_from_dict(payload: Mapping[str, Any]) -> Report:
    """The report of a payload; raises ``ValueError`` naming the field that is wrong."""
    if not isinstance(payload, Mapping):
        raise ValueError("a report's payload is a mapping")
    if payload.get("version") != PAYLOAD_VERSION:
        raise ValueError(f"version: expected {PAYLOAD_VERSION}, got {payload.get('version')!r}")
    decoded = _decode(payload, Report, "report")
    assert isinstance(decoded, Report)
    return decoded


def plain_json(value: Any) -> Any:
    """``value`` in JSON's types, dataclasses as mappings.

    A number that JSON has no word for is null, an object of any other kind its
    ``str``: a front end may get less than there is, never something it cannot parse.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return {field.name: plain_json(getattr(value, field.name)) for field in fields}
    if isinstance(value, Mapping):
        return {str(key): plain_json(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain_json(item) for item in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return str(value)


def _decode(value: Any, kind: Any, where: str) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return value
    if origin is Literal:
        return _expect(value, value in arguments, f"one of {arguments}", where)
    if origin in (Union, types.UnionType):
        if value is None and type(None) in arguments:
            return None
        present = next(argument for argument in arguments if argument is not type(None))
        return _decode(value, present, where)
    if origin is tuple:
        _expect(value, isinstance(value, (list, tuple)), "a list", where)
        return tuple(_decode(item, arguments[0], f"{where}[{i}]") for i, item in enumerate(value))
    if origin is not None and issubclass(origin, Mapping):
        _expect(value, isinstance(value, Mapping), "a mapping", where)
        key_kind, item_kind = arguments
        return {
            _decode(key, key_kind, where): _decode(item, item_kind, f"{where}.{key}")
            for key, item in value.items()
        }
    if dataclasses.is_dataclass(kind):
        return _decode_dataclass(value, kind, where)
    if kind is float:
        return _decode_number(value, where)
    if kind is int:
        whole = isinstance(value, int) and not isinstance(value, bool)
        return _expect(value, whole, "a whole number", where)
    return _expect(value, isinstance(value, kind), f"a {kind.__name__}", where)


def _decode_number(value: Any, where: str) -> float:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    _expect(value, number, "a number", where)
    try:
        found = float(value)
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        raise ValueError(f"{where}: expected a finite number")
    return found


def _decode_dataclass(value: Any, kind: Any, where: str) -> Any:
    _expect(value, isinstance(value, Mapping), "a mapping", where)
    hints = _field_types(kind)
    found = {}
    for field in dataclasses.fields(kind):
        if field.name in value:
            inner = f"{where}.{field.name}"
            found[field.name] = _decode(value[field.name], hints[field.name], inner)
        elif field.default is dataclasses.MISSING:
            raise ValueError(f"{where}.{field.name} is missing")
    return kind(**found)


@functools.cache
def _field_types(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind, vars(vocabulary))


def _expect(value: Any, holds: bool, expected: str, where: str) -> Any:
    if not holds:
        raise ValueError(f"{where}: expected {expected}, got {reprlib.repr(value)}")
    return value
