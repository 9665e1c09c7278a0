"""The payload: what goes out comes back, and a bad field is named."""

from __future__ import annotations

import copy
import dataclasses
import json
import math
from collections.abc import Iterator
from typing import Any

import pytest

from pallas_magic.payload import plain_json
from pallas_magic.report import KernelReport, Report, StageResult
from tests.render import samples, shapes

REPORTS = [samples.histogram, samples.proving, *shapes.ALL]
Path = tuple[str | int, ...]


@pytest.mark.parametrize("make", REPORTS, ids=lambda make: make.__name__)
def test_round_trip(make: Any) -> None:
    report = make()
    assert Report.from_dict(json.loads(json.dumps(report.to_dict()))) == report


def test_version_and_ok_stand_beside_the_fields() -> None:
    payload = samples.histogram().to_dict()
    assert payload["version"] == 1
    assert payload["ok"] is False
    assert shapes.warnings().to_dict()["ok"] is True
    assert list(payload)[2:] == [field.name for field in dataclasses.fields(Report)]


def test_fields_of_a_later_version_are_passed_over() -> None:
    payload = samples.histogram().to_dict()
    payload["new"] = payload["diagnostics"][0]["new"] = {"a": 1}
    assert Report.from_dict(payload) == samples.histogram()


@pytest.mark.parametrize("version", [0, 2, "1", None, [1]])
def test_another_version_is_refused(version: object) -> None:
    payload = {**samples.histogram().to_dict(), "version": version}
    with pytest.raises(ValueError, match=r"^version: expected 1, got "):
        Report.from_dict(payload)


@pytest.mark.parametrize("payload", [None, [], "report", 1])
def test_what_is_no_mapping_is_refused(payload: Any) -> None:
    with pytest.raises(ValueError, match=r"^a report's payload is a mapping$"):
        Report.from_dict(payload)


def leaves(value: Any, path: Path = ()) -> Iterator[Path]:
    """The paths of all values in a payload, containers too."""
    if path:
        yield path
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    if isinstance(value, list):
        items = enumerate(value)
    for key, item in items:
        yield from leaves(item, (*path, key))


def dotted(path: Path) -> str:
    return "report" + "".join(f"[{k}]" if isinstance(k, int) else f".{k}" for k in path)


def replaced(payload: Any, path: Path, value: object) -> Any:
    changed = copy.deepcopy(payload)
    inner = changed
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return changed


def refusal(payload: Any) -> str:
    with pytest.raises(ValueError, match=r"^report\.") as caught:
        Report.from_dict(payload)
    return str(caught.value)


PAYLOAD = samples.histogram().to_dict()
CHECKED = [path for path in leaves(PAYLOAD) if path[0] not in ("version", "ok")]


@pytest.mark.parametrize("path", CHECKED, ids=dotted)
def test_a_value_of_a_wrong_type_is_named(path: Path) -> None:
    # No field takes an object that is no JSON value at all.
    assert refusal(replaced(PAYLOAD, path, object())).startswith(f"{dotted(path)}: expected ")


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (
            ("diagnostics", 0, "severity"),
            "fatal",
            (
                "report.diagnostics[0].severity: expected one of ('error', 'warning', 'note'), "
                "got 'fatal'"
            ),
        ),
        (
            ("diagnostics", 0, "primary", "start_line"),
            True,
            "report.diagnostics[0].primary.start_line: expected a whole number, got True",
        ),
        (
            ("diagnostics", 0, "primary", "start_line"),
            9.5,
            "report.diagnostics[0].primary.start_line: expected a whole number, got 9.5",
        ),
        (
            ("diagnostics", 0, "fixes"),
            "no list",
            "report.diagnostics[0].fixes: expected a list, got 'no list'",
        ),
        (
            ("kernels", 0, "stages", "lower", "seconds"),
            math.nan,
            "report.kernels[0].stages.lower.seconds: expected a finite number",
        ),
        (
            ("kernels", 0, "stages", "lower", "seconds"),
            10**400,
            "report.kernels[0].stages.lower.seconds: expected a finite number",
        ),
        (
            ("kernels", 0, "stages", "link"),
            {"status": "ok"},
            "report.kernels[0].stages: expected one of ('trace', 'lower', 'compile'), got 'link'",
        ),
        (
            ("sources", "cell-4", "text"),
            None,
            "report.sources.cell-4.text: expected a str, got None",
        ),
        (("proving",), 1, "report.proving: expected a bool, got 1"),
        (("combined",), [], "report.combined: expected a mapping, got []"),
    ],
)
def test_messages(path: Path, value: object, message: str) -> None:
    assert refusal(replaced(PAYLOAD, path, value)) == message


def test_a_huge_value_is_not_repeated_in_the_message() -> None:
    assert len(refusal(replaced(PAYLOAD, ("proving",), "x" * 1_000_000))) < 200


@pytest.mark.parametrize(
    ("path", "missing"),
    [
        (("kernels",), "report.kernels is missing"),
        (("diagnostics", 0, "code"), "report.diagnostics[0].code is missing"),
        (
            ("diagnostics", 0, "labels", 0, "span", "end_col"),
            "report.diagnostics[0].labels[0].span.end_col is missing",
        ),
    ],
)
def test_a_missing_field_is_named(path: Path, missing: str) -> None:
    payload = copy.deepcopy(PAYLOAD)
    inner: Any = payload
    for key in path[:-1]:
        inner = inner[key]
    del inner[path[-1]]
    assert refusal(payload) == missing


def test_optional_fields_may_be_missing() -> None:
    report = Report.from_dict({"version": 1, "kernels": [], "diagnostics": [], "sources": {}})
    assert report == Report((), (), {})


def test_what_json_has_no_word_for() -> None:
    odd = {"limit": math.inf, "used": math.nan, "buffer": b"x", 3: (1, 2)}
    stages = {"lower": StageResult("ok", 0.5)}
    report = Report((KernelReport("k", "tpu:v5e", stages, (odd,)),), (), {})  # type: ignore[arg-type]
    written = report.to_dict()["kernels"][0]["resources"]
    assert written == [{"limit": None, "used": None, "buffer": "b'x'", "3": [1, 2]}]
    json.dumps(written, allow_nan=False)


def test_numbers_of_other_libraries_become_plain() -> None:
    class Float(float):
        pass

    assert type(plain_json(Float(1.5))) is float


def test_a_source_is_not_editable_unless_it_says_so() -> None:
    payload = shapes.in_file().to_dict()
    assert payload["sources"]["kernels.py"]["editable"] is True
    del payload["sources"]["kernels.py"]["editable"]
    assert not Report.from_dict(payload).sources["kernels.py"].editable
